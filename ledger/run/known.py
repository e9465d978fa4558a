"""What is known of one effect across the runs of a lineage, and what that says of reports still to come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from ledger.events import EffectFailed, EffectSucceeded, EffectUnknown, Event
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


class Told(Value):
    """What a worker reported of an attempt, as it stands in the record."""

    at: Instant
    attempt: AtLeastOne
    because: Literal["imported", "inconclusive", "lease_lapsed", "raised", "stopped"] | None = None
    cost: Amounts | None = None
    error: ErrorSaid | None = None
    external_ref: Id | None = None
    occurred_at: Instant | None = None
    position: Position
    result: Payload | None = None
    run: RunId
    what: Literal["failed", "succeeded", "unknown"]


class Finding(Value):
    """What somebody found out, or tried to find out, about an effect."""

    at: Instant
    attempt: AtLeastOne
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
    args_in_full: CanonicalJson | None = None
    """The arguments with those that its tool declared by default; None: none were left out, or that is not
    known."""
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
    findings_before: Count = 0
    """How many of the findings were told before its status last changed."""
    first_sent_at: Instant | None = None
    """When the first attempt was started that nothing settled; its request may have been sent since."""
    intended_at: Instant
    """When it was intended first."""
    intended_by: Party | None = None
    """Who decided to do it when it was intended last."""
    intended_in: RunId
    """Run of its first intention."""
    intended_position: Position
    """Position of its first intention in that run."""
    key: Sha256
    lease_until: Instant | None = None
    """End of the last attempt's lease as it was given; renewals are not events."""
    max_attempts: AtLeastOne = 1
    occurrence: Id | None = None
    position: Position
    """Position in `run` of the event that made its status."""
    recovery: Recovery
    repeat_reason: Text | None = None
    """Why it was done although the same act had been done before."""
    resource: Id | None = None
    """What it acts on, as its tool declared."""
    result: Payload | None = None
    run: RunId
    """Run of the event that made its status."""
    sent_until: Instant | None = None
    """When the last worker said that it had stopped; None: it may have sent until its lease ended."""
    settle_seconds: Seconds | None = None
    settled_attempt: Count | None = None
    """The attempt whose outcome settled it."""
    since_attempt: Count = 0
    """The first attempt that nothing settled before the next began; 0: none was started."""
    started_in: RunId | None = None
    """Run of the last attempt."""
    status: Status
    step: Id | None = None
    told: tuple[Told, ...] = ()
    """Every report of a worker, whatever it changed."""
    tool: Id
    tool_schema: Sha256 | None = None
    """Of the tool as it was when it was intended last."""
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

    def may_be_sending(self, now: datetime, lease_until: datetime | None = None) -> bool:
        """Tell whether the last worker may be at it: its lease lasts, and it did not say that it stopped.

        Somebody else's word that nobody knows takes no lease away.
        """
        under_way = self.status == "executing" or (self.status == "unknown" and self.sent_until is None)
        return under_way and not self.lapsed(now, lease_until)

    def may_land_until(self, lease_until: datetime | None = None) -> datetime:
        """Return until when a request that was sent may still land.

        From then on the outside's word that nothing happened is evidence. It is counted from the moment when
        the last worker certainly sent nothing more: when it said that it had stopped, or its lease ended; and
        from when the same was sent again, if that was later.
        """
        quiet = self.sent_until or self._lease_end(lease_until) or self.at
        quiet = max([quiet, *(one.at for one in self.findings if one.method == "redelivery")])
        return after(quiet, SETTLE_SECONDS if self.settle_seconds is None else self.settle_seconds)

    def forgotten_at(self, dedupes_for: int | None = None) -> datetime | None:
        """Return when the outside may forget the key, counted from the first send; None: never.

        Of what was declared for the attempts so far, and now as `dedupes_for`, the shortest counts.
        """
        span = shorter(self.dedupes_for, dedupes_for)
        if span is None or self.first_sent_at is None:
            return None
        return after(self.first_sent_at, span)

    def is_remembered(self, now: datetime, dedupes_for: int | None = None) -> bool:
        """Tell whether the outside dedupes on the key, and still remembers when it was sent first."""
        if self.recovery is not Recovery.IDEMPOTENT or self.first_sent_at is None:
            return False
        forgets = self.forgotten_at(dedupes_for)
        return forgets is None or now < forgets

    def is_denied_by_success(self, attempt: int) -> bool:
        """Tell whether the success of an attempt contradicts what was settled before it was told."""
        return self.status in ("failed", "did_not_happen") or self.is_late(attempt) or self._again(attempt)

    @property
    def was_done_twice(self) -> bool:
        """Tell whether two attempts that are two acts have both been told to have succeeded.

        How often it happened no probe says, which only answers whether it did.
        """
        return any(
            one.what == "succeeded" and not self._overruled(one) and self._again(one.attempt)
            for one in self.told
        )

    def _again(self, attempt: int) -> bool:
        """Tell whether the success of an attempt is that of another act than one that succeeded."""
        return any(
            is_late(self.recovery, self.since_attempt, max(one.attempt, attempt), min(one.attempt, attempt))
            for one in self.told
            if one.what == "succeeded" and one.attempt != attempt and not self._overruled(one)
        )

    def _overruled(self, told: Told) -> bool:
        """Tell whether somebody found out afterwards that what was told had not happened."""
        return any(
            finding.found == "did_not_happen"
            and finding.attempt >= told.attempt
            and (finding.position > told.position if finding.run == told.run else finding.at > told.at)
            for finding in self.findings
        )

    def is_denied_by_failure(self, attempt: int) -> bool:
        """Tell whether the failure of an attempt contradicts that it was settled as a success."""
        return self.status == "succeeded" and attempt == self.settled_attempt

    def is_denied_by(self, found: str, attempt: int) -> bool:
        """Tell whether what is found out about an attempt contradicts what was settled."""
        if found == "happened":
            return self.status in ("failed", "did_not_happen")
        return found == "did_not_happen" and self.status == "succeeded" and attempt >= self.attempt

    def told_already(self, event: Event) -> Told | None:
        """Find where a report of a worker stands already, word for word."""
        what, words = WHAT.get(type(event)), said(event)
        return next((one for one in self.told if one.what == what and said(one) == words), None)

    def is_late(self, attempt: int) -> bool:
        """Tell whether the success of an attempt is not that of the present one, which followed it."""
        return is_late(self.recovery, self.since_attempt, self.attempt, attempt)

    def _lease_end(self, renewed: datetime | None) -> datetime | None:
        given = self.lease_until
        if renewed is None or given is None:
            return given or renewed
        return max(given, renewed)


