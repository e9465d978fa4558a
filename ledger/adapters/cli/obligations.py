"""`obligations`: who is owed what, across all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from projections.views import Owed, View

HELP = """List what runs owe.

What is due first stands in front. A run that has ended may owe something still; what a run owed that was
restarted, its successor owes. The read model `runs` is made and kept for this, and first catches up with all
that is stored.

What is discharged, and with what evidence, is a question: `intent-ledger ask obligations`.

\b
Exit codes: 0 fine, also where nothing is owed, 1 a run cannot be read
and is left out, 3 could not.
Examples:
  intent-ledger obligations --overdue
  intent-ledger obligations --owed-to customer:17 --json
"""


@verb()
def obligations(
    call: Call,
    overdue: Annotated[bool, typer.Option("--overdue", help="Only what was due by now.")] = False,
    owed_to: Annotated[
        str | None,
        typer.Option("--owed-to", metavar="KIND:NAME", help="Only what they are owed.", show_default=False),
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only of this run.", show_default=False)
    ] = None,
) -> None:
    """List obligations."""
    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.view_rows import document, end
    from projections import views
    from projections.given import is_reference

    if owed_to is not None and not is_reference(owed_to):
        raise typer.BadParameter(f"{owed_to!r:.80} is no KIND:NAME", param_hint="--owed-to")
    screen = call.screen
    with call.reading() as opened, bar(screen) as progress:
        note_unknown_tenant(opened, screen)
        found = views.obligations(opened, owed_to=owed_to, overdue=overdue, run=run, progress=progress)
    if call.as_json:
        screen.document(document("obligations", found))
    else:
        _show(screen, found)
    end(found.left_out)


def _show(screen: Screen, found: View[Owed]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.view_rows import show_as_of
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted

    def entries() -> None:
        for one in found.rows:
            screen.entry(f"{quoted(one.id)} of {quoted(one.run)}", style="bold")
            screen.entry(f"to {quoted(one.owed_to)}, due {_due(one)}, {_of(one)}", indent=2, hang=2)
            screen.entry(one_line(one.text, most=150), indent=2, hang=2, style="dim")

    if not found.rows:
        screen.note("nothing is owed, as far as was asked")
    else:
        most = 120 if screen.is_terminal else None
        titles = ("DUE", "OWED TO", "RUN", "STATUS", "ID", "POSITION", "WHAT")
        screen.table(
            [
                Column(title, right=title == "POSITION", whole=title in {"OWED TO", "RUN", "ID"})
                for title in titles
            ],
            [
                (
                    _due(one),
                    quoted(one.owed_to),
                    quoted(one.run),
                    one.run_status,
                    quoted(one.id),
                    str(one.position),
                    one_line(one.text, most),
                )
                for one in found.rows
            ],
            instead=entries,
        )
    show_as_of(screen, found)


def _due(one: Owed) -> str:
    from ledger.adapters.cli.words import when

    return "-" if one.due is None else f"{when(one.due)}{' OVERDUE' if one.overdue else ''}"


def _of(one: Owed) -> str:
    return f"position {one.position}, the run is {one.run_status}"
