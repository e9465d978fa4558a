"""`project rebuild`, `serve` and `drop`: builds of a projection side by side, one of which is read."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.project_options import NamesArgument, NeededNames, ParkOption, end, told_to_end
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.settings import Settings
    from ledger.application.ledger import Ledger
    from ledger.stores.builds import Build

HELP_REBUILD = """Make projections anew beside those that are read; all, or those that are named.

What is read goes on being kept up to date by `project run`, and answers questions, until the new one has
caught up and takes its place in one transaction. So it is also after a restore, and for a newer version.
Interrupted it goes on where it was; of two at once one works. `project serve --previous` goes back.

\b
Exit codes: 0 they are read, 1 an event cannot be handled or something is set aside,
3 could not, 130 ended by Ctrl-C and 143 by SIGTERM before that.
Examples:
  intent-ledger project rebuild
  intent-ledger project rebuild runs --workers 4
"""

HELP_SERVE = """Read again what was read before a projection was made anew.

It is done in one transaction, and takes back nothing else: `project run` lets it catch up. The same command
goes forward again.

\b
Example:
  intent-ledger project serve runs --previous
"""

HELP_DROP = """Delete builds of projections that are neither read nor to be.

No event is touched, and what is read stays. There is no way back to what was dropped; programs of an older
version that are still at work make theirs again.

\b
Example:
  intent-ledger project drop runs
"""

_FEW = 20_000
"""Up to so many events the start of worker processes takes longer than they save."""


def add_to(group: typer.Typer) -> None:
    """Put the commands under `project`."""
    group.command("rebuild", help=HELP_REBUILD)(rebuild)
    group.command("serve", help=HELP_SERVE)(serve)
    group.command("drop", help=HELP_DROP)(drop)


@verb()
def rebuild(
    call: Call,
    names: NamesArgument = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew what was interrupted.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            metavar="N",
            min=1,
            max=256,
            help="Processes that handle events; without it as many as there are cores.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        int, typer.Option("--page", metavar="N", min=1, max=100_000, help="Most events at once.")
    ] = 2_000,
    park: ParkOption = False,
) -> None:
    """Make projections anew."""
    from threading import Event

    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.project_view import is_bad_news, tell
    from projections.built_in import named
    from projections.errors import ProjectionStopped
    from projections.rebuilding import rebuild as make_anew
    from projections.standing import status as standings

    screen = call.screen
    wanted = named(names or [])
    settings = call.settings
    stop = Event()
    with call.reading() as opened:
        # What stopped one is shown with how all of them stand.
        done = True
        with suppress(ProjectionStopped), told_to_end(stop, screen), bar(screen) as progress:
            done = make_anew(
                opened,
                wanted,
                fresh=fresh,
                workers=_cores(opened) if workers is None else workers,
                url=_url(settings),
                page=page,
                park=park,
                stop=stop,
                progress=progress,
            )
        chosen = {one.name for one in wanted}
        found = [one for one in standings(opened, wanted) if one.projection in chosen]
    tell(screen, found)
    end(screen, done=done, bad=is_bad_news(found))


@verb()
def serve(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which.", show_default=False)],
    previous: Annotated[bool, typer.Option("--previous", help="What was read before.")] = False,
) -> None:
    """Read again what was read before."""
    from projections.built_in import named
    from projections.rebuilding import serve_previous

    if not previous:
        raise typer.BadParameter("say what is to be read: --previous")
    screen = call.screen
    (wanted,) = named([name])
    with call.reading() as opened:
        build = serve_previous(opened, wanted)
    if call.as_json:
        screen.document({"projection": name, **_build(build)})
    else:
        screen.line(f"{name} is read from {build}")


@verb()
def drop(
    call: Call,
    names: NeededNames,
) -> None:
    """Delete builds that are not read."""
    from projections.built_in import named
    from projections.rebuilding import drop as drop_builds

    screen = call.screen
    wanted = named(names)
    with call.reading() as opened:
        dropped = [(one.name, build) for one in wanted for build in drop_builds(opened, one)]
    if call.as_json:
        screen.document({"dropped": [{"projection": name, **_build(build)} for name, build in dropped]})
        return
    for name, build in dropped:
        screen.line(f"dropped: {name} {build}")
    if not dropped:
        screen.line("there is nothing that is not read")


def _build(build: Build) -> dict[str, Any]:
    return {"version": build.version, "slot": build.slot, "name": str(build)}


def _cores(opened: Ledger) -> int:
    """Choose how many processes handle the events of a tenant."""
    from ledger.application.ledger import edge_of

    edge = edge_of(opened)
    if edge.store.read_models().behind(edge.tenant, 0).events <= _FEW:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _url(settings: Settings) -> str:
    """Return where worker processes find the ledger."""
    from ledger.adapters.cli.opening import names_server, path_of

    return settings.url if names_server(settings) else str(path_of(settings))
