"""The history of one effect: everything a lineage recorded under its key, folded to what is known of it.

A contract holds what is unsettled and lets go of the rest, so that it stays small. What became of a settled
effect is found by its key in the store, across all runs of the lineage, and folded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Literal

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
from ledger.values import (
    Amounts,
    AtLeastOne,
    CanonicalJson,
    Count,
    ErrorSaid,
    Flag,
    Id,
    Instant,
    Party,
    Payload,
    Position,
    Recovery,
    RunId,
    Seconds,
    Sha256,
    Text,
    Value,
)

SETTLE_SECONDS = 30
"""How long a request that was sent may still land, where its tool says nothing else."""

Status = Literal["pending", "executing", "succeeded", "failed", "did_not_happen", "unknown", "disputed"]


class Finding(Value):
    """What somebody found out, or tried to find out, about an effect."""

    at: Instant
    by: Party | None = None
    evidence: Text
    found: Literal["did_not_happen", "happened", "unknown"]
    method: Literal["late_outcome", "person", "probe", "redelivery"]
    position: Position
    run: RunId


class EffectHistory(Value):
    """What is known of one effect. Times are the ledger's."""

    act: Sha256
    args: CanonicalJson
    at: Instant
    """When its status last changed."""
    attempt: Count
    """Number of the last attempt; 0 where none was started."""
    compensated_by: Sha256 | None = None
    cost: Amounts | None = None
    dedupes_for: Seconds | None = None
    error: ErrorSaid | None = None
    """What the outside said when it refused, or what was raised before nobody knew."""
    external_ref: Id | None = None
    findings: tuple[Finding, ...] = ()
    first_sent_at: Instant | None = None
    """When its first attempt was started that has not definitely failed."""
    intended_at: Instant
    key: Sha256
    lease_until: Instant | None = None
    """End of the last attempt's lease as it was given; renewals are not events."""
    max_attempts: AtLeastOne = 1
    occurrence: Id | None = None
    position: Position
    """Position in `run` of the event that made its status."""
    recovery: Recovery
    result: Payload | None = None
    run: RunId
    """Run of the event that made its status."""
    sent_until: Instant | None = None
    """When the last worker said that it had stopped; None: it may have sent until its lease ended."""
    settle_seconds: Seconds | None = None
    started_in: RunId | None = None
    """Run of the last attempt."""
    status: Status
    step: Id | None = None
    tool: Id
    undone_by: Sha256 | None = None
    """Key of the effect that undid an earlier act like this one."""
    witnessed: Flag = True
    worker: Id | None = None

    @property
    def is_settled(self) -> bool:
        """Tell whether its outcome is known."""
        return self.status in ("succeeded", "failed", "did_not_happen")

    def status_at(self, now: datetime, lease_until: datetime | None = None) -> Status:
        """Tell the status as time makes it: executing with a lapsed lease is unknown.

        `lease_until` is the end of a lease that was renewed.
        """
        return "unknown" if self.status == "executing" and self.lapsed(now, lease_until) else self.status

    def lapsed(self, now: datetime, lease_until: datetime | None = None) -> bool:
        """Tell whether the lease of the last attempt has ended."""
        end = self._lease_end(lease_until)
        return end is None or end <= now

    def may_land_until(self, lease_until: datetime | None = None) -> datetime:
        """Return until when a request that was sent may still land.

        From then on the outside's word that nothing happened is evidence. It is counted from the moment when
        the last worker certainly sent nothing more: when it said that it had stopped, or its lease ended.
        """
        quiet = self.sent_until or self._lease_end(lease_until) or self.at
        return quiet + timedelta(
            seconds=SETTLE_SECONDS if self.settle_seconds is None else self.settle_seconds
        )

    @property
    def forgotten_at(self) -> datetime | None:
        """When the outside may forget the key, counted from the first send; None: never, or nobody knows."""
        if self.dedupes_for is None or self.first_sent_at is None:
            return None
        return self.first_sent_at + timedelta(seconds=self.dedupes_for)

    def is_remembered(self, now: datetime) -> bool:
        """Tell whether the outside dedupes on the key, and still remembers when it was sent first."""
        if self.recovery is not Recovery.IDEMPOTENT or self.first_sent_at is None:
            return False
        forgets = self.forgotten_at
        return forgets is None or now < forgets

    def _lease_end(self, renewed: datetime | None) -> datetime | None:
        given = self.lease_until
        if renewed is None or given is None:
            return given or renewed
        return max(given, renewed)


