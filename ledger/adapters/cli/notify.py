"""`notify`: people are told what waits for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.notifying import Notice, Receiver, Tally

HELP = """Tell people which acts wait for them, until stopped.

Each request for approval is told once as a rule, at least once in any case, in the order in which they were
asked: to a command, as one line of JSON on its standard input, or to a server by HTTP POST, with the id of
the approval as `Idempotency-Key`. What is not taken (an exit code but 0, an answer but 2xx) is told again,
after pauses that grow to 5 minutes, before anything behind it. What is answered or void by then is passed
over.

How far was told stands in the ledger's database, for each --name: after a crash it goes on there. Several of
one name may run; one of them tells, and another says for whom it waits. --header NAME=VARIABLE sends a header
whose value stands in that environment variable: neither the command line nor any record holds it.

With --until-current it ends when all that waits now was told, or what stands first was not taken --tries
times.

\b
Exit codes: 0 ended by --until-current, or following by SIGTERM, 1 a request
cannot be read, 3 could not run, or was not taken, 130 ended by Ctrl-C, 143 by
SIGTERM before --until-current was reached.
Examples:
  intent-ledger notify --command ./tell-the-desk
  intent-ledger notify --post https://chat.example/hook --name chat \\
      --header Authorization=CHAT_TOKEN
  intent-ledger notify --command "mail -s approval kim" --until-current --json
"""


@verb()
def notify(
    call: Call,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="CMD", help="Command that reads JSON; no shell runs it.", show_default=False
        ),
    ] = None,
    post: Annotated[
        str | None,
        typer.Option("--post", metavar="URL", help="Address that takes it by POST.", show_default=False),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="NAME=VARIABLE",
            help="Header of the POST, its value from the environment; repeatable.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="One for each receiver.")] = "default",
    until_current: Annotated[
        bool, typer.Option("--until-current", help="End when all that waits now was told.")
    ] = False,
    tries: Annotated[
        int | None,
        typer.Option(
            "--tries",
            metavar="N",
            min=1,
            help="With --until-current: how often one is told; else 5 times.",
            show_default=False,
        ),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Tell once more of all that still waits.")] = False,
) -> None:
    """Tell people what waits."""
    from threading import Event

    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.project_options import told_to_end
    from ledger.adapters.notifying import Notifier
    from ledger.adapters.notifying.notifier import TRIES

    screen = call.screen
    settings = call.settings
    if tries is not None and not until_current:
        raise typer.BadParameter("--tries goes with --until-current: else it tells until it is taken")
    receiver = _receiver(command, post, header or [])
    where = call.where
    stop = Event()
    with call.reading() as opened, _closed(receiver):
        notifier = Notifier(opened, receiver, name=name, where=where, tries=tries or TRIES)
        note_unknown_tenant(opened, screen)
        if not until_current:
            _begin(screen, name, settings.tenant)
        if anew:
            notifier.begin_anew()
        with told_to_end(stop, screen), _warnings(screen):
            tally = notifier.run(
                until_current=until_current, stop=stop, heard=None if call.as_json else _teller(screen)
            )
    _end(screen, name, tally, must_be_whole=until_current)


@contextmanager
def _closed(receiver: Receiver) -> Iterator[None]:
    from ledger.adapters.notifying import Post

    try:
        yield
    finally:
        if isinstance(receiver, Post):
            receiver.close()


def _receiver(command: str | None, post: str | None, header: list[str]) -> Receiver:
    """Build who is told.

    Raises:
        InvalidInput: there is no such command, or no such address.
        typer.BadParameter: it is not one of both, or a variable is not set.
    """
    from ledger.adapters.notifying import Post, RunCommand

    if (command is None) == (post is None):
        raise typer.BadParameter("say who is told: --command or --post; for both, run two with a --name each")
    if command is not None:
        if header:
            raise typer.BadParameter("--header goes with --post")
        return RunCommand(command)
    assert post is not None
    return Post(post, headers=dict(map(_header, header)))


def _header(given: str) -> tuple[str, str]:
    from ledger.adapters.settings import secret_in

    name, equals, variable = given.partition("=")
    if not equals or not name or not variable:
        raise typer.BadParameter(f"--header takes NAME=VARIABLE, not {given!r:.60}")
    value = secret_in(variable)
    if value is None:
        raise typer.BadParameter(f"--header {name}: the environment variable {variable} is not set")
    return name, value


def _begin(screen: Screen, name: str, tenant: str) -> None:
    from ledger.adapters.cli.words import quoted

    screen.note(f"notifier {name} tells what waits in tenant {quoted(tenant)}, until it is ended")


def _teller(screen: Screen) -> Callable[[Notice], None]:
    from ledger.adapters.cli.words import quoted

    def tell(notice: Notice) -> None:
        act = "an act" if notice.tool is None else quoted(notice.tool)
        screen.line(f"told: {act} of {quoted(notice.run)} waits, approval {quoted(notice.approval)}")
        screen.flush()

    return tell


@contextmanager
def _warnings(screen: Screen) -> Iterator[None]:
    """Write what the notifier warns of to standard error."""

    class Noted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            screen.note(record.getMessage())

    logger, handler = logging.getLogger("ledger"), Noted(logging.WARNING)
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


def _end(screen: Screen, name: str, tally: Tally, *, must_be_whole: bool) -> None:
    from ledger.adapters.cli.project_options import end
    from ledger.adapters.cli.words import counted

    told = {"told": tally.told, "passed_over": tally.passed_over, "unreadable": tally.unreadable}
    if screen.as_json:
        screen.document({"name": name, **told, "whole": tally.whole})
    else:
        words = f"{counted(tally.told, 'request')} told, {tally.passed_over:,} passed over"
        screen.note(words + (f", {tally.unreadable:,} not readable" if tally.unreadable else ""))
    end(screen, done=tally.whole or not must_be_whole, bad=tally.unreadable > 0)
