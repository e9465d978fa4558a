"""The history of one effect: everything a lineage recorded under its key, folded to what is known of it.

A contract holds what is unsettled and lets go of the rest, so that it stays small. What became of a settled
effect is found by its key in the store, across all runs of the lineage, and folded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ledger.events import (
    EffectCompensated,
    EffectDisputed,
    EffectFailed,
    EffectIntended,
    EffectReconciled,
    EffectStarted,
    EffectSucceeded,
    EffectUnknown,
    Event,
)
from ledger.record import Record
from ledger.run.decision import acting
from ledger.run.known import (
    SAID,
    SETTLE_SECONDS,
    WHAT,
    EffectHistory,
    Finding,
    Status,
    Told,
    in_doubt_before,
    is_only_intended,
    said,
    shorter,
)

__all__ = ["SETTLE_SECONDS", "EffectHistory", "Finding", "Told", "history_of"]

Changes = dict[str, Any]


def history_of(key: str, records: Iterable[Record]) -> EffectHistory | None:
    """Fold the records under a key, in global order; None where nothing was intended under it."""
    found: EffectHistory | None = None
    aside: dict[str, Record] = {}
    for record in records:
        event = record.event
        # What stands under the digest of the key is of this key unless 16 bytes of SHA-256 collide.
        if getattr(event, "key", None) != key:
            continue
        if isinstance(event, EffectIntended):
            aside.pop(record.run, None)
            if found is None or (event.act == found.act and _may_wait(found)):
                found = _intended(found, event, record)
            else:
                aside[record.run] = record
        elif found is not None and type(event) in _FOLDS:
            before = aside.pop(record.run, None) if isinstance(event, EffectStarted) else None
            if before is not None:
                found = _begun(found, before)
            found = found.with_fields(_FOLDS[type(event)](found, event, record))
    return found


def _begun(known: EffectHistory, record: Record) -> EffectHistory:
    """Take the intention that was kept aside, since it was begun.

    Two runs may give one name to two acts at one moment, where one of them waits. It stands for the first of
    them, until the other is begun.
    """
    event = record.event
    assert isinstance(event, EffectIntended)
    if event.act == known.act:
        return _intended(known, event, record)
    return _intended(None, event, record) if known.attempt == 0 else known


def _may_wait(known: EffectHistory) -> bool:
    """Tell whether an intention makes an act pending before it is started.

    One that is done, or that another run has under way meanwhile, is not made pending by a run that asks a
    person about it: only a start says more of it than is known.
    """
    return known.status in ("failed", "did_not_happen") or is_only_intended(known) or not known.witnessed


def _intended(old: EffectHistory | None, event: EffectIntended, record: Record) -> EffectHistory:
    fields: Changes = {
        "act": event.act,
        "args": event.args,
        "args_in_full": event.args_in_full,
        "at": record.at,
        "dedupes_for": event.dedupes_for,
        "intended_by": acting(record.actor),
        "key": event.key,
        "max_attempts": event.max_attempts,
        "occurrence": event.occurrence,
        "position": record.position,
        "recovery": event.recovery,
        "repeat_reason": event.repeat_reason,
        "resource": event.resource,
        "run": record.run,
        "settle_seconds": event.settle_seconds,
        "status": "pending",
        "step": event.step,
        "tool": event.tool,
        "tool_schema": event.tool_schema,
        "undone_by": event.undone_by,
        "witnessed": event.witnessed,
    }
    if old is None:
        first = {"intended_at": record.at, "intended_in": record.run, "intended_position": record.position}
        fields |= {"attempt": 0, **first}
        return EffectHistory.unchecked({name: fields.get(name, default) for name, default in _FIELDS})
    fields["findings_before"] = len(old.findings)
    if old.is_settled:
        return old.with_fields({**fields, **_AFRESH})
    fields["dedupes_for"] = shorter(old.dedupes_for, event.dedupes_for)
    return old.with_fields(fields)


_FIELDS = tuple((name, field.default) for name, field in EffectHistory.model_fields.items())

_AFRESH: Changes = {
    "cost": None,
    "error": None,
    "external_ref": None,
    "first_sent_at": None,
    "result": None,
    "settled_attempt": None,
    "since_attempt": 0,
}
"""After a settled attempt: what was sent and answered then has no part in what is sent from here on."""


def _moved(old: EffectHistory, status: Status, record: Record, **more: Any) -> Changes:
    place = {"at": record.at, "position": record.position, "run": record.run}
    return {"findings_before": len(old.findings), "status": status, **place, **more}


def _doubted(old: EffectHistory, record: Record, **more: Any) -> Changes:
    """Open a dispute; one that is open stays as it was opened."""
    return more if old.status == "disputed" else _moved(old, "disputed", record, **more)


def _started(old: EffectHistory, event: EffectStarted, record: Record) -> Changes:
    return _moved(
        old,
        "executing",
        record,
        attempt=event.attempt,
        first_sent_at=old.first_sent_at or record.at,
        lease_until=event.lease_until,
        sent_until=None,
        since_attempt=old.since_attempt or event.attempt,
        started_in=record.run,
        worker=event.worker,
    )


def _told(old: EffectHistory, event: Event, record: Record) -> Changes:
    names = zip(SAID, said(event), strict=True)
    place = {"at": record.at, "position": record.position, "run": record.run}
    one = Told.unchecked({**dict(names), **place, "what": WHAT[type(event)]})
    return {"told": (*old.told, one)}


def _filled(old: EffectHistory, event: EffectSucceeded | EffectReconciled) -> Changes:
    """Take what was not known yet: what was found to have happened may get its result later."""
    told = {"cost": event.cost, "external_ref": event.external_ref, "result": event.result}
    return {name: value for name, value in told.items() if getattr(old, name) is None and value is not None}


def _succeeded(old: EffectHistory, event: EffectSucceeded, record: Record) -> Changes:
    words = {**_told(old, event, record), **_filled(old, event)}
    if old.status == "disputed" or old.is_denied_by_success(event.attempt):
        return _doubted(old, record, **words)
    if old.status == "succeeded":
        return words
    attempt = max(old.attempt, event.attempt)
    return _moved(old, "succeeded", record, attempt=attempt, settled_attempt=event.attempt, **words)


def _failed(old: EffectHistory, event: EffectFailed, record: Record) -> Changes:
    words = _told(old, event, record)
    if is_only_intended(old):
        return words  # it was not begun, so it waits on
    if old.is_denied_by_failure(event.attempt):
        return _doubted(old, record, **words)
    if old.is_settled or old.status == "disputed" or event.attempt < old.attempt:
        return words
    words |= {"attempt": max(old.attempt, event.attempt), "error": event.error}
    if in_doubt_before(old.since_attempt, event.attempt):
        return _moved(old, "unknown", record, sent_until=record.at, **words)
    cost = old.cost if event.cost is None else event.cost
    return _moved(old, "failed", record, cost=cost, settled_attempt=event.attempt, **words)


def _unknown(old: EffectHistory, event: EffectUnknown, record: Record) -> Changes:
    words = _told(old, event, record)
    if old.is_settled or old.status == "disputed" or event.attempt < old.attempt or is_only_intended(old):
        return words
    if event.because in ("raised", "stopped"):
        # Only the worker itself knows that it sends nothing more.
        words["sent_until"] = record.at
    if event.error is not None:
        words["error"] = event.error
    return _moved(old, "unknown", record, attempt=max(old.attempt, event.attempt), **words)


def _reconciled(old: EffectHistory, event: EffectReconciled, record: Record) -> Changes:
    found: Changes = {"findings": (*old.findings, _finding(event, record))}
    happened = event.found == "happened"
    if happened:
        found |= _filled(old, event)
    if old.is_denied_by(event.found, event.attempt):
        return _doubted(old, record, **found)
    if old.is_settled:
        return found
    if event.attempt < old.attempt and not (happened and not old.is_late(event.attempt)):
        return _doubted(old, record, **found) if happened else found
    if event.found == "unknown":
        # Having asked in vain ends no lease: what time makes of it is derived.
        doubted = old.status == "pending" and not is_only_intended(old)
        return _moved(old, "unknown", record, **found) if doubted else found
    if happened:
        return _moved(old, "succeeded", record, settled_attempt=event.attempt, **found)
    nothing: Changes = {"cost": None, "external_ref": None, "result": None}
    return _moved(old, "did_not_happen", record, settled_attempt=event.attempt, **nothing, **found)


def _finding(event: EffectReconciled, record: Record) -> Finding:
    words = {name: getattr(event, name) for name in ("attempt", "by", "evidence", "found", "method")}
    return Finding.unchecked({"at": record.at, "position": record.position, "run": record.run, **words})


def _disputed(old: EffectHistory, event: EffectDisputed, record: Record) -> Changes:
    more: Changes = {"attempt": max(old.attempt, event.attempt)}
    if old.result is None and event.reported in ("happened", "succeeded"):
        more["result"] = event.result
    return _doubted(old, record, **more)


def _compensated(old: EffectHistory, event: EffectCompensated, record: Record) -> Changes:
    return {"compensated_by": event.undone_by}


_FOLDS: dict[type[Event], Callable[[EffectHistory, Any, Record], Changes]] = {
    EffectStarted: _started,
    EffectSucceeded: _succeeded,
    EffectFailed: _failed,
    EffectUnknown: _unknown,
    EffectReconciled: _reconciled,
    EffectDisputed: _disputed,
    EffectCompensated: _compensated,
}
