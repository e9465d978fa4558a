"""`suspend`: stop a run until it is resumed."""

from __future__ import annotations

from ledger.adapters.cli.saying import (
    ByOption,
    ReasonOption,
    RunArgument,
    show,
)
from ledger.adapters.cli.verbs import Call, verb

HELP = """Stop a run until it is resumed.

Its program meets that at its next request: an act, a move of its cursor. What it is doing at this moment on
the outside goes on, and is reported. Reports and remedies are admitted while the run waits; `resume` asks
whether it may go on. Where a person asks, or a service that is not its program, its child runs begin no act
until it goes on; an agent, and its own program, which may wait for them, stop it alone. No child is suspended
itself, and those that are open are named.

It is no lock: an agent's program that is started again asks the gate, and goes on where nothing else is
against it. What keeps a run stopped until a person says otherwise is a grant that is revoked; `cancel` ends
a run.

\b
Examples:
  intent-ledger suspend refund-17 --reason "the shop is closed" --by human:kim
  intent-ledger suspend refund-17 --reason "looking into it" --json
"""


@verb(actor=True)
def suspend(
    call: Call,
    run: RunArgument,
    reason: ReasonOption,
    by: ByOption = None,
) -> None:
    """Suspend a run."""
    from ledger.adapters.cli.children import children_facts, open_children, show_children

    screen = call.screen
    with call.saying() as opened:
        stated = opened.run(run).suspend(reason=reason, by=by)
        contract = opened.contract(run)
        going_on = [
            child for child in open_children(opened, run) if child.status in ("open", "cannot be read")
        ]
    show(screen, run, stated, contract.status, {"children": children_facts(going_on)})
    if not call.as_json:
        stop = contract.suspended
        go_on = stop is not None and not stop.reaches_children
        show_children(screen, going_on, "suspend", call.where, go_on=go_on)
