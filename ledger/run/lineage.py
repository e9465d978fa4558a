"""Lineage: what a successor, a fork and a child take over alike from the run they come from.

All of it is one append: a successor begins as its predecessor ends, a child as its parent owes what it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ledger.events import (
    AssumptionMade,
    ConstraintAccepted,
    Event,
    Parent,
    RevisionAcknowledged,
    RunOpened,
)
from ledger.run.authority import left
from ledger.run.contract import Contract, Grant
from ledger.run.decision import (
    Refusal,
)
from ledger.values import Source


def exists(taken: Contract) -> Refusal:
    return Refusal(
        "run_exists",
        f"run {taken.run!r} was opened on {taken.opened_at:%Y-%m-%d %H:%M:%S} and is {taken.status}; "
        "choose another id",
        position=1,
        evidence={"run": taken.run, "status": taken.status},
    )


def going_on_from(run: Contract, others: Mapping[str, Contract]) -> Contract:
    """Find who succeeds a run, and who succeeds that one, as far as there are any."""
    for _ in others:
        heir = (
            None if run.closed is None or run.closed.successor is None else others.get(run.closed.successor)
        )
        if heir is None:
            break
        run = heir
    return run


def of_a_fork(contract: Contract, what: str) -> Refusal:
    """Refuse to let perform what comes of a fork, which left its authority and what it owes behind."""
    reason = f"{contract.run!r} is a fork of {contract.fork_of!r}: it performs nothing, and {what}"
    return Refusal("effects_disabled", reason, evidence={"run": contract.run, "origin": contract.fork_of})


def begun_from(
    contract: Contract, relation: str, position: int, goal: str | None, rests_on: tuple[str, ...]
) -> RunOpened:
    parent = Parent.unchecked(
        {"position": position, "relation": relation, "root": contract.root, "run": contract.run}
    )
    return RunOpened(
        goal=contract.goal.text if goal is None else goal,
        labels=contract.labels,
        limits=contract.limits,
        owner=contract.owner,
        parent=parent,
        # A fork performs nothing, with or without a grant.
        require_authority=contract.authority_needed and relation != "fork",
        rests_on=rests_on,
        runtime=contract.runtime,
        thread=contract.thread,
    )


def again(kind: type[Event], view: Any, **changes: Any) -> Any:
    """State anew what a view of a contract holds."""
    return kind.unchecked({name: changes.get(name, getattr(view, name)) for name in kind.model_fields})


def constraints(contract: Contract, dropped: Mapping[str, str], by: str) -> Iterable[Event]:
    """State the constraints as they were accepted, and how far their sources were read since.

    What the sources said after that is still to be looked at.
    """
    kept = [item for item in contract.constraints if f"constraint:{item.id}" not in dropped]
    for item in kept:
        yield again(ConstraintAccepted, item, change=None, supersedes=None)
    for seen in contract.sources:
        own = [item for item in kept if item.source is not None and item.source.stream == seen.source]
        if any((item.source_position or 0) < seen.position for item in own):
            kind, _, name = seen.source.partition(":")
            yield RevisionAcknowledged(
                by=by,
                reason=f"as {contract.run!r} states at its position {seen.stated_at}",
                source=Source(kind, name, revision=seen.revision),
                source_position=seen.position,
            )


def assumptions(contract: Contract, dropped: Mapping[str, str]) -> Iterable[Event]:
    for item in contract.assumptions:
        if f"assumption:{item.id}" not in dropped:
            yield again(AssumptionMade, item)


def rest_of(grant: Grant) -> Any:
    if grant.budget is None:
        return None
    return type(grant.budget)((unit, left(grant, unit)) for unit in grant.budget)
