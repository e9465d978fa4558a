"""Tools: functions that act on the outside, with what is declared of them.

Recovery and the rest are declared by who writes the program; no argument that a model chooses can change
them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, TypedDict, Unpack, overload

from pydantic import TypeAdapter, ValidationError

from ledger import values
from ledger.canonical import canonical_text, invalid
from ledger.gateway.signatures import Signature
from ledger.run.keys import observation_key
from ledger.values import Recovery
from ledger.values.faults import explain

Amounts = Mapping[str, Decimal | str | int]
Function = Callable[..., Any]
Probe = Callable[..., Any]
"""Called as `probe(key, args)`: answers `Happened(...)`, `NotHappened()`, or None where it cannot tell."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a tool is tried again by itself, after definite failures and what its recovery allows.

    The count is in the ledger, and attempts found not to have happened are counted too: who comes later, in
    another process, goes on counting, also where it declares nothing. Once the attempts are used up the run
    owes a person what comes next, as the obligation `failed:KEY`, and calls raise `EffectFailed` until more
    attempts are declared. The pauses are those of the caller that waits: who calls in one tries at once.
    """

    max_attempts: int
    """All attempts together, at least 2."""
    backoff: float = 1.0
    """Seconds before the second attempt."""
    factor: float = 2.0
    """How much longer each further pause is."""
    longest: float = 60.0
    """Seconds of the longest pause."""
    on: tuple[type[BaseException], ...] = (Exception,)
    """Which errors are worth another attempt by itself; after another one the caller decides."""

    def __post_init__(self) -> None:
        if type(self.max_attempts) is not int or self.max_attempts < 2:
            raise invalid("max_attempts", "a retry has at least 2 attempts; declare none for one")
        for name, least in (("backoff", 0), ("factor", 1), ("longest", 0)):
            given = getattr(self, name)
            if type(given) not in (int, float) or not least <= given < float("inf"):
                raise invalid(name, f"give a number from {least} on, not {given!r:.50}")
        object.__setattr__(self, "on", several_errors(self.on, "on"))

    def pause(self, attempt: int) -> float:
        """Return how many seconds to wait after this attempt failed."""
        try:
            return float(min(self.longest, self.backoff * self.factor ** (attempt - 1)))
        except OverflowError:
            return self.longest


# What each declaration is about, so that one that would have no effect is refused.
_BELONGS_TO: dict[str, tuple[Recovery, ...]] = {
    "dedupes_for": (Recovery.IDEMPOTENT,),
    "fresh_for": (Recovery.READ_ONLY,),
    "probe": (Recovery.QUERYABLE, Recovery.IDEMPOTENT),
    "settle_seconds": (Recovery.QUERYABLE, Recovery.IDEMPOTENT),
}


@dataclass(frozen=True, eq=False)
class Tool:
    """A function with what is declared of it. Calling it calls the function, outside of any ledger."""

    name: str
    function: Function | None
    recovery: Recovery = Recovery.AT_MOST_ONCE
    classified: bool = True
    """False: nobody declared a recovery, so it is taken for one that can be neither asked nor repeated."""
    probe: Probe | None = None
    fresh_for: int | None = None
    settle_seconds: int | None = None
    dedupes_for: int | None = None
    retry: Retry | None = None
    cost: Amounts | None = None
    definite_errors: tuple[type[BaseException], ...] = ()
    lease_seconds: int = 30
    resource: str | None = None
    needs_approval: bool = False
    approval_seconds: int | None = None
    description: str = field(default="", compare=False)

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self.function is None:
            raise TypeError(f"the tool {self.name!r} has no function")
        return self.function(*given, **named)

    @cached_property
    def is_async(self) -> bool:
        """Tell whether the function, or its probe, is a coroutine function."""
        return any(is_async(one) for one in (self.function, self.probe) if one is not None)

    @cached_property
    def signature(self) -> Signature | None:
        """What its arguments must look like; None where there is no function."""
        return None if self.function is None else Signature.of(self.function, self.name)

    @cached_property
    def digest(self) -> str | None:
        """SHA-256 of what an approval of its acts binds to, beside their arguments: what it takes, and what
        it acts on. None where there is no function.

        Raises:
            InvalidInput: the type of a parameter is none that JSON could be of.
        """
        signature = self.signature
        if signature is None or self.resource is None:
            return None if signature is None else signature.digest
        said = canonical_text({"resource": self.resource, "signature": signature.digest})
        return hashlib.sha256(said.encode()).hexdigest()

    def observes(self, args: Mapping[str, Any] | None = None, occurrence: str | None = None) -> str:
        """Name what a call of this read-only tool observes, for whatever rests on it: `observation:KEY`.

        Raises:
            InvalidInput: the tool is not read_only, has no function, or does not take these arguments.
        """
        if self.recovery is not Recovery.READ_ONLY or self.signature is None:
            raise invalid(
                "tool", f"{self.name!r} observes nothing: only a read_only tool with a function does"
            )
        bound = self.signature.bind({} if args is None else args)
        return f"observation:{observation_key(self.name, bound.text, occurrence)}"

    def with_declared(self, **declared: Any) -> Tool:
        """Return the same tool with other declarations.

        Raises:
            InvalidInput: they contradict each other, or have no effect.
        """
        found = _understood(declared)
        becomes = found.get("recovery", self.recovery)
        if becomes is not self.recovery:
            _say_for_how_long(becomes, found)
        return check(replace(self, **found))


def is_async(function: object) -> bool:
    """Tell whether calling something gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  an instance with an async __call__
    )


