"""`cancel`: end a run that is not wanted any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.saying import ByOption, ReasonOption, RunArgument
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.children import Child
    from ledger.adapters.cli.screen import Screen
    from ledger.application.settling import Unsettled
    from ledger.application.statements import Stated
    from ledger.run.contract import Contract

HELP = """End a run that is not wanted any more, whatever is open.

An act that was on its way is not undone by that, and was not "never started": its worker tells, or nobody
knows whether it happened. Each is listed, with its key and how one finds out; its outcome is admitted also
after the end. An act that waited for a person, or was approved and not sent yet, was never begun, and will
not be: it is listed as that, and nothing of it is in doubt. What the run still owed is listed, too, and its
child runs that have not ended: no act begins in them any more, until a person restarts one.

\b
Exit codes: 0 cancelled; 2 cancelled, and what became of an act is not known;
3 could not run; 4 it has ended otherwise.
Examples:
  intent-ledger cancel refund-17 --reason "paid by hand" --by human:kim
  intent-ledger cancel refund-17 --reason "paid by hand" --json
"""


@verb(actor=True)
def cancel(
    call: Call,
    run: RunArgument,
    reason: ReasonOption,
    by: ByOption = None,
) -> None:
    """Cancel a run."""
    from ledger.adapters.cli.children import children_facts, open_children
    from ledger.adapters.cli.effect_view import facts
    from ledger.adapters.cli.log import as_json_object
    from ledger.application.effect_listing import lease_now

    screen = call.screen
    with call.saying() as opened:
        stated = opened.run(run).close("cancelled", reason=reason, by=by)
        contract = opened.contract(run)
        open_effects = opened.effects(run)
        now = lease_now(opened)
        children = open_children(opened, run)
    in_doubt = [one for one in open_effects if not one.waits]
    if call.as_json:
        screen.document(
            {
                "run": run,
                "position": stated.position,
                "repeated": stated.repeated,
                "status": contract.status,
                "in_doubt": len(in_doubt),
                "effects": [facts(one, now) for one in open_effects],
                "children": children_facts(children),
                "owed": [owed.model_dump(mode="json", exclude_none=True) for owed in contract.obligations],
                "events": [as_json_object(record) for record in stated.records],
            }
        )
    else:
        where = call.where
        _show(screen, stated, _Left(contract, open_effects, children, now), where)
    raise typer.Exit(Exit.CANNOT_TELL if in_doubt else Exit.FINE)


class _Left(NamedTuple):
    """What an ended run leaves behind."""

    contract: Contract
    effects: Sequence[Unsettled]
    children: Sequence[Child]
    now: datetime


def _show(screen: Screen, stated: Stated, left: _Left, where: Sequence[str]) -> None:
    from ledger.adapters.cli.children import show_children
    from ledger.adapters.cli.words import quoted, when

    before = "was cancelled already" if stated.repeated else "is cancelled"
    screen.line(f"Run {quoted(left.contract.run)} {before}, position {stated.position}", style="bold")
    _show_effects(screen, left, where)
    if left.contract.obligations:
        screen.title("Still owed")
        for owed in left.contract.obligations:
            due = "" if owed.due is None else f", due {when(owed.due)}"
            screen.entry(f"{quoted(owed.id)} to {quoted(owed.owed_to)}{due}: {owed.text}", indent=2, hang=2)
    show_children(screen, left.children, "cancel", where)


def _show_effects(screen: Screen, left: _Left, where: Sequence[str]) -> None:
    """Write what was never begun; what a worker is still at, and what nobody knows, each with its way out."""
    from ledger.adapters.cli.effect_view import show_one
    from ledger.adapters.cli.ways_out import settle_by_hand
    from ledger.adapters.cli.words import counted

    never_begun = [one for one in left.effects if one.waits]
    at_work = [one for one in left.effects if one.status == "executing"]
    in_doubt = [one for one in left.effects if one.status != "executing" and not one.waits]
    if never_begun:
        screen.title(f"Never begun: {counted(len(never_begun), 'act')}, of which nothing was sent")
    for one in never_begun:
        show_one(screen, one, left.now)
    for title, some in (
        (f"Still on its way: {counted(len(at_work), 'act')}, of which the worker will tell", at_work),
        (f"Nobody knows what became of {counted(len(in_doubt), 'act')}", in_doubt),
    ):
        if some:
            screen.title(title)
        for one in some:
            show_one(screen, one, left.now)
            for line in settle_by_hand(one.effect.key, left.contract.run, where):
                screen.command(line, indent=2)
    if at_work or in_doubt:
        screen.note("or ask the outside: intent-ledger reconcile --tools MODULE")
