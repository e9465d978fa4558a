"""`suspend`: stop a run until it is resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, TenantOption
from ledger.adapters.cli.saying import ByOption, ReasonOption, RunArgument, say

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run
    from ledger.application.statements import Stated

HELP = """Stop a run until it is resumed.

Its program meets that at its next request: an act, a move of its cursor. What it is doing at this moment on
the outside goes on, and is reported. Reports and remedies are admitted while the run waits; `resume` asks
whether it may go on.

\b
Examples:
  intent-ledger suspend refund-17 --reason "the shop is closed" --by human:kim
  intent-ledger suspend refund-17 --reason "looking into it" --json
"""


def suspend(
    context: typer.Context,
    run: RunArgument,
    reason: ReasonOption,
    by: ByOption = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Suspend a run."""

    def words(opened: Ledger, handle: Run) -> Stated:
        return handle.suspend(reason=reason, by=by)

    say(context, run, words, where={"url": ledger, "tenant": tenant, "actor": actor}, as_json=as_json)
