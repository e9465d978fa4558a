"""Observations: what was seen of the outside, when, and how long it may be relied on."""

from __future__ import annotations

import hashlib

from ledger.commands import InvalidateObservation, RecordObservation
from ledger.events import ObservationInvalidated, ObservationRecorded
from ledger.record import Record
from ledger.run.contract import WINDOW, Contract, Observation, rested_on, states
from ledger.run.decision import Decision, Given, admitted, not_open, stands_at
from ledger.run.fold import Changes, placed, replaced
from ledger.values import Payload

_INLINE_CHARACTERS = 1024


def recorded(contract: Contract, event: ObservationRecorded, record: Record) -> Changes:
    """Keep the latest under each key: those that something open rests on, and the last of the others."""
    view = placed(Observation, event, record, invalidated=None).model_copy(
        update={"value": _brief(event.value)}
    )
    kept = tuple(item for item in contract.observations if item.key != event.key)
    if len(kept) >= WINDOW:
        rested = rested_on(contract)
        free = [item for item in kept if f"observation:{item.key}" not in rested]
        gone = set(map(id, free[: max(0, len(free) - WINDOW + 1)]))
        kept = tuple(item for item in kept if id(item) not in gone)
    return {"observations": (*kept, view)}


def invalidated(contract: Contract, event: ObservationInvalidated, record: Record) -> Changes:
    old = next((item for item in contract.observations if item.key == event.key), None)
    if old is None:
        return {}
    new = old.model_copy(update={"invalidated": event.reason})
    return {"observations": replaced(contract.observations, old, new)}


def _brief(value: Payload) -> Payload:
    """Name a long value by its digest, so that a contract stays small; the record holds all of it."""
    text = value.json_text
    if text is None or len(text) <= _INLINE_CHARACTERS:
        return value
    content = text.encode()
    return Payload(digest=hashlib.sha256(content).hexdigest(), size=len(content))


def record(contract: Contract, command: RecordObservation, given: Given) -> Decision:
    """Told twice at the same moment it is one observation."""
    event = ObservationRecorded(
        args_digest=command.args_digest,
        cost=command.cost,
        fresh_for=command.fresh_for,
        key=command.key,
        observed_at=command.observed_at,
        occurrence=command.occurrence,
        rests_on=command.rests_on,
        runtime=command.runtime,
        step=command.step,
        tool=command.tool,
        value=command.value,
    )
    brief = event.model_copy(update={"value": _brief(event.value)})
    old = next((item for item in contract.observations if item.key == command.key), None)
    if old is not None and states(old, brief):
        return stands_at(old.position)
    return admitted(event)


def invalidate(contract: Contract, command: InvalidateObservation, given: Given) -> Decision:
    old = next((item for item in contract.observations if item.key == command.key), None)
    known = old is not None or (
        given.prior is not None and isinstance(given.prior.event, ObservationRecorded)
    )
    if not known:
        return not_open("observation", command.key)
    if old is not None and old.invalidated == command.reason:
        return stands_at(old.position)
    return admitted(ObservationInvalidated(by=command.by, key=command.key, reason=command.reason))
