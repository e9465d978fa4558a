"""A ledger of many runs as agents live them: 52 events each, ten runs at a time, a run a minute.

Whatever a question may be asked about (a run, a key, a source, a subject, a party, a minute) concerns as many
events in a large ledger as in a small one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

from ledger import Actor, Ledger, open_ledger
from ledger.application.imported import NEVER
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    AssumptionMade,
    AssumptionRefuted,
    AuthorityGranted,
    ConstraintAccepted,
    ConstraintWithdrawn,
    CursorMoved,
    EffectIntended,
    EffectRefused,
    EffectStarted,
    EffectSucceeded,
    EffectUnknown,
    Event,
    GoalRevised,
    MessageRecorded,
    ObligationDischarged,
    ObligationOpened,
    ObservationRecorded,
    PlanCommitted,
    Reason,
    ResumeRefused,
    ReviewSigned,
    RunOpened,
    RunResumed,
    RunSuspended,
)
from ledger.values import (
    Operator,
    Payload,
    Predicate,
    Published,
    Recovery,
    Rule,
    Runtime,
    Source,
    Step,
    Verdict,
)

EACH = 52
"""Events of a run."""
TOGETHER = 10
"""Runs that live at the same time, bound by a source of their own."""

AGENT, KIM = "agent:refunds", "human:kim"
_BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
_ACTS = 5
_LIMIT = Rule(tools=("refund",), require=(Predicate(path="/amount", operator=Operator.AT_MOST, value="90"),))
_WORDS = Published(id="limit", text="Refund at most 90 EUR at once.", rule=_LIMIT)


def opened(path: Path | str) -> tuple[Ledger, _Clock]:
    """Open a ledger whose clock is set by who fills it."""
    clock = _Clock()
    return open_ledger(path, actor=Actor(AGENT, session="s-1"), clock=clock), clock


def runs_of(events: int) -> int:
    """Return how many runs have about so many events, those of their sources included."""
    return round(events / (EACH * TOGETHER + 3)) * TOGETHER


def fill(path: Path | str, runs: int) -> None:
    """Write so many runs, a multiple of ten."""
    ledger, clock = opened(path)
    with ledger:
        for first in range(0, runs, TOGETHER):
            group = first // TOGETHER
            clock.now = minute(first)
            policy = ledger.source(f"policy:team-{group}", actor=Actor(KIM))
            policy.publish("1", [_WORDS], by=KIM)
            stories = {number: list(story(number)) for number in range(first, first + TOGETHER)}
            for at in range(0, EACH, EACH // 2):
                for number, events in stories.items():
                    clock.now = minute(number)
                    part = events[at : at + EACH // 2]
                    about = (f"customer:{number}",) if not at else ()
                    _say(ledger, name(number), part, at, about)
            policy.publish("2", [Published(id="limit", text="Refund at most 90 EUR.", rule=_LIMIT)], by=KIM)


def _say(ledger: Ledger, run: str, events: list[Event], at: int, about: tuple[str, ...]) -> None:
    """Import events of a run; what is not for agents to say a person says."""
    live = at > 0
    for is_a_person_s, some in groupby(events, lambda event: live and isinstance(event, NEVER)):
        actor = Actor(KIM) if is_a_person_s else None
        at = ledger.import_events(run, tuple(some), expected=at, actor=actor, about=about).position


class _Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = _BEGIN

    def __call__(self) -> datetime:
        return self.now


def name(number: int) -> str:
    """Name a run."""
    return f"run-{number}"


def minute(number: int) -> datetime:
    """Return when a run takes place."""
    return _BEGIN + timedelta(minutes=number)


def key(number: int, act: int) -> str:
    """Return the key of an act of a run."""
    return hashlib.sha256(f"{number}/{act}".encode()).hexdigest()


def story(number: int) -> Iterator[Event]:
    """Yield the events of a run."""
    yield from _beginning(number)
    for act in range(_ACTS):
        yield from _act(number, act)
    yield from _end(number)


def _beginning(number: int) -> Iterator[Event]:
    group = number // TOGETHER
    yield RunOpened(
        goal=f"Refund booking {number}",
        owner=KIM,
        runtime=Runtime(model=f"model-{group}", prompt=f"{number:064x}"),
        rests_on=("assumption:paid",),
    )
    yield ConstraintAccepted(
        id="limit",
        text=_WORDS.text,
        rule=_LIMIT,
        asserted_by=KIM,
        asserted_at=_BEGIN,
        accepted_by=AGENT,
        source=Source("policy", f"team-{group}", revision="1", item="limit"),
        source_position=2,
        published=True,
    )
    yield ConstraintAccepted(id="tone", text="Stay polite.", asserted_by=KIM, accepted_by=AGENT)
    yield AuthorityGranted(id="desk", principal=AGENT, scopes=("refund",), granted_by=KIM)
    yield AssumptionMade(id="paid", text="The booking was paid by card.", by=AGENT)
    yield PlanCommitted(steps=(Step(name="pay", rests_on=("assumption:paid",)), Step(name="tell")), by=AGENT)
    yield ObligationOpened(
        id="tell", text="Tell the customer.", owed_to=f"customer:{number}", due=minute(number + 60)
    )


def _act(number: int, act: int) -> Iterator[Event]:
    """Look, say what is meant to be done, and do it: seven events."""
    done, seen = key(number, act), f"booking-{act}"
    yield CursorMoved(node=f"node-{act}", round=act, needs=(f"observation:{seen}",))
    yield ObservationRecorded(key=seen, tool="booking", value=Payload(json_text='{"paid":"card"}'))
    yield MessageRecorded(id=f"m-{act}", role="user", content=Payload(digest=done, size=120))
    if act == _ACTS - 1:
        yield ApprovalRequested(id="ask", key=done, question="May it be paid?", expires_at=minute(number + 9))
        yield ApprovalAnswered(id="ask", answer="approved", by=KIM)
    else:
        yield MessageRecorded(id=f"n-{act}", role="assistant", content=Payload(digest=done, size=80))
    yield EffectIntended(
        act=hashlib.sha256(f"refund/{act}".encode()).hexdigest(),
        approval="ask" if act == _ACTS - 1 else None,
        # Every fortieth goes past the limit.
        args=f'{{"amount":"{95 if (number * _ACTS + act) % 40 == 0 else 40}.00","booking":{number}}}',
        authority=("desk",),
        key=done,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        rests_on=("assumption:paid",),
        source_positions={f"policy:team-{number // TOGETHER}": 2},
        step="pay",
        tool="refund",
        witnessed=True,
    )
    yield EffectStarted(
        attempt=1, key=done, lease_until=minute(number + 1), root=name(number), worker="worker-1"
    )
    if act == 1:
        yield EffectUnknown(attempt=1, key=done, because="inconclusive")
    else:
        yield EffectSucceeded(attempt=1, key=done, result=Payload(json_text=f'{{"paid":{number}}}'))


def _end(number: int) -> Iterator[Event]:
    yield EffectRefused(tool="refund", rule="budget", args="{}", step="pay")
    yield RunSuspended(cause="asked", reason="Lunch.", by=KIM)
    yield ResumeRefused(
        verdict=Verdict.RECONCILE,
        reasons=(Reason(cleared_by="effect.reconciled", kind="effect", what="unknown"),),
    )
    yield RunResumed(gap_seconds=60, incarnation=2, prompt_digest=f"{number:064x}")
    yield GoalRevised(text=f"Refund all of booking {number}", reason="They asked.", by=KIM)
    yield AssumptionRefuted(id="paid", evidence="It was paid in cash.", by=KIM)
    yield ConstraintWithdrawn(id="tone", by=KIM, reason="It goes without saying.")
    yield ObligationDischarged(id="tell", evidence="Mail 7.", by=AGENT)
    yield ReviewSigned(head=40, hash="0" * 64, meaning="reviewed", by=KIM)
