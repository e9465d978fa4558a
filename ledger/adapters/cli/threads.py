"""`threads`: conversations whose states are kept, and letting go of those states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, group_of, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.threads import Threads
    from ledger.application.freeing import Freed, Progress
    from ledger.application.ledger import Ledger
    from ledger.run.contract import Effect

ABOUT = """Show conversations, and let go of their states.

A thread is named as its program names it: LangGraph's thread_id, or that of a Checkpointer. Each command
takes --json.

\b
Examples:
  intent-ledger threads list
  intent-ledger threads show order-17 --check
  intent-ledger threads prune order-17 --dry-run
"""

HELP_LIST = """List threads: of each the newest run, and what it is at.

RUNS counts how often the thread began anew or went on in another run: after its run had ended, or it was
deleted. UNSETTLED are effects of which nobody has settled whether they happened.

\b
Examples:
  intent-ledger threads list
  intent-ledger threads list --prefix order- --limit 500 --json
"""

HELP_SHOW = """Show the states of a thread, the newest first, and what is stored of its runs.

--check reads each state, all of it, and names those that cannot be read.

\b
Exit codes: 0 fine, 1 a state cannot be read, 3 could not run.
Examples:
  intent-ledger threads show order-17
  intent-ledger threads show order-17 --check --json
"""

HELP_PRUNE = """Let go of the older states of a thread, and free what no other state rests on.

Of each line the newest --keep states stay, with those that they are read with. An event says which went, who
decided it and why; what the run did, promised and was approved stays as it is. What stays is read before
anything goes; one that cannot be is named, and given up by `threads drop`. On PostgreSQL the owner of the
ledger does this, no writer may.

\b
Exit codes: 0 done, 1 a state that would stay cannot be read, 3 could not run, 4 not for agents.
Examples:
  intent-ledger threads prune order-17 --dry-run
  intent-ledger threads prune order-17 --keep 5 --by human:kim --reason "kept long enough"
"""

HELP_DROP = """Let go of some states of a thread, such as those that cannot be read any more.

A state that would stay and cannot be read stands in the way of pruning, since nobody could tell what it rests
on. `threads show --check` names such states; this gives them up, those that are named, or by --unreadable
all of them. What the others rest on stays, and each of them is read before anything goes.

\b
Exit codes: 0 done, 3 could not run, 4 a state that stays needs one of them, or not for agents.
Examples:
  intent-ledger threads drop order-17 --unreadable --dry-run
  intent-ledger threads drop order-17 STATE --by human:kim --reason "damaged"
"""

HELP_DELETE = """Let go of all states of a thread, and end its run: what is saved next begins anew.

An event says who decided it and why; what the thread did, promised and was approved stays on record, and is
nothing that a thread of the same name knows of. So a thread with unsettled effects is refused: settle them,
or say --force. --dry-run says what would go, and which effects stand in the way.

\b
Exit codes: 0 done, 3 could not run, 4 effects are unsettled (also with --dry-run), or not for agents.
Examples:
  intent-ledger threads delete order-17 --dry-run
  intent-ledger threads delete order-17 --by human:kim --reason "on request"
"""

ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="Its name.", show_default=False)]
ByOption = Annotated[
    str | None, typer.Option("--by", metavar="KIND:NAME", help="Who decided it.", show_default=False)
]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
]
DryOption = Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands under `threads`."""
    group = group_of(ABOUT)
    group.command("list", help=HELP_LIST)(list_)
    group.command("show", help=HELP_SHOW)(show)
    group.command("prune", help=HELP_PRUNE)(prune)
    group.command("drop", help=HELP_DROP)(drop)
    group.command("delete", help=HELP_DELETE)(delete)
    app.add_typer(group, name="threads")


@verb()
def list_(
    call: Call,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="TEXT", help="Only names that begin so.", show_default=False)
    ] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Threads to list.")] = 100,
) -> None:
    """List threads."""
    from itertools import islice

    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.threads_view import show_list
    from ledger.adapters.threads.listing import list_threads

    screen = call.screen
    with call.looking() as opened:
        found = list(islice(list_threads(opened, prefix=prefix), limit + 1))
        if not found:
            note_unknown_tenant(opened, screen)
    show_list(screen, found[:limit], more=len(found) > limit, limit=limit)