def check(tool: Tool) -> Tool:
    """Refuse declarations that contradict each other or have no effect.

    Raises:
        InvalidInput: as said; `path` names the declaration.
    """
    for name, recoveries in _BELONGS_TO.items():
        if getattr(tool, name) is not None and tool.recovery not in recoveries:
            of = " and ".join(recovery.value for recovery in recoveries)
            raise invalid(name, f"it is of tools that are {of}; {tool.name!r} is {tool.recovery.value}")
    if tool.recovery is Recovery.READ_ONLY:
        for name in ("cost", "definite_errors", "retry", "needs_approval", "approval_seconds"):
            if getattr(tool, name):
                raise invalid(
                    name,
                    f"{tool.name!r} only reads: it is asked once, what it raises is raised, and it waits for "
                    "nobody",
                )
    if not isinstance(tool.needs_approval, bool):
        raise invalid("needs_approval", f"give True or False, not {tool.needs_approval!r:.50}")
    seconds = tool.approval_seconds
    if seconds is not None and (type(seconds) is not int or seconds < 1):
        raise invalid("approval_seconds", f"give whole seconds from 1 on, not {seconds!r:.50}")
    _check_retry(tool)
    if tool.cost is not None:
        _check_cost(tool.cost)
    for error in tool.definite_errors:
        if issubclass(TimeoutError, error) or issubclass(ConnectionResetError, error):
            raise invalid(
                "definite_errors",
                f"{error.__name__} may be a time-out or a broken connection, which leave open whether it "
                "happened: name the errors by which the outside itself refuses",
            )
    if tool.recovery is Recovery.QUERYABLE and tool.probe is None:
        raise invalid("probe", f"{tool.name!r} is queryable: say how the outside is asked")
    for name in ("fresh_for", "settle_seconds", "dedupes_for"):
        seconds = getattr(tool, name)
        if seconds is not None and (type(seconds) is not int or seconds < 0):
            raise invalid(name, f"give whole seconds from 0 on, not {seconds!r:.50}")
    if type(tool.lease_seconds) is not int or tool.lease_seconds < 1:
        raise invalid("lease_seconds", f"give whole seconds from 1 on, not {tool.lease_seconds!r:.50}")
    for name, given in (("function", tool.function), ("probe", tool.probe)):
        if given is not None and not callable(given):
            raise invalid(name, f"give a function, not {given!r:.50}")
        if inspect.isgeneratorfunction(given) or inspect.isasyncgenfunction(given):
            raise invalid(name, "it is a generator, which does nothing until somebody takes from it")
    return tool


def _check_cost(cost: Amounts) -> None:
    try:
        _amounts().validate_python(dict(cost) if isinstance(cost, Mapping) else cost)
    except ValidationError as error:
        raise explain(error, root="cost") from None


@cache
def _amounts() -> TypeAdapter[Any]:
    return TypeAdapter(values.Amounts)


def _check_retry(tool: Tool) -> None:
    if tool.retry is None:
        return
    if not isinstance(tool.retry, Retry):
        raise invalid("retry", f"give a Retry, not {tool.retry!r:.50}")
    if not tool.definite_errors and tool.recovery not in (Recovery.IDEMPOTENT, Recovery.QUERYABLE):
        raise invalid(
            "retry",
            f"it would have no effect: {tool.name!r} is {tool.recovery.value}, so it is tried again after "
            "its definite_errors only, and none are declared",
        )


