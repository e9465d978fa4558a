"""`project`: what projections keep beside the events, and how far they are."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import JsonOption, LedgerOption, TenantOption

if TYPE_CHECKING:
    from threading import Event

    from ledger.adapters.cli.screen import Screen
    from projections.runner import Progress
    from projections.standing import Standing

ABOUT = """Keep read models: tables made from the events.

A projection reads the events of a tenant in their order and keeps rows beside them, in tables of its own.
Nothing of that is a fact: it can be made again at any time. Each command takes --json.

\b
Projections:
  runs    every run with its contract, its status, and what it owes

\b
Examples:
  intent-ledger project run --until-current
  intent-ledger project status --json
"""

HELP_RUN = """Run projections: catch up, then follow until stopped; all, or those that are named.

Any number of these may run at once, for the same ledger: of each projection one works, and the others stand
by until it ends, or is not heard of for 30 seconds. Rows and the place they stand for are stored together,
so nothing is missing or doubled whenever one ends.

An event that cannot be handled stops its projection at that place, and the others go on. Mend what is wrong
and run it again: it goes on there.

\b
Exit codes: 0 ended by --until-current or SIGTERM, 1 a projection is stopped,
3 could not run, 130 ended by Ctrl-C.
Examples:
  intent-ledger project run
  intent-ledger project run runs --until-current
"""

HELP_STATUS = """Show how far projections are, and what keeps them.

WAITING counts the events that are not handled yet, and says for how long the first of them has waited. One
that is ahead has handled an event that is not in this ledger, as after a restore: forget it, then run it.

\b
Exit codes: 0 fine, 1 one is stopped or ahead, 3 could not run.
Examples:
  intent-ledger project status
  intent-ledger project status --json
"""

HELP_CREATE = """Make the tables of projections, for logins that may not.

Whoever may migrate a ledger on PostgreSQL may do this; where it has roles, its readers then may read these
tables, and its writers change them. Tables that are there stay as they are.

\b
Example:
  intent-ledger project create --ledger postgresql://admin@db/ledger
"""

HELP_RESUME = """Let stopped projections try again, where a program that runs them goes on running.

`project run` tries in any case when it begins.

\b
Example:
  intent-ledger project resume runs
"""

HELP_FORGET = """Delete what projections keep of this tenant, so that they begin anew.

No event is touched. Until the projection has run again its tables are empty for this tenant.

\b
Example:
  intent-ledger project forget runs
  intent-ledger project run runs --until-current
"""

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; all without.", show_default=False)
]
NeededNames = Annotated[list[str], typer.Argument(metavar="NAME...", help="Which.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Put the commands under `project`."""
    group = typer.Typer(rich_markup_mode=None, no_args_is_help=False)
    group.callback(invoke_without_command=True, help=ABOUT)(_begin)
    group.command("run", help=HELP_RUN)(run)
    group.command("status", help=HELP_STATUS)(status)
    group.command("create", help=HELP_CREATE)(create)
    group.command("resume", help=HELP_RESUME)(resume)
    group.command("forget", help=HELP_FORGET)(forget)
    app.add_typer(group, name="project")