@verb()
def show(
    call: Call,
    thread: ThreadArgument,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="States to show.")] = 20,
    check: Annotated[bool, typer.Option("--check", help="Read each state of the thread.")] = False,
) -> None:
    """Show the states of a thread."""
    from ledger.adapters.cli.threads_view import Shown, show_thread
    from ledger.adapters.threads import Threads, ThreadStates
    from ledger.adapters.threads.listing import stored_in, unreadable
    from ledger.adapters.threads.raw import RAW

    screen = call.screen
    with call.looking() as opened:
        threads = Threads(opened)
        entries = list(threads.generations(thread))
        _there(opened, thread, entries)
        states = ThreadStates(threads, RAW)
        shown = Shown(
            thread,
            [(entry.run.contract, stored_in(opened, entry)) for entry in entries],
            list(states.all(thread)),
            list(unreadable(states, thread)) if check else None,
        )
    show_thread(screen, shown, limit=limit)
    if shown.unreadable:
        raise typer.Exit(Exit.BAD_NEWS)


@verb(actor=True)
def prune(
    call: Call,
    thread: ThreadArgument,
    keep: Annotated[
        int, typer.Option("--keep", metavar="N", min=1, help="States of each line that stay.")
    ] = 1,
    dry_run: DryOption = False,
    by: ByOption = None,
    reason: ReasonOption = None,
) -> None:
    """Let go of the older states of a thread."""
    from ledger.adapters.threads import dropping

    def deed(threads: Threads, said: dict[str, Any]) -> Freed:
        return dropping.prune(threads, thread, keep=keep, **said)

    _let_go(call, thread, deed, (by, reason), dry_run=dry_run)


@verb(actor=True)
def drop(
    call: Call,
    thread: ThreadArgument,
    states: Annotated[
        list[str] | None, typer.Argument(metavar="[STATE]...", help="States that go.", show_default=False)
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="ID", help="A state that goes.", show_default=False),
    ] = None,
    unreadable: Annotated[bool, typer.Option("--unreadable", help="All that cannot be read.")] = False,
    dry_run: DryOption = False,
    by: ByOption = None,
    reason: ReasonOption = None,
) -> None:
    """Let go of some states of a thread."""
    from ledger.adapters.cli.threads_dropping import choice
    from ledger.adapters.threads import dropping

    named = [*(states or ()), *(state or ())]
    if not (named or unreadable):
        raise typer.BadParameter("name the states that go, or say --unreadable")

    def deed(threads: Threads, said: dict[str, Any]) -> Freed:
        choose = choice(threads, thread, named, damaged=unreadable)
        return dropping.drop_chosen(threads, thread, choose, **said)

    _let_go(call, thread, deed, (by, reason), dry_run=dry_run)


@verb(actor=True)
def delete(
    call: Call,
    thread: ThreadArgument,
    force: Annotated[bool, typer.Option("--force", help="Also with effects that are unsettled.")] = False,
    dry_run: DryOption = False,
    by: ByOption = None,
    reason: ReasonOption = None,
) -> None:
    """Let go of all states of a thread."""
    from ledger.adapters.threads import dropping

    stands: list[Effect] = []

    def deed(threads: Threads, said: dict[str, Any]) -> Freed:
        if dry_run and not force:
            stands.extend(dropping.unsettled(threads, thread))
        return dropping.delete(threads, thread, force=force, **said)

    _let_go(call, thread, deed, (by, reason), dry_run=dry_run, stands=stands)


def _let_go(
    call: Call,
    thread: str,
    deed: Callable[[Threads, dict[str, Any]], Freed],
    decided: tuple[str | None, str | None],
    *,
    dry_run: bool,
    stands: Sequence[Effect] = (),
) -> None:
    """Do it, or ask what would go; `stands` is filled with the effects that stand in the way."""
    from ledger.adapters.cli.threads_view import show_freed, show_where
    from ledger.adapters.threads import Threads

    if not dry_run and None in decided:
        raise typer.BadParameter("say who decided it and why, --by and --reason, or only ask: --dry-run")
    by, reason = decided
    with call.reading() as opened, _watched(call.screen) as progress:
        threads = Threads(opened)
        entries = list(threads.generations(thread))
        _there(opened, thread, entries)
        said = {
            "by": by or "human:nobody",
            "reason": reason or "asked only",
            "dry_run": dry_run,
            "progress": progress,
        }
        freed = deed(threads, said)
    show_freed(call.screen, thread, freed, stands)
    if freed.events and not call.as_json:
        show_where(call.screen, [entry.run.id for entry in entries])
    if stands:
        raise typer.Exit(Exit.REFUSED)


def _there(opened: Ledger, thread: str, entries: Sequence[object]) -> None:
    from ledger.adapters.cli.called_otherwise import run_so_called
    from ledger.adapters.threads import run_name
    from ledger.errors import RunNotFound

    if not entries:
        more = run_so_called(opened, thread)
        message = f"there is no thread {thread!r}" + ("" if more is None else f"; {more}")
        raise RunNotFound(message, run=run_name(thread, 1))


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far it is, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("freeing") as status:
        yield lambda now: status.update(f"freeing: {now.looked:,} looked at, {now.dropped:,} freed")
