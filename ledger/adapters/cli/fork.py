"""`fork`: open a run that stands where another one stood, to look what else could have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, TenantOption
from ledger.adapters.cli.restart import AsOption
from ledger.adapters.cli.saying import ByOption, RunArgument, given_where, refusals_in_words

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger

HELP = """Open a run that stands where another one stood.

It is to look what else could have been: it reads what is recorded and performs nothing; it owes nothing and
may do nothing. The other run is as it was. What the gate would say of the fork now is told, too.

\b
Examples:
  intent-ledger fork refund-17 --as what-if --at 12
  intent-ledger fork refund-17 --as what-if --at 12 --json
"""


def fork(
    context: typer.Context,
    run: RunArgument,
    as_: AsOption,
    at: Annotated[
        int, typer.Option("--at", metavar="N", min=1, help="Where the other one stood.", show_default=False)
    ],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
    by: ByOption = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fork a run."""
    from ledger.adapters.cli.contract_view import contract_facts
    from ledger.adapters.cli.foretelling import foretold, show_foretold
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.words import quoted

    screen = Screen(as_json=as_json)
    settings = settings_of(context, url=ledger, tenant=tenant, actor=actor)
    with open_for_reading(settings) as opened, refusals_in_words():
        is_new = not _is_there(opened, as_)
        contract = opened.fork(run, as_=as_, at=at, by=by, reason=reason).contract
        asked = foretold(opened, run, as_)
    if as_json:
        screen.document(
            {
                "run": run,
                "fork": as_,
                "at": at,
                "repeated": not is_new,
                "contract": contract_facts(contract),
                "gate": None if asked is None else asked.document,
            }
        )
        return
    before = "stands" if is_new else "was there already, and began"
    screen.line(f"Run {quoted(as_)} {before} where {quoted(run)} stood at position {at}", style="bold")
    screen.note("it performs nothing: it is there to be looked at")
    show_foretold(screen, asked, given_where(settings, context, ledger, tenant))


def _is_there(opened: Ledger, run: str) -> bool:
    from ledger.errors import RunNotFound

    try:
        opened.contract(run)
    except RunNotFound:
        return False
    return True
