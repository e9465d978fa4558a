"""`project verify`: whether read models hold what comes from the records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.project_options import NamesArgument
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.stores.read_models import Cell
    from projections.checking import Checked
    from projections.comparing import Difference

HELP = """Check whether read models hold what comes from the records.

Read models are not the record: no hash covers their rows, and `ask`, `obligations` and --kept believe them.
`verify` looks at the record. This makes the rows once more from it, in a temporary database, and compares
each with the one that is kept, up to where its projection has come. Of those that differ, are missing, or
come from no record the first hundred of each projection are named. It changes nothing, keeps nobody waiting,
and takes about as long as `project rebuild`, which makes right what is wrong.

What was set aside is not compared from there on. That the record is what was written is not looked at: first
`verify --all`, then this.

\b
Exit codes: 0 they hold what comes from the records, as far as they are built,
1 something differs, or cannot be made once more, 3 could not run.
Examples:
  intent-ledger project verify
  intent-ledger project verify effects timeline --json
"""

_MOST_WORDS = 60
_STATES = {
    "same": "as the records say",
    "differs": "DIFFERS",
    "tables": "OTHER TABLES",
    "ahead": "OTHER HISTORY",
    "unreadable": "CANNOT TELL",
    "new": "not built",
    "going": "being deleted",
}


def add_to(group: typer.Typer) -> None:
    """Put the command under `project`."""
    group.command("verify", help=HELP)(verify)


@verb()
def verify(
    call: Call,
    names: NamesArgument = None,
) -> None:
    """Check whether read models hold what comes from the records."""
    from ledger.adapters.cli.catching_up import bar
    from projections.built_in import named
    from projections.checking import BAD, check

    screen = call.screen
    wanted = named(names or [])
    with call.looking() as opened, bar(screen) as progress:
        found = check(opened, wanted, progress=progress)
    bad = [one for one in found if one.state in BAD]
    if call.as_json:
        screen.document({"projections": list(map(_facts, found))})
    else:
        _show(screen, found, bad)
    if bad:
        raise typer.Exit(Exit.BAD_NEWS)


def _show(screen: Screen, found: list[Checked], bad: list[Checked]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import counted, quoted

    numbers = ("EVENTS", "ROWS", "DIFFER", "MISSING", "WITHOUT A RECORD")
    columns = [Column("PROJECTION"), Column("ROWS ARE"), *(Column(one, right=True) for one in numbers)]
    rows = [
        (one.projection, _STATES[one.state], *(f"{number:,}" for number in _numbers(one))) for one in found
    ]
    screen.table(columns, rows)
    for one in found:
        if one.why:
            screen.entry(f"{one.projection}: {one_line(one.why, most=400)}", hang=2)
        for difference in one.first:
            screen.entry(f"{one.projection}: {_words(difference)}", hang=2)
        more = sum(one.counts.values()) - len(one.first)
        if more:
            screen.entry(f"{one.projection}: and {counted(more, 'row')} more", hang=2)
        for stream in one.parked:
            place = f"{quoted(stream.run)} from position {stream.position} on"
            screen.entry(f"{one.projection}: not compared: {place}, which was set aside", hang=2)
    if any(one.state == "unreadable" for one in bad):
        screen.entry("a record cannot be handled any more: intent-ledger verify --all", hang=2)
    wrong = [one.projection for one in bad if one.state != "unreadable"]
    if wrong:
        screen.entry(f"make them anew: intent-ledger project rebuild {' '.join(wrong)}", hang=2)


def _numbers(one: Checked) -> tuple[int, ...]:
    counts = one.counts
    return one.events, one.rows, counts["differs"], counts["missing"], counts["unfounded"]


def _words(one: Difference) -> str:
    """Name a row, and say what is wrong with it."""
    place = f"{one.table} {_listed(one.key)}"
    if one.kind == "missing":
        return f"{place}: missing"
    if one.kind == "unfounded":
        return f"{place}: comes from no record"
    cells = (f"{name} is {_short(kept)}, not {_short(made)}" for name, (kept, made) in one.cells.items())
    return f"{place}: {', '.join(cells)}"


def _listed(key: Mapping[str, Cell]) -> str:
    return " ".join(f"{name}={_short(cell)}" for name, cell in key.items())


def _short(cell: Any) -> str:
    from ledger.adapters.cli.words import quoted

    if cell is None:
        return "empty"
    if isinstance(cell, bytes):
        head = cell[: _MOST_WORDS // 2].hex()
        return f"{head}… ({len(cell):,} bytes)" if len(cell) > _MOST_WORDS // 2 else head or "empty bytes"
    return quoted(cell, _MOST_WORDS) if isinstance(cell, str) else str(cell)


def _facts(one: Checked) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "projection": one.projection,
        "version": one.version,
        "slot": one.slot,
        "state": one.state,
        "position": str(one.position),
        "events": one.events,
        "rows": one.rows,
        "differing": one.counts["differs"],
        "missing": one.counts["missing"],
        "unfounded": one.counts["unfounded"],
        "first": [_difference(difference) for difference in one.first],
        "parked": [{"run": stream.run, "position": stream.position} for stream in one.parked],
    }
    return {**facts, "why": one.why} if one.why else facts


def _difference(one: Difference) -> dict[str, Any]:
    cells = {
        name: {"kept": _plain(kept), "from_records": _plain(made)} for name, (kept, made) in one.cells.items()
    }
    key = {name: _plain(cell) for name, cell in one.key.items()}
    return {"table": one.table, "key": key, "kind": one.kind, "cells": cells}


def _plain(cell: Cell) -> Any:
    return cell.hex() if isinstance(cell, bytes) else cell
