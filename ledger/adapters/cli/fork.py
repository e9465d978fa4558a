"""`fork`: open a run that stands where another one stood, to look what else could have been."""

from __future__ import annotations

from typing import Annotated

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, TenantOption
from ledger.adapters.cli.restart import AsOption
from ledger.adapters.cli.saying import ByOption, RunArgument, refusals_in_words

HELP = """Open a run that stands where another one stood.

It is to look what else could have been: it reads what is recorded and performs nothing; it owes nothing and
may do nothing. The other run is as it was.

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
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.words import quoted

    screen = Screen(as_json=as_json)
    settings = settings_of(context, url=ledger, tenant=tenant, actor=actor)
    with open_for_reading(settings) as opened, refusals_in_words():
        contract = opened.fork(run, as_=as_, at=at, by=by, reason=reason).contract
    if as_json:
        fields = contract.model_dump(mode="json", exclude_none=True)
        screen.document(
            {"run": run, "fork": as_, "at": at, "contract": {"status": contract.status, **fields}}
        )
        return
    screen.line(f"Run {quoted(as_)} stands where {quoted(run)} stood at position {at}", style="bold")
    screen.note("it performs nothing; the program joins it with " + f"ledger.run({as_!r})")
