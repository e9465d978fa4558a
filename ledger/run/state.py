"""The one fold: from the events of a run to its contract.

It reads no clock, draws no random number, calls no tool and runs no user code; the contract at a position is
a function of the events up to it, with or without snapshots. Every event has its place in `FOLDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ledger import events as e
from ledger.record import Record, broken, undecodable
from ledger.run import (
    approvals,
    assumptions,
    authority,
    constraints,
    effects,
    execution,
    goal,
    lifecycle,
    meanwhile,
    obligations,
    observations,
    reviews,
    states,
)
from ledger.run.contract import Contract
from ledger.run.fold import Changes
from ledger.run.release import RELEASING, released
from ledger.run.terms import changed_at, same_terms, with_terms

FOLD = "6"
"""Version of the fold. It changes whenever the same events would yield another contract; snapshots made by
another version are passed over."""

FOLDS: dict[type[e.Event], Callable[[Contract, Any, Record], Changes]] = {
    e.RunSuspended: lifecycle.suspended,
    e.RunResumed: lifecycle.resumed,
    e.ResumeRefused: lifecycle.resume_refused,
    e.RunForked: lifecycle.forked,
    e.RunRestarted: lifecycle.restarted,
    e.RunClosed: lifecycle.closed,
    e.GoalRevised: goal.revised,
    e.PlanCommitted: goal.planned,
    e.PlanRevised: goal.planned,
    e.ConstraintAccepted: constraints.accepted,
    e.ConstraintWithdrawn: constraints.withdrawn,
    e.RevisionAcknowledged: constraints.acknowledged,
    e.AssumptionMade: assumptions.made,
    e.AssumptionRefuted: assumptions.refuted,
    e.ObligationOpened: obligations.opened,
    e.ObligationDischarged: obligations.ended,
    e.ObligationWaived: obligations.ended,
    e.ObligationTransferred: obligations.ended,
    e.AuthorityGranted: authority.granted,
    e.AuthorityRenewed: authority.renewed,
    e.AuthorityRevoked: authority.revoked,
    e.AuthorityCarved: authority.carved,
    e.AuthorityReturned: authority.returned,
    e.ObservationRecorded: observations.recorded,
    e.ObservationInvalidated: observations.invalidated,
    e.ApprovalRequested: approvals.requested,
    e.ApprovalAnswered: approvals.answered,
    e.EffectIntended: effects.intended,
    e.EffectStarted: effects.started,
    e.EffectSucceeded: effects.succeeded,
    e.EffectFailed: effects.failed,
    e.EffectUnknown: effects.unknown,
    e.EffectReconciled: effects.reconciled,
    e.EffectDisputed: effects.disputed,
    e.EffectCompensated: effects.compensated,
    e.EffectRefused: effects.refused,
    e.CursorMoved: execution.moved,
    e.MessageRecorded: execution.said,
    e.MessagesSummarised: execution.summarised,
    e.StateSaved: states.saved,
    e.StatePartSaved: states.part_saved,
    e.StatesDropped: states.dropped,
    e.RuntimeAdopted: execution.adopted,
    e.ReviewSigned: reviews.signed,
}
"""What each event of a run does to its contract. RunOpened begins one; source streams have their own fold."""

_CHANGE_TERMS = frozenset(
    {
        e.GoalRevised,
        e.ConstraintAccepted,
        e.ConstraintWithdrawn,
        e.AuthorityGranted,
        e.AuthorityRenewed,
        e.AuthorityRevoked,
    }
)


def evolve(contract: Contract | None, record: Record) -> Contract:
    """Apply one record of a run to its contract; None is the run before its first event.

    Raises:
        ChainBroken: the record does not stand right after the contract.
        UndecodableRecord: the event has no meaning there, e.g. a run that is opened twice.
    """
    return _completed(_step(_own(contract), record))


def replay(
    records: Iterable[Record],
    contract: Contract | None = None,
    watch: Callable[[Contract, Record], None] | None = None,
) -> Contract | None:
    """Apply records one after another, on top of a contract or from the beginning.

    `watch` is shown the contract after each record. It is changed by the next one, so that nobody may keep
    it, and what is computed at the end only (the digest of changed terms, signs of life) is not right yet.
    """
    contract = _own(contract)
    for record in records:
        contract = _step(contract, record)
        if watch is not None:
            watch(contract, record)
    # Only the terms that stand in the end are ever read, so only their digest is computed.
    return None if contract is None else _completed(contract)


def _completed(contract: Contract) -> Contract:
    """Complete what steps leave open."""
    return with_terms(meanwhile.with_alive(contract))


def _own(contract: Contract | None) -> Contract | None:
    """Copy a contract, so that it can be folded on without anybody seeing it change."""
    return None if contract is None else contract.with_fields({})


def _step(contract: Contract | None, record: Record) -> Contract:
    """Apply one record to a contract that nobody else holds, leaving open the digest of changed terms, and
    the sign of life that a record is.

    The contract is changed in place, since copying it for each of many records would cost a third of a
    replay's fold. What an event does is computed from the contract before it, and applied at once.
    """
    event = record.event
    kind = type(event)
    if contract is None:
        if kind is not e.RunOpened or record.position != 1:
            raise undecodable(record.run, record.position, f"a run cannot begin with {record.name}")
        return lifecycle.opened(event, record)  # type: ignore[arg-type]
    _follows(contract, record)
    fold = FOLDS.get(kind)
    if fold is None:
        raise undecodable(record.run, record.position, f"{record.name} has no place inside a run")
    changes = fold(contract, event, record)
    changes.update(meanwhile.noted(contract, event, record))
    if kind in _CHANGE_TERMS and not same_terms(contract, changes):
        changes["terms"] = changed_at(record.position)
    changes["position"] = record.position
    changes["hash"] = record.hash.hex()
    changes["at"] = record.at
    contract.__dict__.update(changes)
    return released(contract) if kind in RELEASING else contract


def _follows(contract: Contract, record: Record) -> None:
    """Check that a record stands right after a contract: same run, next position, chained to its hash."""
    if record.position != contract.position + 1:
        raise broken(record.run, contract.position + 1, f"the next record is at position {record.position}")
    if record.run != contract.run or record.tenant != contract.tenant:
        raise broken(record.run, record.position, f"the contract is that of run {contract.run!r}")
    if record.prev.hex() != contract.hash:
        raise broken(record.run, record.position, "the record does not follow the one before it")
