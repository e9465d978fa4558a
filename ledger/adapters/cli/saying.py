"""What the commands share that say something to a run: who says it, what came of it, and who may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.verbs import Call
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run
    from ledger.application.statements import Stated
    from ledger.run.contract import Contract

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="human:NAME", help="Who decided it.", show_default=False),
]
DeciderOption = Annotated[
    str, typer.Option("--by", metavar="human:NAME", help="Who decided it.", show_default=False)
]


def say(
    call: Call,
    run: str,
    words: Callable[[Ledger, Run], Stated],
    session: str | None = None,
) -> None:
    """Say something to a run, and show what came of it.

    `words` gets the ledger and a handle on the run as it stands; `session` is that of who says it.
    """
    from ledger.adapters.cli.changes import now_void, show_changes
    from ledger.adapters.cli.resume import asks_as

    with call.saying() as opened:
        before = opened.contract(run)
        with ended_grants_in_words(before):
            handle = opened.run(run, actor=asks_as(opened, call.settings, session))
            stated = words(opened, handle)
        after = opened.contract(run)
    void = now_void(before, after)
    show(call.screen, run, stated, after.status, {"approvals_void": void} if void else {})
    if not call.as_json:
        show_changes(call.screen, before, after, stated, call.where)


@contextmanager
def ended_grants_in_words(contract: Contract) -> Iterator[None]:
    """Say of a grant that is not there any more who ended it, and where."""
    from ledger.errors import NotOpen

    try:
        yield
    except NotOpen as error:
        evidence = error.data.get("evidence") or {}
        gone = [one for one in contract.revoked if one.id == evidence.get("id")]
        if evidence.get("kind") != "grant" or not gone:
            raise
        who = "" if gone[-1].by is None else f" by {gone[-1].by}"
        message = f"{error}: it was ended{who} at position {gone[-1].position}: {gone[-1].reason}"
        raise NotOpen(message, **error.data) from None


def show(
    screen: Screen, run: str, stated: Stated, status: str, more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Show what was recorded, and that a stopped run is stopped still; `more` goes into the document."""
    from ledger.adapters.cli.log import as_json_object
    from ledger.adapters.cli.words import quoted

    if screen.as_json:
        screen.document(
            {
                "run": run,
                "position": stated.position,
                "repeated": stated.repeated,
                "status": status,
                "events": [as_json_object(record) for record in stated.records],
                **more,
            }
        )
        return
    if stated.repeated:
        screen.line(f"Nothing new: {quoted(run)} says so already, at position {stated.position}")
    for record in stated.records:
        place = "" if record.run == run else f" of {quoted(record.run)}"
        screen.line(f"Recorded: {record.name}, position {record.position}{place}")
    if status in ("held", "suspended"):
        screen.note(f"the run is {status}: ask whether it may go on: {_command('resume', run)}")


def _command(*words: str) -> str:
    import shlex

    return shlex.join(("intent-ledger", *words))


@contextmanager
def refusals_in_words() -> Iterator[None]:
    """Say in the words of the command line why an agent may not say this."""
    from ledger.commands import COMMANDS
    from ledger.errors import NotForAgents

    try:
        yield
    except NotForAgents as error:
        command = COMMANDS.get((error.data.get("evidence") or {}).get("command", ""))
        deciders = ("by", "granted_by") if command is None else command.model_fields
        decided = next((name for name in ("by", "granted_by") if name in deciders), None)
        message = f"{error}: say with --actor who writes (human:NAME)"
        if decided is not None:
            message += f", and with --{decided.replace('_', '-')} who decided it"
        raise NotForAgents(message, **error.data) from None


def given_where(settings: Settings, context: typer.Context, url: str | None, tenant: str | None) -> list[str]:
    """Return the options that lead another command to the same ledger, as far as they were typed.

    The address of a server is left out: it may hold a password.
    """
    return list(_where(settings, context, url, tenant))


def _where(settings: Settings, context: typer.Context, url: str | None, tenant: str | None) -> Iterator[str]:
    from ledger.stores.opening import is_postgres

    before: Any = context.obj
    if (url is not None or (before and before.url is not None)) and not is_postgres(settings.url):
        yield from ("--ledger", settings.url)
    if tenant is not None or (before and before.tenant is not None):
        yield from ("--tenant", settings.tenant)