def history_of(key: str, records: Iterable[Record]) -> EffectHistory | None:
    """Fold the records under a key, in global order; None where nothing was intended under it."""
    found: EffectHistory | None = None
    for record in records:
        event = record.event
        # What stands under the digest of the key is of this key unless 16 bytes of SHA-256 collide.
        if getattr(event, "key", None) != key:
            continue
        if isinstance(event, EffectIntended):
            found = _intended(found, event, record)
        elif found is not None and type(event) in _FOLDS:
            found = found.with_fields(_FOLDS[type(event)](found, event, record))
    return found


Changes = dict[str, Any]


def _intended(old: EffectHistory | None, event: EffectIntended, record: Record) -> EffectHistory:
    fields = {
        "act": event.act,
        "args": event.args,
        "at": record.at,
        "dedupes_for": event.dedupes_for,
        "key": event.key,
        "max_attempts": event.max_attempts,
        "occurrence": event.occurrence,
        "position": record.position,
        "recovery": event.recovery,
        "run": record.run,
        "settle_seconds": event.settle_seconds,
        "status": "pending",
        "step": event.step,
        "tool": event.tool,
        "undone_by": event.undone_by,
        "witnessed": event.witnessed,
    }
    if old is None:
        fields |= {"attempt": 0, "intended_at": record.at}
        return EffectHistory.unchecked({name: fields.get(name, default) for name, default in _FIELDS})
    if old.is_settled:
        # A definite failure: what was sent then has no part in what is sent from here on.
        fields |= {"first_sent_at": None}
    return old.with_fields(fields)


_FIELDS = tuple((name, field.default) for name, field in EffectHistory.model_fields.items())


def _moved(status: Status, record: Record, **more: Any) -> Changes:
    return {"at": record.at, "position": record.position, "run": record.run, "status": status, **more}


def _started(old: EffectHistory, event: EffectStarted, record: Record) -> Changes:
    return _moved(
        "executing",
        record,
        attempt=event.attempt,
        first_sent_at=old.first_sent_at or record.at,
        lease_until=event.lease_until,
        sent_until=None,
        started_in=record.run,
        worker=event.worker,
    )


def is_late(recovery: Recovery, present: int, attempt: int) -> bool:
    """Tell whether a success is of another act than the present attempt: of one that it followed.

    Where the outside dedupes on the key all attempts are one act, so the success of one is that of all.
    """
    return attempt < present and recovery is not Recovery.IDEMPOTENT


def _succeeded(old: EffectHistory, event: EffectSucceeded, record: Record) -> Changes:
    told = {
        "cost": old.cost if event.cost is None else event.cost,
        "external_ref": event.external_ref or old.external_ref,
        "result": old.result if event.result is None else event.result,
    }
    if old.status == "succeeded":
        # What was found to have happened may have had no result until it was told.
        return {name: value for name, value in told.items() if getattr(old, name) is None}
    if old.status in ("failed", "did_not_happen"):
        return {}
    if old.status == "disputed" or is_late(old.recovery, old.attempt, event.attempt):
        return _moved("disputed", record, **told)
    return _moved("succeeded", record, attempt=max(old.attempt, event.attempt), **told)


def _failed(old: EffectHistory, event: EffectFailed, record: Record) -> Changes:
    if old.is_settled or old.status == "disputed" or event.attempt < old.attempt:
        return {}
    cost = old.cost if event.cost is None else event.cost
    attempt = max(old.attempt, event.attempt)
    return _moved("failed", record, attempt=attempt, cost=cost, error=event.error)


def _unknown(old: EffectHistory, event: EffectUnknown, record: Record) -> Changes:
    if old.is_settled or old.status == "disputed" or event.attempt < old.attempt:
        return {}
    attempt = max(old.attempt, event.attempt)
    stopped = None if event.because == "lease_lapsed" else record.at
    return _moved("unknown", record, attempt=attempt, error=event.error, sent_until=stopped)


def _reconciled(old: EffectHistory, event: EffectReconciled, record: Record) -> Changes:
    finding = Finding.unchecked(
        {
            "at": record.at,
            "by": event.by,
            "evidence": event.evidence,
            "found": event.found,
            "method": event.method,
            "position": record.position,
            "run": record.run,
        }
    )
    found: Changes = {"findings": (*old.findings, finding)}
    if old.is_settled:
        return found
    happened = event.found == "happened"
    if event.attempt < old.attempt:
        return _moved("disputed", record, **found) if happened else found
    if event.found == "unknown":
        late = old.status in ("disputed", "unknown")
        return found if late else _moved("unknown", record, **found)
    if not happened:
        return _moved("did_not_happen", record, **found)
    return _moved(
        "succeeded",
        record,
        cost=old.cost if event.cost is None else event.cost,
        external_ref=event.external_ref or old.external_ref,
        result=old.result if event.result is None else event.result,
        **found,
    )


def _disputed(old: EffectHistory, event: EffectDisputed, record: Record) -> Changes:
    return _moved("disputed", record)


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
