"""What rests on what: an assumption or observation matters as long as something open rests on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ledger.run.contract import Contract


def rested_on(contract: Contract) -> frozenset[str]:
    """List the references that something open rests on or the next step needs."""
    refs: set[str] = set(contract.goal.rests_on)
    if contract.plan is not None:
        for step in contract.plan.steps:
            refs.update(step.rests_on)
    for assumption in contract.assumptions:
        if assumption.refuted is None:
            refs.update(assumption.rests_on)
    for effect in contract.effects:
        refs.update(effect.rests_on)
    if contract.cursor is not None:
        refs.update(contract.cursor.needs)
    return frozenset(refs)