def _begin(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(
    context: typer.Context,
    names: NamesArgument = None,
    until_current: Annotated[
        bool, typer.Option("--until-current", help="End when all that is stored now is handled.")
    ] = False,
    page: Annotated[
        int, typer.Option("--page", metavar="N", min=1, max=100_000, help="Most events at once.")
    ] = 500,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run projections."""
    from threading import Event

    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from projections.built_in import named
    from projections.errors import ProjectionStopped
    from projections.runner import Runner
    from projections.standing import status as standings

    screen = Screen(as_json=as_json)
    wanted = named(names or [])
    stop = Event()
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened:
        runner = Runner(opened, wanted, page=page)
        # What stopped one is shown with how all of them stand.
        with suppress(ProjectionStopped), _told_to_end(stop), _bar(screen) as progress:
            runner.run(until_current=until_current, stop=stop, progress=progress)
        chosen = {(one.model.projection, one.model.version) for one in wanted}
        found = [one for one in standings(opened, wanted) if (one.projection, one.version) in chosen]
    if as_json:
        screen.document({"projections": list(map(_facts, found))})
    else:
        _show(screen, found)
    if any(one.state == "stopped" for one in found):
        raise typer.Exit(Exit.BAD_NEWS)


def status(
    context: typer.Context,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how projections stand."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from projections.built_in import BUILT_IN
    from projections.standing import status as standings

    screen = Screen(as_json=as_json)
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened:
        found = standings(opened, BUILT_IN.values())
    if as_json:
        screen.document({"projections": list(map(_facts, found))})
    else:
        _show(screen, found)
    if any(one.state in {"stopped", "ahead"} for one in found):
        raise typer.Exit(Exit.BAD_NEWS)


def create(
    context: typer.Context,
    names: NamesArgument = None,
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the tables of projections."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from projections.built_in import named

    screen = Screen(as_json=as_json)
    wanted = named(names or [])
    made = []
    with open_for_reading(settings_of(context, url=ledger)) as opened:
        models = opened.store.read_models()
        for one in wanted:
            if len(models.columns(one.model)) < len(one.model.tables):
                models.create(one.model)
                made.append(one.name)
    if as_json:
        screen.document({"created": made})
    else:
        screen.line(f"made the tables of {', '.join(made)}" if made else "all tables are there")


def resume(
    context: typer.Context,
    names: NeededNames,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let stopped projections try again."""
    from projections.standing import resume_projection

    _each(context, names, ledger, tenant, as_json, "resumed", resume_projection)


def forget(
    context: typer.Context,
    names: NeededNames,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete what projections keep of this tenant."""
    from projections.standing import forget as forget_projection

    _each(context, names, ledger, tenant, as_json, "forgotten", forget_projection)


def _each(
    context: typer.Context,
    names: list[str],
    ledger: str | None,
    tenant: str | None,
    as_json: bool,
    done: str,
    act: Callable[[Any, Any], None],
) -> None:
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from projections.built_in import named

    screen = Screen(as_json=as_json)
    wanted = named(names)
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened:
        for one in wanted:
            act(opened, one)
    if as_json:
        screen.document({done: [one.name for one in wanted]})
    else:
        screen.line(f"{done}: {', '.join(one.name for one in wanted)}")


@contextmanager
def _told_to_end(stop: Event) -> Iterator[None]:
    """Let SIGTERM end the run as it should be ended: with what was handled stored, and the lease returned."""
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _bar(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far they are, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("events"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def told(now: Progress) -> None:
            if now.projection not in tasks:
                tasks[now.projection] = bar.add_task(now.projection, total=None)
            bar.update(tasks[now.projection], completed=now.events, total=now.known)

        yield told


def _facts(one: Standing) -> dict[str, Any]:
    from ledger.values.times import write_time

    facts: dict[str, Any] = {
        "projection": one.projection,
        "version": one.version,
        "state": one.state,
        "position": str(one.position),
        "events": one.events,
        "at": None if one.at is None else write_time(one.at),
        "lag": {"events": one.lag_events, "seconds": round(one.lag_seconds, 3)},
        "holder": one.holder,
        "held_until": None if one.held_until is None else write_time(one.held_until),
        "updated_at": None if one.updated_at is None else write_time(one.updated_at),
    }
    if one.stopped is not None:
        facts["stopped"] = {
            "global_position": str(one.stopped.gid),
            "run": one.stopped.run,
            "position": one.stopped.position,
            "error": one.stopped.error,
        }
    return facts


def _show(screen: Screen, found: list[Standing]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import counted, quoted

    if screen.narrow:
        for one in found:
            screen.entry(_name(one), style="bold")
            handled = counted(one.events, "event")
            screen.entry(f"{one.state}, {handled}, waiting: {_waiting(one)}", indent=2, hang=2)
    else:
        columns = [Column("PROJECTION"), Column("STATE"), Column("EVENTS", right=True), Column("WAITING")]
        rows = [(_name(one), one.state, f"{one.events:,}", _waiting(one)) for one in found]
        screen.table(columns, rows)
    for one in found:
        if one.stopped is not None:
            place = f"{quoted(one.stopped.run)} position {one.stopped.position}"
            what = f"{one.projection} stopped before {place}: {one_line(one.stopped.error, most=400)}"
            screen.entry(f"{what}; mend it, then: intent-ledger project run {one.projection}", hang=2)
        elif one.state == "ahead":
            name = one.projection
            screen.entry(
                f"{name} has handled an event that is not in this ledger: "
                f"intent-ledger project forget {name}, then: intent-ledger project run {name}",
                hang=2,
            )


def _name(one: Standing) -> str:
    return f"{one.projection} v{one.version}"


def _waiting(one: Standing) -> str:
    from ledger.adapters.cli.spans import span_words

    if not one.lag_events:
        return "-"
    return f"{one.lag_events:,} for {span_words(timedelta(seconds=one.lag_seconds))}"
