"""What a graph gives to a tool beside the arguments that a model chose, as far as it belongs to the act.

A tool that is given the state of its graph may do another thing for the same arguments. The ledger names
acts, asks people and checks rules by arguments: who declares the tool says what of the state is one of them.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel

from ledger.canonical import canonical_text, invalid
from ledger.errors import InvalidInput

log = logging.getLogger("ledger")

OfState = Callable[[Any], Mapping[str, Any]] | Sequence[str]
"""Names in the state of a graph, or a function of the state that returns arguments by name."""
INJECTED = (InjectedState, InjectedStore, ToolRuntime)


class Beside(NamedTuple):
    """What of the state belongs to the acts of a tool."""

    tool: str
    said: OfState | None
    """None: nothing is declared."""
    given: bool
    """Whether the tool is given anything of the graph."""

    @property
    def is_open(self) -> bool:
        """Tell whether the tool is given what nobody said anything of."""
        return self.given and self.said is None

    def of(self, state: Any, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of a state are arguments of the act, beside those that the model gave.

        Raises:
            InvalidInput: it is no data, the function returned no mapping, or the model gave some of it.
        """
        if self.said is None:
            return {}
        path = f"tools.{self.tool}.state"
        found = self.said(state) if callable(self.said) else {name: _named(state, name) for name in self.said}
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise invalid(path, f"the function returns arguments by name, not {found!r:.80}")
        for name, value in found.items():
            if name in args:
                raise invalid(path, f"{name!r} is an argument that the model gives")
            try:
                canonical_text(value)
            except InvalidInput as error:
                why = f"{error.reason}: give a function that makes data of it"
                raise invalid(f"{path}.{name}", why) from None
        return dict(found)

    def parameters(self) -> list[inspect.Parameter]:
        """Return what the tool takes by it, as parameters."""
        if callable(self.said):
            return [inspect.Parameter("args", inspect.Parameter.VAR_KEYWORD)]
        keyword = inspect.Parameter.KEYWORD_ONLY
        return [inspect.Parameter(name, keyword, annotation=Any) for name in self.said or ()]

    def check(self, needs_approval: bool) -> None:
        """Refuse, or warn of, a tool that is given what nobody said anything of.

        Raises:
            InvalidInput: a person is to approve its acts, and would not be told what they approve.
        """
        if not self.is_open:
            return
        if needs_approval:
            raise self.unsaid()
        log.warning(
            "the tool %r is given state of its graph: two acts with the same arguments are one act, whatever "
            'the state is; declare "state" for it, () if nothing of it matters',
            self.tool,
        )

    def unsaid(self) -> InvalidInput:
        """Return the error that says what is missing."""
        return invalid(
            f"tools.{self.tool}.state",
            "it is given state of its graph, of which a person who approves its acts would know nothing: "
            'name what of it belongs to the act, {"state": ["total"]}, or give a function of it, or ()',
        )


def of_state(name: str, said: Any) -> OfState:
    """Read what is declared as `state` of a tool.

    Raises:
        InvalidInput: it is neither names nor a function.
    """
    if callable(said):
        return said  # type: ignore[no-any-return]
    if isinstance(said, Sequence) and not isinstance(said, str) and all(isinstance(one, str) for one in said):
        return tuple(said)
    raise invalid(f"tools.{name}.state", f"give names in the state, or a function of it, not {said!r:.80}")


def is_given_more(tool: BaseTool) -> bool:
    """Tell whether a tool is given state, a store or the runtime of its graph."""
    kinds: dict[str, Any] = {}
    schema = tool.get_input_schema()
    if inspect.isclass(schema) and issubclass(schema, BaseModel):
        for name, field in schema.model_fields.items():
            kinds[name] = (field.annotation, *field.metadata)
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if function is not None:
        try:
            kinds |= {name: (kind,) for name, kind in get_type_hints(function, include_extras=True).items()}
        except (NameError, TypeError):
            kinds |= {name: (one.annotation,) for name, one in inspect.signature(function).parameters.items()}
    return "runtime" in kinds or any(_is_injected(kind) for several in kinds.values() for kind in several)


def _is_injected(kind: Any) -> bool:
    if isinstance(kind, INJECTED) or (inspect.isclass(kind) and issubclass(kind, INJECTED)):
        return True
    origin = get_origin(kind)
    if origin is not None:
        return _is_injected(origin) or any(_is_injected(one) for one in get_args(kind))
    return False


def _named(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)