class Declared(TypedDict, total=False):
    """What may be declared of a tool."""

    recovery: Recovery | str | None
    """What may be done where nobody knows whether it happened. None: nothing is known of the tool, so it is
    never done again by itself."""
    probe: Probe | None
    """`probe(key, args)` asks the outside; needed where it is queryable."""
    fresh_for: int | None
    """Seconds for which what a read-only tool answered is used again; None: for ever, 0: never."""
    settle_seconds: int | None
    """How long a request that was sent may still land; None: 30."""
    dedupes_for: int | None
    """Seconds for which the outside remembers the key of an idempotent tool; None: for ever."""
    retry: Retry | None
    """How often to try again after definite failures; None: not by itself."""
    cost: Amounts | None
    """What it will cost at most, by unit: set aside on the grants until the outcome is known. A tool without
    one spends nothing of any budget. A float is refused: it is not exact."""
    definite_errors: type[BaseException] | Sequence[type[BaseException]]
    """Exceptions after which it is sure that nothing happened; any other leaves that open. Time-outs and
    broken connections do, so what they are instances of is refused."""
    lease_seconds: int
    """How long a worker may be silent before others may take over; 30 where it is not said."""
    resource: str | None
    """What it acts on, for rules."""
    needs_approval: bool
    """A person must approve each act, whatever the constraints of the run say."""
    approval_seconds: int | None
    """How long a request for approval, and the answer to it, are good for; None: until something changes that
    it binds to."""


def declare(function: Function | None, *, name: str | None = None, **declared: Unpack[Declared]) -> Tool:
    """Declare a tool.

    Args:
        function: what acts. It is called with the arguments by name; a keyword-only parameter `effect` is
            given the `CurrentEffect`, and is no argument.
        name: None: the function's own.
        declared: see `Declared`.

    Raises:
        InvalidInput: declarations contradict each other, or have no effect; `path` names one.
    """
    if name is None:
        name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not name or name == "<lambda>":
        raise invalid("name", "give the tool a name")
    more = _understood(dict(declared))
    chosen = more.setdefault("recovery", Recovery.AT_MOST_ONCE)
    _say_for_how_long(chosen, more)
    found = Tool(
        name=name,
        function=function,
        **{"classified": False, **more},
        description=(inspect.getdoc(function) or "") if inspect.isroutine(function) else "",
    )
    return check(found)


def _understood(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return declarations as a tool keeps them."""
    found = dict(declared)
    recovery = found.pop("recovery", None)
    if recovery is not None:
        try:
            found |= {"recovery": Recovery(recovery), "classified": True}
        except ValueError:
            known = ", ".join(one.value for one in Recovery)
            raise invalid("recovery", f"one of {known}, not {recovery!r:.50}") from None
    if "definite_errors" in found:
        found["definite_errors"] = several_errors(found["definite_errors"], "definite_errors")
    return found


def _say_for_how_long(recovery: Recovery, declared: Mapping[str, Any]) -> None:
    if recovery is Recovery.IDEMPOTENT and "dedupes_for" not in declared:
        raise invalid("dedupes_for", "say for how many seconds the outside remembers a key, None for ever")


def several_errors(given: object, name: str) -> tuple[type[BaseException], ...]:
    """Take one class of exceptions, or several.

    Raises:
        InvalidInput: something else is among them.
    """
    errors = given if isinstance(given, tuple | list) else (given,)
    for error in errors:
        if not (isinstance(error, type) and issubclass(error, Exception)):
            raise invalid(name, f"give classes of exceptions, not {error!r:.50}")
    return tuple(errors)


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(*, name: str | None = None, **declared: Unpack[Declared]) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None, /, *, name: str | None = None, **declared: Unpack[Declared]
) -> Tool | Callable[[Function], Tool]:
    """Declare a function as a tool: `@tool(recovery="queryable", probe=find_refund)`.

    Takes what `declare` takes. The tool can be called like the function, and given to `Run.perform`.

    Raises:
        InvalidInput: declarations contradict each other, or have no effect; `path` names one.
    """
    if function is not None:
        return declare(function, name=name, **declared)
    return lambda function: declare(function, name=name, **declared)
