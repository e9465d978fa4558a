"""What a lineage did to the outside, for whoever takes a run over: done, refused, and not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import datetime
from typing import Any, Literal

from ledger.run.approvals import asked_about, never_begun
from ledger.run.contract import Contract, Effect
from ledger.run.fold import brief
from ledger.run.known import EffectHistory, Finding, Status
from ledger.values import (
    Amounts,
    AtLeastOne,
    Count,
    ErrorSaid,
    Id,
    Instant,
    Payload,
    Position,
    Recovery,
    RunId,
    Sha256,
    Text,
    Value,
)

Way = Literal["approval", "database", "person", "perform", "probe", "read", "relay", "send_again", "worker"]


class DoneEffect(Value):
    """An act that happened."""

    act: Sha256
    args: Payload
    """As JSON text; long ones by their digest."""
    at: Instant
    """When the ledger learned of it."""
    attempt: Count
    compensated_by: Sha256 | None = None
    """Key of the act that undid it."""
    cost: Amounts | None = None
    evidence: Finding | None = None
    """What somebody found out about it last."""
    external_ref: Id | None = None
    intended_in: RunId
    intended_position: Position
    key: Sha256
    occurrence: Id | None = None
    position: Position
    """Where its outcome stands in `run`."""
    repeat_reason: Text | None = None
    result: Payload | None = None
    """A long one is named by its digest."""
    run: RunId
    step: Id | None = None
    tool: Id
    witnessed: bool
    """False: imported; the ledger was not there."""


class FailedEffect(Value):
    """An act that did not happen, and is known not to have."""

    act: Sha256
    args: Payload
    at: Instant
    attempt: Count
    error: ErrorSaid | None = None
    evidence: Finding | None = None
    exhausted: bool
    """It was tried as often as it may be by itself."""
    key: Sha256
    max_attempts: AtLeastOne
    occurrence: Id | None = None
    outcome: Literal["did_not_happen", "failed"]
    position: Position
    run: RunId
    step: Id | None = None
    tool: Id


class OpenEffect(Effect):
    """An act of which nobody knows whether it happened, and how one would find out."""

    args: Payload | None = None
    """None: nothing says; the intention is not in the record."""
    ask_from: Instant | None = None
    """From then on the outside's word that nothing happened counts; what was sent may land until then."""
    error: ErrorSaid | None = None
    """What was raised when it was tried last."""
    evidence: Finding | None = None
    external_ref: Id | None = None
    remembered_until: Instant | None = None
    """Until then the outside dedupes on its key; set where it does and forgets."""
    since: Instant
    """Since when it has `status_now`, which time alone may have made."""
    status_now: Literal["pending", "executing", "unknown", "disputed"]
    way: Way
    """Who or what can tell."""


class ElsewhereEffect(Value):
    """An act that another run of the lineage has not settled."""

    at: Instant
    key: Sha256
    run: RunId
    """Where it was last tried."""
    status: Status
    step: Id | None = None
    tool: Id


def done(histories: Iterable[EffectHistory]) -> Iterator[DoneEffect]:
    """Name what happened, in the order of what is given."""
    for known in histories:
        if known.status == "succeeded":
            yield DoneEffect.unchecked(_fields(DoneEffect, known))


def failed(histories: Iterable[EffectHistory]) -> Iterator[FailedEffect]:
    """Name what is known not to have happened."""
    for known in histories:
        if known.status in ("failed", "did_not_happen"):
            # Who declared no number may have it tried again, once found not to have happened.
            tried = known.attempt >= known.max_attempts
            spent = tried and (known.status == "failed" or known.max_attempts > 1)
            yield FailedEffect.unchecked(_fields(FailedEffect, known, exhausted=spent, outcome=known.status))


def elsewhere(
    histories: Iterable[EffectHistory], contract: Contract, now: datetime
) -> Iterator[ElsewhereEffect]:
    """Name what is not settled, and not this run's to settle."""
    held = {effect.key for effect in contract.effects}
    for known in histories:
        # What is only intended left nothing outside: it was denied, or waits in its own run.
        waits = known.status == "pending" and known.witnessed
        if not known.is_settled and known.key not in held and not waits:
            run = known.started_in or known.run
            yield ElsewhereEffect.unchecked(
                _fields(ElsewhereEffect, known, run=run, status=known.status_at(now))
            )


def open_effects(
    contract: Contract,
    histories: Mapping[str, EffectHistory],
    *,
    leases: Mapping[str, datetime],
    now: datetime,
    probes: Set[str],
) -> Iterator[OpenEffect]:
    """Name what is not settled in a run, with what can tell.

    `leases` are the ends of leases that were renewed, `now` is by the clock of leases, `probes` are the tools
    that can be asked here.
    """
    for effect in contract.effects:
        known, renewed = histories.get(effect.key), leases.get(effect.key)
        ends = (effect.lease_until, renewed, None if known is None else known.lease_until)
        until = max((end for end in ends if end is not None), default=None)
        # Of an executing effect without a lease, as one of an ancestor that is not here, nobody knows.
        lapsed = effect.status == "executing" and (until is None or until <= now)
        status = "unknown" if lapsed else effect.status
        more: dict[str, Any] = {
            "lease_until": until,
            "since": until if lapsed and until is not None else effect.at,
            "status_now": status,
            "way": "approval" if _waits(contract, effect) else _way(effect, known, status, now, probes),
        }
        for name in ("args", "ask_from", "error", "evidence", "external_ref", "remembered_until"):
            more[name] = None
        if known is not None:
            more |= _told(known, status, until)
        yield OpenEffect.unchecked({**effect.__dict__, **more})


def _waits(contract: Contract, effect: Effect) -> bool:
    """Tell whether nothing was sent, and a person is to say first that it may be."""
    approval = asked_about(contract, effect.key) if never_begun(effect) else None
    return approval is not None and approval.answered is None


def _told(known: EffectHistory, status: str, until: datetime | None) -> dict[str, Any]:
    asked = known.recovery is Recovery.QUERYABLE and status == "unknown"
    return {
        "args": _args(known),
        "ask_from": known.may_land_until(until) if asked else None,
        "error": known.error,
        "evidence": known.findings[-1] if known.findings else None,
        "external_ref": known.external_ref,
        "remembered_until": known.forgotten_at() if known.recovery is Recovery.IDEMPOTENT else None,
    }


_WAYS: dict[Recovery, Way] = {
    Recovery.AT_MOST_ONCE: "person",
    Recovery.IDEMPOTENT: "person",
    Recovery.OUTBOX: "relay",
    Recovery.QUERYABLE: "probe",
    Recovery.READ_ONLY: "read",
    Recovery.TRANSACTIONAL: "database",
}


def _way(effect: Effect, known: EffectHistory | None, status: str, now: datetime, probes: Set[str]) -> Way:
    if status == "executing":
        return "worker"
    if status == "pending" and not effect.since_attempt and effect.witnessed:
        return "perform"
    if status == "disputed":
        return "person"
    if effect.tool in probes:
        return "probe"
    if known is not None and known.is_remembered(now):
        return "send_again"
    return _WAYS[effect.recovery]


def _args(known: EffectHistory) -> Payload:
    return brief(Payload(json_text=known.args))


def _fields(kind: type[Value], known: EffectHistory, **more: Any) -> dict[str, Any]:
    """Take the fields that a kind of entry shares with what is known of an effect."""
    own: dict[str, Any] = {
        "args": _args(known),
        "evidence": known.findings[-1] if known.findings else None,
        "result": None if known.result is None else brief(known.result),
        **more,
    }
    return {name: own[name] if name in own else getattr(known, name) for name in kind.model_fields}
