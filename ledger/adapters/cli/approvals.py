"""`approvals`: which acts wait for a person, across all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from projections.views import Requested, View

HELP = """List acts that wait for an answer.

Each with its arguments, the question, who asked (and cannot answer), and until when it may be answered. What
expires first stands in front. --all lists those too that are answered, that nobody answered in time, and that
bind no more, since terms, plan or runtime changed: `void`; as long as the act is not done and its run has
not ended. `approval ID` shows all of one, `approve ID` and `deny ID` answer it.

The read model `runs` is made and kept for this, and first catches up with all that is stored.

\b
Exit codes: 0 fine, also where nothing waits, 1 a run cannot be read
and is left out, 3 could not.
Examples:
  intent-ledger approvals
  intent-ledger approvals --all --json
"""


@verb()
def approvals(
    call: Call,
    everything: Annotated[bool, typer.Option("--all", help="Answered, expired and void ones, too.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only of this run.", show_default=False)
    ] = None,
) -> None:
    """List requests for approval."""
    from ledger.adapters.cli.approval_view import facts
    from ledger.adapters.cli.catching_up import bar
    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.view_rows import document, end
    from projections import views

    screen = call.screen
    with call.reading() as opened, bar(screen) as progress:
        note_unknown_tenant(opened, screen)
        every = views.approvals(opened, run=run, progress=progress)
    found = every if everything else _waiting(every)
    if call.as_json:
        screen.document({**document("approvals", found), "approvals": [facts(one) for one in found.rows]})
    else:
        _show(screen, found)
        _hint(screen, every, found)
    end(found.left_out)


def _waiting(every: View[Requested]) -> View[Requested]:
    return every._replace(rows=[one for one in every.rows if one.state == "pending"])


def _show(screen: Screen, found: View[Requested]) -> None:
    from ledger.adapters.cli.approval_view import act_words, lines, state_words
    from ledger.adapters.cli.effect_view import approval_id
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.view_rows import show_as_of
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted, when

    brief = screen.is_terminal
    most = 120 if brief else None
    if not found.rows:
        screen.note("no act waits for an answer, as far as was asked")
    elif brief:
        for one in found.rows:
            screen.entry(f"{act_words(one)} of {quoted(one.run)}: {state_words(one, most)}", style="bold")
            screen.entry(f"approval {approval_id(one.id, brief=True)}", indent=2, hang=2)
            for line in lines(one, brief=True):
                screen.entry(line, indent=2, hang=2)
    else:
        screen.table(
            [Column(title, right=title == "POSITION") for title in _TITLES],
            [
                (
                    "-" if one.expires_at is None else when(one.expires_at),
                    one.state,
                    quoted(one.run),
                    (one.tool and quoted(one.tool)) or "-",
                    (one.step and quoted(one.step)) or "-",
                    "-" if one.args is None else one_line(one.args, _MOST),
                    (one.requested_by and quoted(one.requested_by)) or "-",
                    when(one.at),
                    str(one.position),
                    (one.answered_by and quoted(one.answered_by)) or "-",
                    quoted(one.id),
                    "-" if one.void is None else one_line(one.void),
                    "-" if one.question is None else one_line(one.question),
                )
                for one in found.rows
            ],
        )
    show_as_of(screen, found)


_MOST = 120
"""Characters of arguments in a cell; `approval ID` and JSON have them whole."""
_TITLES = (
    "ENDS",
    "STATE",
    "RUN",
    "TOOL",
    "STEP",
    "ARGUMENTS",
    "ASKED FOR",
    "ASKED",
    "POSITION",
    "ANSWERED BY",
    "ID",
    "VOID BECAUSE",
    "QUESTION",
)


def _hint(screen: Screen, every: View[Requested], found: View[Requested]) -> None:
    hidden = len(every.rows) - len(found.rows)
    if hidden:
        screen.note(f"{hidden:,} more are answered, expired or void: --all")
    if any(one.state == "pending" for one in found.rows):
        screen.note("all of one: intent-ledger approval ID; answer it: intent-ledger approve ID, deny ID")
