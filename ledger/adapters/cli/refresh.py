"""`refresh`: look again at what a run rests on and must not rely on any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import ToolsOption
from ledger.adapters.cli.saying import RunArgument
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.refreshing import Refreshed

HELP = """Look again at what a run rests on and must not rely on any more.

These are observations that are stale or invalidated, and sources that were not read lately; --all adds what
is fresh. Each is asked anew by the tool of its name that MODULE declares, with the arguments it was asked
with, and recorded under the same key, also while the run is held or suspended. Only tools that are read_only
are CALLED. What raises records nothing, and the others go on. What reads a source is declared in the program
that runs, so a source is told as not refreshed here: publish what it says with `sources publish`.

MODULE is imported, so it must be yours: a dotted name, or a .py file, as for `reconcile`.

\b
Exit codes: 0 all that it rests on is fresh now, 2 something is not, 3 could
not run, 4 the run has ended.
Examples:
  intent-ledger refresh refund-17 --tools shop.tools
  intent-ledger refresh refund-17 --tools ./tools.py --all --json
"""


@verb(actor=True)
def refresh(
    call: Call,
    run: RunArgument,
    tools: ToolsOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what is fresh.")] = False,
) -> None:
    """Refresh a run."""
    import asyncio
    import contextlib
    import sys

    from ledger.adapters.cli.tool_modules import awaited, declared_in

    screen = call.screen
    call.check()
    with contextlib.redirect_stdout(sys.stderr), asyncio.Runner() as runner:
        declared = declared_in(tools)
        with call.reading(secrets=declared.secrets) as opened:
            for tool in declared.tools:
                opened.register(awaited(tool, runner))
            handle = opened.run(run)
            found = handle.refresh(all=everything)
            position = handle.position
    if call.as_json:
        screen.document(_document(run, position, found))
    else:
        _show(screen, run, found)
    raise typer.Exit(Exit.FINE if all(one.is_fresh for one in found) else Exit.CANNOT_TELL)


def _document(run: str, position: int, found: list[Refreshed]) -> dict[str, Any]:
    return {
        "run": run,
        "position": position,
        "looked_at": [
            {
                "key": one.key,
                "tool": one.tool,
                "found": one.found,
                "is_fresh": one.is_fresh,
                **({} if one.because is None else {"because": one.because}),
                **({} if one.position is None else {"position": one.position}),
            }
            for one in found
        ],
        "stale": sum(not one.is_fresh for one in found),
    }


_FOUND = {"refreshed": "as before", "changed": "changed", "not_refreshed": "not refreshed"}


def _show(screen: Screen, run: str, found: list[Refreshed]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    if not found:
        screen.note(f"nothing that run {quoted(run)} rests on has to be looked at again")
        return

    def entries() -> None:
        for one in found:
            screen.entry(f"{quoted(one.key)}: {_FOUND[one.found]}, {_standing(one)}", style="bold")
            if one.because is not None:
                screen.entry(one.because, indent=2, hang=2)

    screen.table(
        [Column("KEY", whole=True), Column("TOOL"), Column("IT SAYS"), Column("NOW"), Column("WHY")],
        [
            (
                quoted(one.key),
                quoted(one.tool),
                _FOUND[one.found],
                _standing(one),
                "-" if one.because is None else one.because,
            )
            for one in found
        ],
        instead=entries,
    )
    stale = sum(not one.is_fresh for one in found)
    if stale:
        screen.note(f"of {len(found):,} looked at, {stale:,} must still not be relied on")


def _standing(one: Refreshed) -> str:
    return "fresh" if one.is_fresh else "STALE"
