"""What rests on what: an assumption or observation matters as long as something open rests on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ledger.run.keys import check_key

if TYPE_CHECKING:
    from ledger.run.contract import Contract


def rested_on(contract: Contract) -> frozenset[str]:
    """List the references that something open rests on or the next step needs.

    What rests on a refuted assumption is in doubt and counts; the refuted assumption itself rests on nothing.
    """
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
    refs.update(f"observation:{check_key(seen.source)}" for seen in contract.sources)
    _add_through_observations(contract, refs)
    return frozenset(refs)


def _add_through_observations(contract: Contract, refs: set[str]) -> None:
    """Add what the observations rest on that something rests on, and those again."""
    resting = [item for item in contract.observations if item.rests_on]
    grown = bool(resting)
    while grown:
        before = len(refs)
        for item in resting:
            if f"observation:{item.key}" in refs:
                refs.update(item.rests_on)
        grown = len(refs) > before


def resting_on(contract: Contract, ref: str) -> tuple[str, ...]:
    """Name all that rests on a reference, directly or through what rests on it, each once."""
    names: dict[str, None] = {}
    resting: dict[str, list[str]] = {}
    for name, on in _supports(contract):
        names[name] = None
        for one in on:
            resting.setdefault(one, []).append(name)
    found: set[str] = set()
    shaken = [ref]
    while shaken:
        fallen = set(resting.get(shaken.pop(), ())) - found
        found |= fallen
        shaken += fallen
    return tuple(name for name in names if name in found and name != ref)


def _supports(contract: Contract) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what can rest on something, by the name it is told under, and on what."""
    yield "goal", contract.goal.rests_on
    for step in () if contract.plan is None else contract.plan.steps:
        yield f"step:{step.name}", step.rests_on
    if contract.cursor is not None:
        yield "cursor", contract.cursor.needs
    for constraint in contract.constraints:
        if constraint.source is not None:
            key = check_key(constraint.source.stream)
            yield f"constraint:{constraint.id}", (f"observation:{key}",)
    for assumption in contract.assumptions:
        yield f"assumption:{assumption.id}", assumption.rests_on
    for observation in contract.observations:
        yield f"observation:{observation.key}", observation.rests_on
    for effect in contract.effects:
        yield f"effect:{effect.key}", effect.rests_on
