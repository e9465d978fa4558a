"""`suspend`: stop a run until it is resumed."""

from __future__ import annotations

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, TenantOption
from ledger.adapters.cli.saying import (
    ByOption,
    ReasonOption,
    RunArgument,
    given_where,
    refusals_in_words,
    show,
)

HELP = """Stop a run until it is resumed.

Its program meets that at its next request: an act, a move of its cursor. What it is doing at this moment on
the outside goes on, and is reported. Reports and remedies are admitted while the run waits; `resume` asks
whether it may go on. Its child runs go on; those that do are named.

It is no lock: an agent's program that is started again asks the gate, and goes on where nothing else is
against it. What keeps a run stopped until a person says otherwise is a grant that is revoked; `cancel` ends
a run.

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
    from ledger.adapters.cli.children import children_facts, open_children, show_children
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen

    screen = Screen(as_json=as_json)
    settings = settings_of(context, url=ledger, tenant=tenant, actor=actor)
    with open_for_reading(settings) as opened, refusals_in_words():
        stated = opened.run(run).suspend(reason=reason, by=by)
        status = opened.contract(run).status
        going_on = [
            child for child in open_children(opened, run) if child.status in ("open", "cannot be read")
        ]
    show(screen, run, stated, status, {"children": children_facts(going_on)})
    if not as_json:
        show_children(screen, going_on, "suspend", given_where(settings, context, ledger, tenant))