def after(moment: datetime, seconds: int) -> datetime:
    """Return when some seconds will have passed, at the latest at the end of all time that can be written."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return _END


_END = datetime.max.replace(tzinfo=UTC)


def shorter(one: int | None, other: int | None) -> int | None:
    """Return the shorter of two spans; None is without end."""
    return min((span for span in (one, other) if span is not None), default=None)


def is_late(recovery: Recovery, since: int, present: int, attempt: int) -> bool:
    """Tell whether a success is of another act than the present attempt: of one that it followed.

    Where the outside dedupes on the key, the attempts that followed each other in doubt, from `since` on,
    are one act, so the success of one is that of all.
    """
    return attempt < present and not (recovery is Recovery.IDEMPOTENT and attempt >= since)


def in_doubt_before(since: int, attempt: int) -> bool:
    """Tell whether an earlier attempt may have happened, of which the failure of this one says nothing."""
    return 0 < since < attempt


def is_only_intended(known: EffectHistory) -> bool:
    """Tell whether an act was intended, and nothing of it is under way or in doubt, in no run of the lineage.

    It waits for an answer, or was denied; what it came to before it was intended last is settled.
    """
    return known.status == "pending" and known.since_attempt == 0 and known.witnessed


SAID = ("attempt", "because", "cost", "error", "external_ref", "occurred_at", "result")
WHAT: dict[type[Event], str] = {
    EffectFailed: "failed",
    EffectSucceeded: "succeeded",
    EffectUnknown: "unknown",
}


def said(report: Event | Told) -> tuple[Any, ...]:
    return tuple(getattr(report, name, None) for name in SAID)
