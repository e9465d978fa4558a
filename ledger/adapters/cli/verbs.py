"""What commands have in common: the options that name a ledger, how it is opened, and where answers go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import typer

from ledger.adapters.cli.options import ActorOption, Given, JsonOption, LedgerOption, TenantOption
from ledger.adapters.cli.screen import Screen

if TYPE_CHECKING:
    from ledger.adapters.cli.called_otherwise import Opened
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger
    from ledger.secrets import Secrets

P = ParamSpec("P")
R = TypeVar("R")


class Call:
    """One call of a command: the ledger that it is about, and the screen that it writes to."""

    def __init__(self, context: typer.Context, given: Given, *, as_json: bool) -> None:
        self.context = context
        self.given = given
        """The options behind the command."""
        self.as_json = as_json
        self.screen = Screen(as_json=as_json)

    @cached_property
    def settings(self) -> Settings:
        """The settings of this call.

        Raises:
            typer.BadParameter: the command line is one that was printed to be filled in, and was not.
            InvalidInput: a setting is malformed.
        """
        from ledger.adapters.cli.opening import settings_of

        return settings_of(self.context, **self.given._asdict())

    def check(self) -> None:
        """Read the settings now, so that what is malformed is refused before anything is done."""
        _ = self.settings

    @cached_property
    def where(self) -> list[str]:
        """The options that lead another command to the same ledger, as far as they were typed."""
        from ledger.adapters.cli.saying import given_where

        return given_where(self.settings, self.context, self.given.url, self.given.tenant)

    def reading(self, *, secrets: Secrets | None = None) -> Opened:
        """Open a ledger that is there; as `open_for_reading`."""
        from ledger.adapters.cli.called_otherwise import Opened
        from ledger.adapters.cli.opening import open_for_reading

        return Opened(open_for_reading(self.settings, secrets=secrets))

    def looking(self, *, writes: bool = False) -> Opened:
        """Open a ledger that is there, also on a server that could lose things; as `open_to_look`."""
        from ledger.adapters.cli.called_otherwise import Opened
        from ledger.adapters.cli.opening import open_to_look

        return Opened(open_to_look(self.settings, self.screen, writes=writes))

    @contextmanager
    def saying(self) -> Iterator[Ledger]:
        """Open a ledger that is there to say something; what an agent may not is refused in words of ours."""
        from ledger.adapters.cli.saying import refusals_in_words

        with self.reading() as opened, refusals_in_words():
            yield opened


def verb(
    *, tenant: bool = True, actor: Any = False, json: Any = JsonOption
) -> Callable[[Callable[Concatenate[Call, P], R]], Callable[..., R]]:
    """Make a function a command: it gets a `Call`, and the shared options follow its own.

    Args:
        tenant: whether it takes `--tenant`.
        actor: whether it takes `--actor`; or that option, where its words are others.
        json: `--json`, where its words are others.
    """
    shared = {
        "ledger": LedgerOption,
        "tenant": TenantOption,
        "actor": ActorOption if actor is True else actor,
    }
    taken = [
        name for name, is_taken in zip(shared, (True, tenant, actor is not False), strict=True) if is_taken
    ]

    def wrap(function: Callable[Concatenate[Call, P], R]) -> Callable[..., R]:
        def command(context: typer.Context, **values: Any) -> R:
            url, whose, who = (values.pop(name, None) for name in shared)
            call = Call(context, Given(url, whose, who), as_json=values.pop("as_json"))
            return function(call, **values)  # type: ignore[call-arg]

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        parameters = [
            inspect.Parameter("context", _BY_NAME, annotation=typer.Context),
            *(one.replace(kind=_BY_NAME) for one in own),
            *(inspect.Parameter(name, _BY_NAME, default=None, annotation=shared[name]) for name in taken),
            inspect.Parameter("as_json", _BY_NAME, default=False, annotation=json),
        ]
        # What typer reads: it asks for both.
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return wrap


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def group_of(about: str, **more: Any) -> typer.Typer:
    """Make a command that has others under it, and shows its help where none of them is named."""
    made = typer.Typer(rich_markup_mode=None, **more)
    made.callback(invoke_without_command=True, help=about)(_show_help)
    return made


def _show_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
