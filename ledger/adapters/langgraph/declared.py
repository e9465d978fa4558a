"""The tools of a graph as tools of the ledger: what is declared of them, and what they take."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from ledger import Ledger, Recovery, Tool, current_effect
from ledger.adapters.langgraph.injected import Beside, is_given_more, of_state
from ledger.adapters.langgraph.names import Names, by_name, check_options
from ledger.canonical import invalid
from ledger.errors import InvalidInput
from ledger.gateway.tools import declare

Declaration = Tool | Recovery | str | Mapping[str, Any] | None
"""What is declared of one tool: a `Tool`, its recovery, or what `ledger.tool` takes, by name, and beside that
`state`: what of the graph's state belongs to the act. None: it is no act, since it changes nothing but the
graph's own state."""
Declarations = Mapping[str, Declaration] | Iterable[Tool]


class Calling(NamedTuple):
    """A call that a graph is making."""

    tool: str
    body: Callable[[dict[str, Any]], Any]
    """Calls the tool of the graph with arguments, as the call wants it."""


calling: ContextVar[Calling] = ContextVar("ledger_graph_calling")


class Through:
    """The function of a tool: it calls the tool of the graph, as the graph itself would.

    Outside of a graph, where an act is sent again, it calls what was declared with the tool.
    """

    def __init__(self, name: str, alone: Tool | None, signature: inspect.Signature | None = None) -> None:
        self.name = name
        self.alone = alone
        self.__signature__ = _ANYTHING if signature is None else signature

    def __call__(self, **args: Any) -> Any:
        call = calling.get(None)
        if call is not None and call.tool == self.name:
            return call.body(args)
        if self.alone is None or self.alone.function is None:
            raise LookupError(f"{self.name!r} is called by a graph, and none is running here")
        found = self.alone.signature
        given = {"effect": current_effect()} if found is not None and found.wants_effect else {}
        return self.alone(**args, **given)


_ANYTHING = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_KEYWORD)])


class GraphTools:
    """What is declared of the tools of a graph. Threads may share it."""

    def __init__(self, ledger: Ledger, declared: Declarations = ()) -> None:
        """Take declarations, and make the tools known to the ledger, so that it can ask about their acts.

        Raises:
            InvalidInput: declarations contradict each other, or a probe is a coroutine function; `path` says
                which.
        """
        self._ledger = ledger
        self._mutex = threading.Lock()
        self._tools: dict[str, Tool] = {}
        self._made: dict[str, tuple[BaseTool, Tool]] = {}
        known = {tool.name: tool for tool in ledger.tools if not isinstance(tool.function, Through)}
        given = by_name(declared)
        self.names = Names(given.keys(), known.keys())
        self._no_acts = {name for name, said in given.items() if said is None}
        self._states = {
            name: of_state(name, said["state"])
            for name, said in given.items()
            if isinstance(said, Mapping) and "state" in said
        }
        self._beside: dict[str, tuple[BaseTool, Beside]] = {}
        for name in (known.keys() | given.keys()) - self._no_acts:
            tool = _tool(name, given[name]) if name in given else known[name]
            alone = tool if tool.function is not _nothing else None
            self._tools[name] = ledger.register(replace(tool, function=Through(name, alone)))

    def of(self, tool: BaseTool) -> Tool | None:
        """Return a tool of the graph as one of the ledger; None: it is declared to be no act.

        Of one that is not declared nothing is known.
        """
        if tool.name in self._no_acts:
            return None
        beside = self.beside(tool)
        with self._mutex:
            made = self._made.get(tool.name)
            if made is not None and made[0] is tool:
                return made[1]
            base = self._tools.get(tool.name)
            if base is None:
                self.names.note(tool.name)
                base = declare(Through(tool.name, None), name=tool.name)
            assert isinstance(base.function, Through)
            found = _with_signature(base, base.function, _joined(signature_of(tool), beside))
            beside.check(found.needs_approval)
            self._made[tool.name] = tool, found
            return found

    def beside(self, tool: BaseTool) -> Beside:
        """Return what of the graph's state belongs to the acts of a tool."""
        with self._mutex:
            known = self._beside.get(tool.name)
            if known is None or known[0] is not tool:
                found = Beside(tool.name, self._states.get(tool.name), is_given_more(tool))
                known = self._beside[tool.name] = tool, found
            return known[1]


def ledger_tools(declared: Declarations) -> tuple[Tool, ...]:
    """Return what is declared of the tools of a graph as tools of the ledger, but for those that are no acts.

    A module that holds them as its `tools` can be given to `intent-ledger reconcile --tools MODULE`, which
    asks their probes. What is sent again is sent by the graph.

    Raises:
        InvalidInput: declarations contradict each other; `path` says which.
    """
    return tuple(
        replace(tool, function=Through(name, tool if tool.function is not _nothing else None))
        for name, said in by_name(declared).items()
        if said is not None
        for tool in (_tool(name, said),)
    )


