"""`approvals`: which acts wait for a person, across all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.options import JsonOption, LedgerOption, TenantOption

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from projections.views import Requested, View

HELP = """List acts that wait for an answer.

What expires first stands in front. --all lists those too that are answered, or that nobody answered in
time, as long as the act is not done and its run has not ended. The read model `runs` is made and kept for
this, and first catches up with all that is stored.

\b
Exit codes: 0 fine, also where nothing waits, 1 a run cannot be read
and is left out, 3 could not.
Examples:
  intent-ledger approvals
  intent-ledger approvals --all --json
"""


def approvals(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Answered and expired ones, too.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only of this run.", show_default=False)
    ] = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """List requests for approval."""
    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.view_rows import document, end
    from projections import views

    screen = Screen(as_json=as_json)
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened, bar(screen) as progress:
        found = views.approvals(opened, pending=not everything, run=run, progress=progress)
    if as_json:
        screen.document(document("approvals", found))
    else:
        _show(screen, found)
    end(found.left_out)


def _show(screen: Screen, found: View[Requested]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.view_rows import show_as_of
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted, shortened, when

    brief = screen.is_terminal
    if not found.rows:
        screen.note("no act waits for an answer, as far as was asked")
    elif screen.narrow:
        for one in found.rows:
            screen.entry(f"{quoted(one.id)} of {quoted(one.run)}: {one.state}", style="bold")
            asked = f"asked {when(one.at)}, position {one.position}, ends {_ends(one)}{_answered(one)}"
            screen.entry(asked, indent=2, hang=2)
            screen.entry(f"act {shortened(one.key, brief)}", indent=2, hang=2)
            if one.question is not None:
                screen.entry(one_line(one.question, most=150), indent=2, hang=2, style="dim")
    else:
        titles = ("ENDS", "STATE", "RUN", "ID", "POSITION", "ASKED", "ANSWERED BY", "KEY", "QUESTION")
        screen.table(
            [Column(title, right=title == "POSITION") for title in titles],
            [
                (
                    _ends(one),
                    one.state,
                    quoted(one.run),
                    quoted(one.id),
                    str(one.position),
                    when(one.at),
                    "-" if one.answered_by is None else quoted(one.answered_by),
                    shortened(one.key, brief),
                    "-" if one.question is None else one_line(one.question, 120 if brief else None),
                )
                for one in found.rows
            ],
        )
    show_as_of(screen, found)


def _ends(one: Requested) -> str:
    from ledger.adapters.cli.words import when

    return "-" if one.expires_at is None else when(one.expires_at)


def _answered(one: Requested) -> str:
    from ledger.adapters.cli.words import quoted

    return "" if one.answered_by is None else f", answered by {quoted(one.answered_by)}"
