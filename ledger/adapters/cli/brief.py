"""`brief`: what somebody must know who takes a run over."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.adapters.cli.options import JsonOption, LedgerOption, TenantOption

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


def brief(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="N|TIME", help="At this position or time.", show_default=False),
    ] = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what somebody must know who takes over a run."""
    from ledger.adapters.cli.contract import moment
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen

    asked = None if at is None else moment(at)
    screen = Screen(as_json=as_json)
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened:
        found = opened.brief(run, at=asked)
    if as_json:
        screen.document(found.model_dump(mode="json", exclude_none=True))
    else:
        screen.text(found.to_markdown().removesuffix("\n"))
