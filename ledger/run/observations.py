"""Observations: what was seen of the outside, when, and how long it may be relied on."""

from __future__ import annotations

from ledger.commands import InvalidateObservation, RecordObservation
from ledger.events import ObservationInvalidated, ObservationRecorded
from ledger.record import Record
from ledger.run.contract import Contract, Observation, states
from ledger.run.decision import Decision, Given, admitted, not_open, stands_at, stated
from ledger.run.fold import Changes, brief, placed, replaced, without


def recorded(contract: Contract, event: ObservationRecorded, record: Record) -> Changes:
    """The observation is the latest under its key, unless a newer one is known."""
    old = find(contract, event.key)
    if old is not None and _seen_before(event, old):
        return {}
    view = placed(Observation, event, record, invalidated=None, invalidated_at=None, value=brief(event.value))
    kept = contract.observations if old is None else without(contract.observations, old)
    return {"observations": (*kept, view)}


def invalidated(contract: Contract, event: ObservationInvalidated, record: Record) -> Changes:
    """The observation is marked as not to be relied on, with the reason."""
    old = find(contract, event.key)
    if old is None:
        return {}
    new = old.with_fields({"invalidated": event.reason, "invalidated_at": record.position})
    return {"observations": replaced(contract.observations, old, new)}


def find(contract: Contract, key: str) -> Observation | None:
    """Find the latest observation under a key."""
    return next((item for item in contract.observations if item.key == key), None)


def _seen_before(event: ObservationRecorded, old: Observation) -> bool:
    if old.observed_at is None:
        return False
    return event.observed_at is None or event.observed_at < old.observed_at


def record(contract: Contract, command: RecordObservation, given: Given) -> Decision:
    """Told twice at the same moment it is one observation."""
    event = stated(ObservationRecorded, command)
    old = find(contract, command.key)
    if old is not None and states(old, event.with_fields({"value": brief(event.value)})):
        return stands_at(old.position)
    prior = given.prior
    if prior is not None and prior.event == event:
        return stands_at(prior.position)
    return admitted(event)


def invalidate(contract: Contract, command: InvalidateObservation, given: Given) -> Decision:
    old = find(contract, command.key)
    known = old is not None or (
        given.prior is not None and isinstance(given.prior.event, ObservationRecorded)
    )
    if not known:
        return not_open("observation", command.key)
    if old is not None and old.invalidated_at is not None and old.invalidated == command.reason:
        return stands_at(old.invalidated_at)
    return admitted(stated(ObservationInvalidated, command))