def _tool(name: str, declared: Declaration) -> Tool:
    assert declared is not None
    if isinstance(declared, Tool):
        if declared.name != name:
            raise invalid(f"tools.{name}", f"it is declared with a tool that is named {declared.name!r}")
        return declared
    check_options(name, declared)
    said = dict(declared) if isinstance(declared, Mapping) else {"recovery": declared}
    said.pop("state", None)
    try:
        return declare(_nothing, name=name, **said)
    except InvalidInput as error:
        raise invalid(f"tools.{name}.{error.path}", error.reason) from None
    except TypeError as error:
        raise invalid(f"tools.{name}", str(error)) from None


def _nothing(**args: Any) -> None:
    """Stand where no function was declared: the graph has it."""


def _with_signature(base: Tool, through: Through, signature: inspect.Signature | None) -> Tool:
    """Let a tool take what the graph's takes; where that cannot be checked, anything."""
    if signature is not None:
        found = replace(base, function=Through(through.name, through.alone, signature))
        try:
            if found.digest is not None:
                return found
        except InvalidInput:
            pass  # it takes what JSON could not be of, and checks that itself
    return replace(base)


def _joined(signature: inspect.Signature | None, beside: Beside) -> inspect.Signature | None:
    """Let a tool take what of the state belongs to its acts.

    Raises:
        InvalidInput: it takes an argument of that name already.
    """
    if signature is None or beside.said is None:
        return signature
    known = {name: one for name, one in signature.parameters.items() if one != _REST}
    more = beside.parameters()
    for one in more:
        if one.name in known:
            raise invalid(f"tools.{beside.tool}.state", f"{one.name!r} is an argument that the model gives")
    rest = [_REST] if _REST in (*signature.parameters.values(), *more) else []
    return inspect.Signature([*known.values(), *(one for one in more if one != _REST), *rest])


def signature_of(tool: BaseTool) -> inspect.Signature | None:
    """Read what a model may give to a tool; what is injected into it is no argument."""
    schema = tool.tool_call_schema
    try:
        if isinstance(schema, dict):
            return inspect.Signature(_described(schema))
        if issubclass(schema, BaseModel):
            return inspect.Signature(_modelled(schema))
    except (TypeError, ValueError):
        pass  # a name that no parameter can have
    return None


def _modelled(schema: type[BaseModel]) -> list[inspect.Parameter]:
    found: list[inspect.Parameter] = []
    extra = schema.model_config.get("extra") == "allow"
    for name, field in schema.model_fields.items():
        if field.alias is not None or field.validation_alias is not None or field.default_factory is not None:
            extra = True  # it goes by another name, or by a value that is made anew each time
            continue
        kind: Any = field.annotation
        for more in field.metadata:
            kind = Annotated[kind, more]
        found.append(
            _parameter(name, kind, inspect.Parameter.empty if field.is_required() else field.default)
        )
    return found + ([_REST] if extra else [])


def _described(schema: dict[str, Any]) -> list[inspect.Parameter]:
    """Read a JSON Schema: its parameters by name; what they must look like the tool itself checks."""
    needed = schema.get("required", ())
    found = [
        _parameter(name, Any, inspect.Parameter.empty)
        for name in schema.get("properties", {})
        if name in needed
    ]
    return [*found, _REST]


_REST = inspect.Parameter("args", inspect.Parameter.VAR_KEYWORD)


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _left_out(schema: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands for arguments that are left out, where it is made anew and is always the same."""
    found: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        if (
            field.default_factory in (dict, list, str)
            and field.alias is None
            and field.validation_alias is None
        ):
            found[name] = field.get_default(call_default_factory=True)
    return {name: value for name, value in found.items() if name not in given}


def arguments(tool: BaseTool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a tool is called with: what it has no parameter for is not passed on.

    Raises:
        ValueError: they are none that it takes.
    """
    schema = tool.tool_call_schema
    if isinstance(schema, dict) or not issubclass(schema, BaseModel):
        return dict(given)
    schema.model_validate(dict(given))
    given = {**_left_out(schema, given), **given}
    if schema.model_config.get("extra") in ("allow", "forbid"):
        return dict(given)
    names = {*schema.model_fields}
    for field in schema.model_fields.values():
        names |= {one for one in (field.alias, field.validation_alias) if isinstance(one, str)}
    return {name: value for name, value in given.items() if name in names}
