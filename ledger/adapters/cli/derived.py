"""Commands of the command line that are derived from commands of the ledger, when they are called.

Reading the union takes pydantic, which `--help` of everything else does without.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from ledger.adapters.cli.options import SessionOption
from ledger.adapters.cli.placeholders import check_filled_in
from ledger.adapters.cli.saying import RunArgument, say
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.fields import Field
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run
    from ledger.application.statements import Stated

_SESSION = "actor_session"
_OURS = ("run", "ledger", "tenant", "actor", _SESSION, "as_json")
"""Options of the command line itself; a field of such a name gets another one."""

Fill = Callable[["Run", dict[str, Any]], Mapping[str, Any]]
"""From the run and what was typed to fields that are found out, or that it reads in another way."""


class Saying(NamedTuple):
    """How a command of the ledger is said on the command line."""

    command: str
    """Its stable name."""
    positional: tuple[str, ...] = ()
    """Fields that stand behind RUN by their place."""
    names: Mapping[str, str] = {}
    """Options that are not called as their fields."""
    left_out: tuple[str, ...] = ()
    """Fields that cannot be given."""
    fill: Fill | None = None
    found: tuple[str, ...] = ()
    """Fields that `fill` finds out where they are not given."""
    raw: tuple[str, ...] = ()
    """Fields that `fill` gets as they were typed."""


def build(saying: Saying, name: str, help: str | None = None) -> TyperCommand:
    """Build the command `name` that says a command of the ledger to a run."""
    from ledger.adapters.cli.fields import fields_of, words_of

    fields = [field for field in fields_of(saying.command) if field.name not in saying.left_out]
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    words = words_of(saying.command)
    app.command(name, help=help or words, short_help=words.partition("\n")[0])(_function(saying, fields))
    built = typer.main.get_command(app)
    assert isinstance(built, TyperCommand)
    return built


def option_of(saying: Saying, field: str) -> str:
    """Return the option of a field."""
    name = saying.names.get(field, field)
    return f"--{name.replace('_', '-')}" if name not in _OURS else f"--the-{name}"


def _function(saying: Saying, fields: list[Field]) -> Callable[..., None]:
    def said(call: Call, /, run: str, **given: Any) -> None:
        session = given.pop(_SESSION)
        check_filled_in(call.context)
        typed = _typed(saying, fields, given)

        def words(opened: Ledger, handle: Run) -> Stated:
            from ledger.commands import COMMANDS

            more = {} if saying.fill is None else dict(saying.fill(handle, typed))
            command = COMMANDS[saying.command](**{**typed, **more})
            _check_end(opened, command, option_of(saying, "expires_at"))
            return handle.do(command)

        say(call, run, words, session)

    parameters = [_own("call", Call), _own("run", RunArgument)]
    parameters += (_parameter(saying, field) for field in _ordered(saying, fields))
    parameters.append(_own(_SESSION, SessionOption, default=None))
    said.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return verb(actor=True)(said)


def _check_end(opened: Ledger, command: Any, option: str) -> None:
    """Refuse what would have ended before it began: a slip of the pen, and found at the next resume only.

    Raises:
        InvalidInput: it ends now or earlier, by the clock of the ledger.
    """
    from ledger.adapters.cli.words import when
    from ledger.application.ledger import edge_of
    from ledger.canonical import invalid

    ends, now = getattr(command, "expires_at", None), edge_of(opened).now()
    if ends is not None and ends <= now:
        raise invalid(option, f"{when(ends)} is past, it is {when(now)}: nothing could be done with it")


def _ordered(saying: Saying, fields: list[Field]) -> list[Field]:
    """Put what stands by its place first, in its order."""
    places = {name: place for place, name in enumerate(saying.positional)}
    return sorted(fields, key=lambda field: places.get(field.name, len(places)))


def _parameter(saying: Saying, field: Field) -> inspect.Parameter:
    from ledger.adapters.cli.fields import parameter_of

    if field.name in saying.positional:
        argument = typer.Argument(metavar=field.name.upper(), help=field.words or None, show_default=False)
        return _own(field.name, Annotated[str, argument])
    required = field.required and field.name not in saying.found
    return parameter_of(field, option=option_of(saying, field.name), required=required)


def _own(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _typed(saying: Saying, fields: list[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    from ledger.adapters.cli.fields import value_of

    # An empty list or False is what was not typed; the command has its own default for that.
    return {
        field.name: given[field.name]
        if field.name in saying.raw
        else value_of(field, given[field.name], option=option_of(saying, field.name))
        for field in fields
        if given[field.name] not in (None, False, [])
    }


class Derived(TyperCommand):
    """A command that is built when it is called or asked for its help."""

    saying: Saying

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Build it, then go on as any command does."""
        built = build(self.saying, self.name or "", self.help)
        self.params, self.callback = built.params, built.callback
        return super().make_context(*given, **more)


def derived(saying: Saying) -> type[Derived]:
    """Return the class of the command that says a command of the ledger."""
    return type("Derived", (Derived,), {"saying": saying})


def placeholder() -> None:
    """Stand where typer wants a function, until the command is built."""
