"""`tools`: what may be done again, what changes the outside, and how one would know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import ToolsOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.application.effect_listing import Unsettleds
    from ledger.application.settling import Unsettled
    from ledger.gateway.tools import Tool

HELP = """Say of each tool: may it be done again, and how would we know? What it costs, and who approves it.

Those that MODULE declares, and those that the ledger's unsettled effects name, of all runs or of RUN;
without MODULE as each effect recorded it. A tool for which nobody declared a recovery is UNCLASSIFIED: it is
taken for one that changes the outside, can neither be asked nor repeated, and is left to people.

MODULE is imported, so it must be yours: a dotted name, or a .py file. What it prints goes to standard error.
With it alone no ledger needs to be there.

\b
Examples:
  intent-ledger tools --tools shop.tools
  intent-ledger tools refund-17
  intent-ledger tools --tools ./tools.py --json
"""


@verb()
def tools(
    call: Call,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only effects of this run.", show_default=False)
    ] = None,
    module: ToolsOption = None,
) -> None:
    """Say what is known of tools."""
    import contextlib
    import sys

    from ledger.adapters.cli.runs import exit_of, fault, show_unread
    from ledger.adapters.cli.tool_modules import declared_in

    screen = call.screen
    settings = call.settings
    with contextlib.redirect_stdout(sys.stderr):
        declared = declared_in(module).tools
    unsettled, unread = _unsettled(settings, run, may_be_missing=bool(declared) and run is None)
    rows = _rows(declared, unsettled)
    if call.as_json:
        screen.document({"tools": rows, "unread": [fault(one) for one in unread]})
    else:
        show_unread(screen, unread)
        _show(screen, rows)
    if unread:
        raise typer.Exit(exit_of(unread))


def _unsettled(settings: Settings, run: str | None, *, may_be_missing: bool) -> Unsettleds:
    """Read what is unsettled; nothing where no ledger was named and there is none."""
    from ledger.adapters.cli.opening import open_for_reading, path_of
    from ledger.application.effect_listing import Unsettleds, list_unsettled

    is_named = settings.url != type(settings).model_fields["url"].default
    if may_be_missing and not is_named and not path_of(settings).exists():
        return Unsettleds([])
    with open_for_reading(settings) as opened:
        return list_unsettled(opened, run)


def _rows(declared: Iterable[Tool], unsettled: Iterable[Unsettled]) -> list[dict[str, Any]]:
    """Give each tool as a JSON object, by name."""
    from ledger.application.settling import answers
    from ledger.gateway.tools import Tool

    found: dict[str, dict[str, Any]] = {}
    for tool in declared:
        cost = None if tool.cost is None else {unit: str(amount) for unit, amount in tool.cost.items()}
        asks = {"cost": cost, "needs_approval": tool.needs_approval}
        found[tool.name] = {**answers(tool), **asks, "declared": True, "unsettled": 0, "in_doubt": 0}
    for one in unsettled:
        name, recovery = one.effect.tool, one.effect.recovery
        if name not in found:
            seen = answers(Tool(name, None, recovery, dedupes_for=one.effect.dedupes_for))
            # The record holds what was declared, and not whether anybody did.
            del seen["classified"], seen["description"]
            found[name] = {**seen, "declared": False, "unsettled": 0, "in_doubt": 0}
        found[name]["unsettled"] += 1
        found[name]["in_doubt"] += one.status != "executing"
    return [found[name] for name in sorted(found)]


def _show(screen: Screen, rows: Sequence[dict[str, Any]]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    if not rows:
        screen.note("no tool is known: name a module that declares some with --tools")
        return

    def entries() -> None:
        for row in rows:
            screen.entry(f"{quoted(row['tool'])}: {_standing(row)}", style="bold")
            for question, answer in _answers(row).items():
                screen.entry(f"{question.lower()} {answer}", indent=2, hang=2)
            if row["unsettled"]:
                screen.entry(f"{row['unsettled']:,} unsettled, {row['in_doubt']:,} in doubt", indent=2)

    titles = ["TOOL", "DECLARED", *_answers(rows[0]), "UNSETTLED", "IN DOUBT"]
    screen.table(
        [Column(title, right=title in {"UNSETTLED", "IN DOUBT"}, whole=title == "TOOL") for title in titles],
        [
            (
                quoted(row["tool"]),
                _standing(row),
                *_answers(row).values(),
                str(row["unsettled"] or "-"),
                str(row["in_doubt"] or "-"),
            )
            for row in rows
        ],
        instead=entries,
    )
    unclassified = [quoted(row["tool"]) for row in rows if row.get("classified") is False]
    if unclassified:
        screen.note(f"declare a recovery for: {', '.join(unclassified)}")


def _standing(row: dict[str, Any]) -> str:
    if not row["declared"]:
        return f"{row['recovery']}, as recorded"
    return row["recovery"] if row["classified"] else "UNCLASSIFIED"


def _answers(row: dict[str, Any]) -> dict[str, str]:
    return {
        "SAFE TO REDO?": row["safe_to_redo"],
        "CHANGES THE OUTSIDE?": "yes" if row["changes_the_outside"] else "no",
        "HOW WOULD WE KNOW?": row["how_we_know"],
        "COST": _cost(row),
        "A PERSON APPROVES?": _approval(row),
    }


def _cost(row: dict[str, Any]) -> str:
    from ledger.adapters.cli.words import quoted

    return ", ".join(f"{amount} {quoted(unit)}" for unit, amount in (row.get("cost") or {}).items()) or "-"


def _approval(row: dict[str, Any]) -> str:
    if "needs_approval" not in row:
        return "-"
    return "yes" if row["needs_approval"] else "where a rule says so"
