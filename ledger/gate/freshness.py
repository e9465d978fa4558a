"""What time and another runtime have against going on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ledger.events import Reason
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.contract import Contract, Observation
from ledger.run.keys import check_key
from ledger.run.resting import rested_on
from ledger.run.standing import Hold
from ledger.values import Runtime, write_time


def on_freshness(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield observations that something rests on, and that must not be relied on as they are."""
    rested = rested_on(contract)
    checks = {check_key(seen.source) for seen in contract.sources}
    for seen in contract.observations:
        if f"observation:{seen.key}" not in rested or seen.key in checks:
            continue
        resting = _names(contract.resting_on(f"observation:{seen.key}"))
        if seen.invalidated is not None:
            what = f"{seen.key} does not hold any more, and {resting}"
            yield reason("observation_invalidated", what, position=seen.invalidated_at or seen.position)
            continue
        until = seen_until(seen, question, contract)
        if until is not None:
            what = f"{seen.key} of {seen.tool} is stale, and {resting}"
            yield reason("observation_stale", what, position=seen.position, since=moment_of(until))


def seen_until(seen: Observation, question: Question, contract: Contract) -> datetime | None:
    """Tell since when an observation is stale; None: it is fresh.

    One from the future is stale: a clock that jumped back makes nothing fresh. What is never to be used again
    is asked anew by whoever goes on: that it was asked since the run was stopped is all there is to want.
    """
    if seen.fresh_for == 0 and contract.stopped is not None and seen.position > contract.stopped.position:
        return None
    if seen.observed_at is not None and seen.observed_at > question.now:
        return seen.observed_at
    ends = seen.stale_at
    return ends if ends is not None and ends <= question.latest_since(contract, seen.at) else None


def moment_of(until: datetime) -> datetime | None:
    """Leave out the first moment of all, which stands for one that nobody knows."""
    return None if until.year == 1 else until


def _names(resting: tuple[str, ...]) -> str:
    return f"{', '.join(resting[:8])}{' and more' if len(resting) > 8 else ''} rests on it"


FIELDS = tuple(Runtime.model_fields)


def on_runtime(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield each field of the fingerprint in which what would go on differs from what was running.

    What one of both does not say is not compared. What the run is held for stands until somebody adopts the
    other runtime, or who asks says that it is the one that ran: not to say it again clears nothing.
    """
    before, now = contract.runtime, question.runtime
    if before is None:
        return
    recorded = {} if contract.held is None else dict(_held_for(contract, contract.held))
    for field in FIELDS:
        old, new = getattr(before, field), None if now is None else getattr(now, field)
        if new is None and field in recorded:
            yield recorded[field]
        elif old is not None and new is not None and old != new:
            what = f"{field}: {old} before, {new} now"
            yield reason("runtime_changed", what, position=contract.runtime_position)


def _held_for(contract: Contract, held: Hold) -> Iterator[tuple[str, Reason]]:
    """Yield the fields in which another runtime asked when the run was held, unless it was adopted since."""
    for one in held.reasons:
        if one.kind == "runtime_changed" and one.position == contract.runtime_position:
            yield one.what.partition(":")[0], one


def on_idling(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield that a run which nobody stopped for long: whoever wanted it may not any more.

    A revised goal or plan and a user's message show that somebody does.
    """
    if question.idle_seconds is None or contract.suspended is not None:
        return
    last = max(contract.alive.at, contract.goal.at, contract.resumed_at)
    if contract.plan is not None:
        last = max(last, contract.plan.at)
    for message in contract.messages:
        if message.role == "user":
            last = max(last, message.at)
    try:
        until = last + timedelta(seconds=question.idle_seconds)
    except OverflowError:
        return
    if until <= question.latest(contract):
        what = f"nothing was heard of the run since {write_time(last)}: does its goal still hold?"
        yield reason("idle", what, position=contract.alive.position, since=until, who=contract.alive.by)
