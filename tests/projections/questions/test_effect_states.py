"""What became of effects, whatever was told of them and in whatever order."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger import events as e
from ledger.application.edge import Edge
from ledger.record import Record
from ledger.run.history import history_of
from ledger.stores.memory import MemoryStore
from ledger.values import ErrorSaid, Recovery
from projections.questions.effect_listing import EffectListing
from projections.questions.effect_states import OPEN
from projections.questions.open_outcomes import OpenOutcomes
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import Teller, told
from tests.run.examples import ONE, TWO, intended, opened, started

ERROR = ErrorSaid(message="no", type="No")
PLAIN = [intended(ONE), started(ONE), e.EffectSucceeded(key=ONE, attempt=1)]


@st.composite
def tellings(draw: st.DrawFn) -> e.Event:
    """Draw something that is told of an effect."""
    key, attempt = draw(st.sampled_from([ONE, ONE, TWO])), draw(st.integers(1, 3))
    own: dict[str, Any] = {"key": key, "attempt": attempt}
    found: st.SearchStrategy[Any] = st.sampled_from(["happened", "did_not_happen", "unknown"])
    reported: Any = st.sampled_from(["failed", "succeeded", "happened", "did_not_happen"])
    recovery = draw(st.sampled_from([Recovery.IDEMPOTENT, Recovery.QUERYABLE]))
    wholes: list[e.Event] = [
        intended(key, recovery=recovery),
        intended(key, recovery=recovery, witnessed=False),
        started(key, attempt),
        e.EffectSucceeded(**own),
        e.EffectFailed(**own, error=ERROR),
        e.EffectUnknown(**own, because=draw(st.sampled_from(["raised", "lease_lapsed"]))),
        e.EffectReconciled(**own, evidence="seen", found=draw(found), method="probe"),
        e.EffectDisputed(**own, act="a" * 64, recovery=recovery, reported=draw(reported), tool="refund"),
        e.EffectCompensated(key=key, undone_by=TWO),
    ]
    return draw(st.sampled_from(wholes))


@st.composite
def lives(draw: st.DrawFn) -> list[e.Event]:
    """Draw attempts that go as attempts do, with whatever else between them."""
    events: list[e.Event] = []
    for attempt in range(1, draw(st.integers(1, 3)) + 1):
        key = draw(st.sampled_from([ONE, TWO]))
        outcome = draw(
            st.sampled_from(
                [
                    e.EffectSucceeded(key=key, attempt=attempt),
                    e.EffectFailed(key=key, attempt=attempt, error=ERROR),
                ]
            )
        )
        events += [intended(key), started(key, attempt), outcome]
        if draw(st.booleans()):
            events.insert(draw(st.integers(0, len(events))), draw(tellings()))
    return events


@given(
    lives() | st.lists(tellings(), min_size=2, max_size=8),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.integers(0, 7200),
    st.integers(0, 6),
)
@example(PLAIN, [False] * 12, 0, 0)
@example([*PLAIN, intended(ONE), started(ONE, 2), e.EffectSucceeded(key=ONE, attempt=2)], [False] * 12, 0, 0)
@example([started(ONE), intended(ONE), started(ONE)], [True] * 12, 7200, 1)
def test_a_status_is_that_of_the_one_fold(
    events: list[e.Event], elsewhere: list[bool], later: int, left_out: int
) -> None:
    clock = SetClock()
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "default", Actor("human:kim"), clock, pause=lambda attempt: None))
        teller = Teller(ledger, clock, Actor("human:kim"))
        teller.say("run-1", opened())
        teller.say("run-2", opened())
        for other, told_of in zip(elsewhere, events, strict=False):
            event = told_of
            if isinstance(event, e.EffectStarted):
                # Of one lineage the store would not take a second claim of the same attempt.
                event = event.with_fields({"root": f"root-{teller.gid}"})
            teller.say("run-2" if other else "run-1", event, after=600)
        clock.tick(later)
        end = max(2, teller.gid - left_out)
        records = [record for record in ledger.follow() if (record.global_position or 0) <= end]
        expected = [row for key in (ONE, TWO) for row in _judged(key, records, clock.now)]
        columns = ("key", "status", "since", "status_run", "status_position")
        found = told(ledger, EffectListing(), *columns, as_of=end)
        assert set(found) == set(expected)
        columns = ("key", "status", "since", "run", "position")
        assert sorted(told(ledger, OpenOutcomes(), *columns, as_of=end)) == sorted(
            row for row in expected if row[1] in OPEN
        )


def _judged(key: str, records: list[Record], now: datetime) -> list[tuple[Any, ...]]:
    """Fold the records of an effect; an attempt is unknown since its lease lapsed."""
    known = history_of(key, records)
    if known is None:
        return []
    status = known.status_at(now)
    lapsed = status == "unknown" and known.status == "executing"
    since = (known.lease_until or known.at) if lapsed else known.at
    return [(key, status, since.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), known.run, known.position)]


def test_plain_stories_are_folded_from_no_record(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many effects are listed, records are read for those that were told otherwise only."""
    run = ledger.open_run("run-1", "goal")
    for order in range(3):
        run.perform("refund", {"order": order}, lambda order: order)
    ledger.import_events(
        "run-2", [opened(), intended(ONE), e.EffectSucceeded(key=ONE, attempt=1)], expected=0
    )
    folded: list[str] = []

    def fold(key: str, records: list[Record]) -> Any:
        folded.append(key)
        return history_of(key, records)

    monkeypatch.setattr("projections.questions.effect_states.history_of", fold)
    assert len(told(ledger, EffectListing(), tool="refund")) == 4
    assert folded == []
    ledger.import_events("run-2", [e.EffectFailed(key=ONE, attempt=1, error=ERROR)], expected=3)
    assert len(told(ledger, EffectListing(), tool="refund")) == 4
    assert folded == [ONE]
