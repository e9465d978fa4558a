"""`brief`: what somebody must know who takes a run over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.run.brief import Brief

HELP = """Show what somebody must know who takes over a run.

Complete on its own, as Markdown: the goal and how it came to that, where the run stands and what holds it,
the constraints with who asserted them, plan and cursor, what is owed, what was done outside (the last 50 acts
of its lineage; all of them with --json), what nobody knows and how one would find out, what must not be
relied on, what authority is left, whose answer it waits for, and the commands that lead on.

--at shows it as it stood at a position, or at a time with a zone. Nothing is written. Control characters in
stored texts appear escaped; --json holds the exact text.

\b
Examples:
  intent-ledger brief refund-17
  intent-ledger brief refund-17 > takeover.md
  intent-ledger brief refund-17 --at 2026-01-31T09:15:00Z --json
"""


@verb()
def brief(
    call: Call,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="N|TIME", help="At this position or time.", show_default=False),
    ] = None,
) -> None:
    """Show what somebody must know who takes over a run."""
    from ledger.adapters.cli.contract import moment
    from ledger.adapters.cli.ways_out import with_command_lines

    asked = None if at is None else moment(at)
    screen = call.screen
    settings = call.settings
    with call.looking() as opened:
        found = opened.brief(run, at=asked)
        contract = opened.contract(run, at=found.position)
    where = call.where
    if settings.tenant != "default" and "--tenant" not in where:
        # A brief is handed on to somebody whose environment names another tenant.
        where += ("--tenant", settings.tenant)
    found = with_command_lines(found, contract, where)
    if call.as_json:
        screen.document(found.model_dump(mode="json", exclude_none=True))
    else:
        _show(screen, found)


def _show(screen: Screen, found: Brief) -> None:
    """Write the Markdown; a line to be copied is never wrapped."""
    lines = {f"- {line}" for way in found.next for line in way.command_lines}
    for line in found.to_markdown().removesuffix("\n").split("\n"):
        if line in lines:
            screen.command(line)
        else:
            text = line.lstrip(" ")
            screen.entry(text, indent=len(line) - len(text), hang=_hang(text))


def _hang(text: str) -> int:
    """Tell how much deeper further lines of a line stand: below its text, where it begins with a mark."""
    marks = {"## ": 3, "- ": 2, "(": 1}
    return next((deep for mark, deep in marks.items() if text.startswith(mark)), 0)
