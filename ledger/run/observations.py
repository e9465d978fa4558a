"""Observations: what was seen of the outside, when, and how long it may be relied on."""

from __future__ import annotations

from typing import Any

from ledger.commands import InvalidateObservation, RecordObservation
from ledger.events import ObservationInvalidated, ObservationRecorded
from ledger.record import Record
from ledger.run.contract import WINDOW, Contract, Observation, states
from ledger.run.decision import Decision, Given, admitted, not_open, stands_at, stated
from ledger.run.fold import Changes, brief, placed, replaced, without

MAX_ARGS_LENGTH = 16 * 1024
"""Characters of the longest arguments that a contract holds of an observation, so that it stays small."""


def recorded(contract: Contract, event: ObservationRecorded, record: Record) -> Changes:
    """The observation is the latest under its key, unless a newer one is known."""
    old = find(contract, event.key)
    if old is not None and _seen_before(event, old) and not _takes_its_place(old, record):
        return {}
    view = placed(Observation, event, record, invalidated=None, invalidated_at=None, **_kept(event))
    kept = contract.observations if old is None else without(contract.observations, old)
    return {"observations": (*kept, view)}


def invalidated(contract: Contract, event: ObservationInvalidated, record: Record) -> Changes:
    """The observation is marked as not to be relied on, with the reason."""
    old = find(contract, event.key)
    if old is None:
        return {}
    new = old.with_fields({"invalidated": event.reason, "invalidated_at": record.position})
    return {"observations": replaced(contract.observations, old, new)}


def _kept(event: ObservationRecorded) -> dict[str, Any]:
    """Return the parts of an observation that a contract holds shorter than the record does.

    Arguments are kept as they are or not at all: a digest of them could not be asked with.
    """
    args = event.args
    return {
        "args": args if args is None or len(args) <= MAX_ARGS_LENGTH else None,
        "value": brief(event.value),
    }


def find(contract: Contract, key: str) -> Observation | None:
    """Find the latest observation under a key."""
    return next((item for item in contract.observations if item.key == key), None)


def _seen_before(event: ObservationRecorded, old: Observation) -> bool:
    if old.observed_at is None:
        return False
    return event.observed_at is None or event.observed_at < old.observed_at


SET_BACK = "it was seen at a time that has not come yet: a clock was set back"
"""Why an observation is invalidated by the next one under its key."""


def _takes_its_place(old: Observation, record: Record) -> bool:
    """Tell whether what was told comes in the place of one from the future, which `record` invalidates."""
    return old.invalidated == SET_BACK and old.invalidated_at == record.position - 1


def _is_from_the_future(old: Observation | None, command: RecordObservation, given: Given) -> bool:
    """Tell whether what is known was seen later than now, and what is told was not."""
    if old is None or old.observed_at is None or old.observed_at <= given.now:
        return False
    return command.observed_at <= given.now


def record(contract: Contract, command: RecordObservation, given: Given) -> Decision:
    """Told twice it is one observation, also when a newer one was told between.

    What was seen at a time that has not come yet is no newer one: it is invalidated, and gives way to this.
    """
    event = stated(ObservationRecorded, command)
    old, kept = find(contract, command.key), _kept(event)
    if old is not None and kept["args"] == event.args and states(old, event.with_fields(kept)):
        return stands_at(old.position)
    for prior in given.prior:
        if prior.event == event:
            return stands_at(prior.position)
    if _is_from_the_future(old, command, given):
        return admitted(ObservationInvalidated(key=command.key, reason=SET_BACK), event)
    return admitted(event)


def invalidate(contract: Contract, command: InvalidateObservation, given: Given) -> Decision:
    """An invalidation speaks of what was seen last; the same reason given again for that is a repeat."""
    old = find(contract, command.key)
    if old is not None:
        if old.invalidated_at is not None and old.invalidated == command.reason:
            return stands_at(old.invalidated_at)
        return admitted(stated(ObservationInvalidated, command))
    for prior in reversed(given.prior):
        event = prior.event
        if isinstance(event, ObservationInvalidated) and event.reason == command.reason:
            return stands_at(prior.position)
        if isinstance(event, ObservationRecorded):
            return admitted(stated(ObservationInvalidated, command))
    return not_open("observation", command.key)


def to_look_up(contract: Contract, command: RecordObservation | InvalidateObservation) -> bool:
    """Tell whether only the store knows if this was told before."""
    old = find(contract, command.key)
    if old is None:
        return has_let_go(contract)
    if not isinstance(command, RecordObservation) or old.observed_at is None:
        return False
    # The contract keeps what was seen last; what was seen before may have been told before, too.
    return command.observed_at <= old.observed_at


def has_let_go(contract: Contract) -> bool:
    """Tell whether the run may have made observations that the contract no longer holds."""
    return len(contract.observations) >= WINDOW
