"""`project`: what projections keep beside the events, and how far they are."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ledger.adapters.cli import project_builds, project_verify
from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.project_options import NamesArgument, NeededNames, ParkOption, end, told_to_end
from ledger.adapters.cli.verbs import Call, group_of, verb

ABOUT = """Keep read models: tables made from the events.

A projection reads the events of a tenant in their order and keeps rows beside them, in tables of its own.
Nothing of that is a fact: it can be made again at any time, and `project verify` compares it with the events.
Each command takes --json.

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
and run it again: it goes on there. With --park only its run is set aside, with all that follows in it:
answers name it, and `project resume` handles it after the fix.

\b
Exit codes: 0 ended by --until-current, or following by SIGTERM, 1 a projection is
stopped or has set something aside, 3 could not run, 130 ended by Ctrl-C, 143 by
SIGTERM before --until-current was reached.
Examples:
  intent-ledger project run
  intent-ledger project run runs --until-current
"""

HELP_STATUS = """Show how far projections are, and what keeps them.

WAITING counts the events that are not handled yet, and says for how long the first of them has waited. One
that is ahead has handled an event that is not in this ledger, as after a restore: `project rebuild` makes it
anew. A build is named by its version, and the one in the second set of tables has a `b` behind it: `v3b`.

\b
Exit codes: 0 fine, 1 one is stopped or ahead, or has set something aside,
3 could not run.
Examples:
  intent-ledger project status
  intent-ledger project status --json
"""

HELP_CREATE = """Make the tables of projections, for logins that may not.

Whoever may migrate a ledger on PostgreSQL may do this; where it has roles, its readers then may read these
tables, and its writers change them. Tables that are there stay as they are. Each has a second one, in which
a projection is made anew.

\b
Example:
  intent-ledger project create --ledger postgresql://admin@db/ledger
"""

HELP_RESUME = """Let projections try again what they could not handle, where a program runs them.

One that is stopped is tried by `project run` in any case when it begins. Runs that were set aside are handled
from the event where they were, in order, and nothing of them is lost.

\b
Example:
  intent-ledger project resume runs
"""

HELP_FORGET = """Delete what projections keep of this tenant, so that they begin anew.

No event is touched. Until the projection has run again its tables are empty for this tenant; `project
rebuild` makes it anew without that gap.

\b
Example:
  intent-ledger project forget runs
  intent-ledger project run runs --until-current
"""


class Projecting(TyperGroup):
    """The group, whose help lists the projections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the projections that come with the ledger."""
        from projections.built_in import BUILT_IN

        super().format_commands(ctx, formatter)
        with formatter.section("Projections"):
            formatter.write_dl([(name, one.about) for name, one in BUILT_IN.items()])


def add_to(app: typer.Typer) -> None:
    """Put the commands under `project`."""
    group = group_of(ABOUT, cls=Projecting)
    group.command("run", help=HELP_RUN)(run)
    group.command("status", help=HELP_STATUS)(status)
    group.command("create", help=HELP_CREATE)(create)
    group.command("resume", help=HELP_RESUME)(resume)
    group.command("forget", help=HELP_FORGET)(forget)
    project_builds.add_to(group)
    project_verify.add_to(group)
    app.add_typer(group, name="project")


@verb()
def run(
    call: Call,
    names: NamesArgument = None,
    until_current: Annotated[
        bool, typer.Option("--until-current", help="End when all that is stored now is handled.")
    ] = False,
    page: Annotated[
        int, typer.Option("--page", metavar="N", min=1, max=100_000, help="Most events at once.")
    ] = 500,
    park: ParkOption = False,
) -> None:
    """Run projections."""
    from threading import Event

    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.project_view import is_bad_news, tell
    from projections.built_in import named
    from projections.errors import ProjectionStopped
    from projections.runner import Runner
    from projections.standing import status as standings

    screen = call.screen
    wanted = named(names or [])
    stop = Event()
    with call.reading() as opened:
        runner = Runner(opened, wanted, page=page, park=park)
        # What stopped one is shown with how all of them stand.
        done = True
        with suppress(ProjectionStopped), told_to_end(stop, screen), bar(screen) as progress:
            done = runner.run(until_current=until_current, stop=stop, progress=progress)
        chosen = {(one.model.projection, one.model.version) for one in wanted}
        found = [one for one in standings(opened, wanted) if (one.projection, one.version) in chosen]
    tell(screen, found)
    end(screen, done=done or not until_current, bad=is_bad_news(found))


@verb()
def status(
    call: Call,
) -> None:
    """Show how projections stand."""
    from ledger.adapters.cli.project_view import is_bad_news, tell
    from ledger.application.ledger import edge_of
    from projections.built_in import BUILT_IN
    from projections.standing import status as standings

    screen = call.screen
    with call.looking() as opened:
        found = standings(opened, BUILT_IN.values())
        of_tenant = edge_of(opened).tenant
    if not call.as_json and not any(one.events or one.lag_events for one in found):
        screen.note(f"the tenant {of_tenant!r} has recorded nothing")
    tell(screen, found)
    if is_bad_news(found):
        raise typer.Exit(Exit.BAD_NEWS)


@verb(tenant=False)
def create(
    call: Call,
    names: NamesArgument = None,
) -> None:
    """Make the tables of projections."""
    from projections.built_in import named

    screen = call.screen
    wanted = named(names or [])
    made = []
    with call.reading() as opened:
        models = opened.store.read_models()
        for one in wanted:
            both = [one.model._replace(slot=slot) for slot in (0, 1)]
            missing = [model for model in both if len(models.columns(model)) < len(model.tables)]
            for model in missing:
                models.create(model)
            if missing:
                made.append(one.name)
    if call.as_json:
        screen.document({"created": made})
    else:
        screen.line(f"made the tables of {', '.join(made)}" if made else "all tables are there")


@verb()
def resume(
    call: Call,
    names: NeededNames,
) -> None:
    """Let stopped projections try again."""
    from projections.standing import resume_projection

    _each(call, names, "resumed", resume_projection, "nothing had stopped")


@verb()
def forget(
    call: Call,
    names: NeededNames,
) -> None:
    """Delete what projections keep of this tenant."""
    from projections.standing import forget as forget_projection

    _each(call, names, "forgotten", forget_projection)


def _each(
    call: Call,
    names: list[str],
    done: str,
    act: Callable[[Any, Any], object],
    idle: str = "",
) -> None:
    """Do something with projections; `idle` names those of which `act` says that there was nothing to do."""
    from projections.built_in import named

    wanted = named(names)
    with call.reading() as opened:
        outcomes = {one.name: act(opened, one) for one in wanted}
    touched = [name for name, outcome in outcomes.items() if outcome is not False]
    screen = call.screen
    if call.as_json:
        screen.document({done: touched})
        return
    if touched:
        screen.line(f"{done}: {', '.join(touched)}")
    if len(touched) < len(outcomes):
        screen.line(f"{idle}: {', '.join(name for name in outcomes if name not in touched)}")
