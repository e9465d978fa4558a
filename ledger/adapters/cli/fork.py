"""`fork`: open a run that stands where another one stood, to look what else could have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.restart import AsOption
from ledger.adapters.cli.saying import ByOption, RunArgument
from ledger.adapters.cli.verbs import Call, verb

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


@verb(actor=True)
def fork(
    call: Call,
    run: RunArgument,
    as_: AsOption,
    at: Annotated[
        int, typer.Option("--at", metavar="N", min=1, help="Where the other one stood.", show_default=False)
    ],
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
    by: ByOption = None,
) -> None:
    """Fork a run."""
    from ledger.adapters.cli.contract_view import contract_facts
    from ledger.adapters.cli.foretelling import foretold, show_foretold
    from ledger.adapters.cli.words import quoted

    screen = call.screen
    with call.saying() as opened:
        is_new = not _is_there(opened, as_)
        contract = opened.fork(run, as_=as_, at=at, by=by, reason=reason).contract
        asked = foretold(opened, run, as_)
    if call.as_json:
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
    show_foretold(screen, asked, call.where)


def _is_there(opened: Ledger, run: str) -> bool:
    from ledger.errors import RunNotFound

    try:
        opened.contract(run)
    except RunNotFound:
        return False
    return True
