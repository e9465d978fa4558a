"""Approvals that came to nothing: late, contradicted, forgotten, or for something else than was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EffectFailed,
    EffectReconciled,
    EffectSucceeded,
    EffectUnknown,
    Event,
    GoalRevised,
    RunOpened,
    RuntimeAdopted,
)
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.state import replay
from ledger.stores.memory import MemoryStore
from ledger.values import ErrorSaid
from projections.asking import ask
from projections.questions.approvals_approvers import Approvers
from projections.questions.approvals_void import VoidApprovals
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.asking_desk import AGENT, GATEWAY, KIM, NEW, RELAY, START, Desk, at, key_of
from tests.projections.questions.telling import Teller, explained, on_memory, told, unbounded
from tests.run import examples as x

QUESTION = VoidApprovals()
MAX, WEB = Actor("human:max"), Actor("service:web")
WHY = ("position", "approval", "why")


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Desk:
    return Desk(ledger, clock).open("r")


@on_memory
def test_what_held_is_not_told(desk: Desk) -> None:
    desk.ask("r")
    desk.answer("r")
    desk.act("r")
    desk.ask("r", id="pending", amount=5, expires_at=None)
    assert told(desk.ledger, QUESTION) == []


@on_memory
def test_a_late_answer_is_told_with_all_that_is_known(desk: Desk) -> None:
    desk.ask("r", expires_at=START.replace(minute=2))
    desk.answer("r")
    assert told(desk.ledger, QUESTION) == [
        (
            *("r", 4, at(120), "ok", "late", key_of("r"), 3, at(60), at(120)),
            *("approved", "human:kim", 4, at(120), None, None),
        )
    ]


@on_memory
def test_an_answer_just_before_the_end_is_not_late(desk: Desk) -> None:
    desk.ask("r", expires_at=START.replace(minute=2, microsecond=1))
    desk.answer("r")
    assert told(desk.ledger, QUESTION, *WHY, run="r", before=START.replace(minute=2)) == []
    assert told(desk.ledger, QUESTION, *WHY) == []


def test_answers_after_the_first_are_told_by_whether_they_agree(desk: Desk) -> None:
    desk.ask("r", expires_at=START.replace(minute=5))
    desk.answer("r", answer="denied")
    desk.answer("r", answer="denied")
    desk.answer("r")
    desk.answer("r")
    assert told(desk.ledger, QUESTION, *WHY, "answer", "asked_position") == [
        (5, "ok", "second_answer", "denied", 3),
        (6, "ok", "conflicting", "approved", 3),
        (7, "ok", "conflicting", "approved", 3),
        (7, "ok", "late", "approved", 3),
    ]


@on_memory
def test_an_answer_to_what_nobody_asked_is_told(desk: Desk) -> None:
    desk.answer("r", id="never")
    desk.ask("r")
    desk.answer("r")
    Desk(desk.ledger, desk.clock).open("other").ask("other", id="never")
    assert told(desk.ledger, QUESTION, *WHY, "key", "asked_position", run="r") == [
        (2, "never", "unknown_id", None, None)
    ]


def test_a_request_that_nobody_answered_is_told_once_it_has_expired(desk: Desk, clock: SetClock) -> None:
    end = START.replace(minute=10)
    desk.ask("r", expires_at=end)
    columns = ("position", "at", "why", "answer")
    assert told(desk.ledger, QUESTION, *columns, now=end.replace(minute=9)) == []
    assert told(desk.ledger, QUESTION, *columns, now=end) == [(3, at(600), "unanswered", None)]
    clock.now = end
    assert told(desk.ledger, QUESTION, *columns) == [(3, at(600), "unanswered", None)]
    assert told(desk.ledger, QUESTION, *columns, since=end) == [(3, at(600), "unanswered", None)]
    assert told(desk.ledger, QUESTION, *columns, before=end) == []
    desk.answer("r")
    assert told(desk.ledger, QUESTION, *WHY) == [(4, "ok", "late")]


@on_memory
def test_of_requests_under_one_id_the_last_one_waits(desk: Desk) -> None:
    desk.ask("r", expires_at=START.replace(minute=2))
    desk.ask("r", expires_at=START.replace(minute=3))
    desk.answer("r", id="other")
    later = START.replace(hour=10)
    assert told(desk.ledger, QUESTION, *WHY, now=later) == [
        (5, "ok", "unanswered"),
        (6, "other", "unknown_id"),
    ]


def test_an_act_on_an_approval_for_something_else_is_told_by_what_differs(desk: Desk) -> None:
    desk.ask("r")
    desk.answer("r")
    desk.say("r", GoalRevised(by="human:kim", reason="news", text="Pay less"))
    desk.act("r", amount=210, tool_schema="6" * 64)
    desk.say("r", RuntimeAdopted(by="human:kim", reason="upgrade", runtime=NEW))
    desk.act("r")
    desk.act("r", amount=7, approval=None)
    columns = ("position", "at", "why", "key", "answered_position", "executed_key", "executed_position")
    changed = {"position": 7, "at": at(180), "key": key_of("r", 210)}
    asked = (key_of("r"), 4)
    assert told(desk.ledger, QUESTION, *columns) == [
        (changed["position"], changed["at"], "key_changed", *asked, changed["key"], 6),
        (changed["position"], changed["at"], "terms_changed", *asked, changed["key"], 6),
        (changed["position"], changed["at"], "tool_changed", *asked, changed["key"], 6),
        (10, at(240), "runtime_changed", *asked, key_of("r"), 9),
        (10, at(240), "terms_changed", *asked, key_of("r"), 9),
    ]


@on_memory
def test_an_act_on_no_approval_is_told(desk: Desk) -> None:
    """Before any answer, after a denial, past its end, and on an id that nobody asked under."""
    desk.ask("r", expires_at=START.replace(minute=4))
    desk.act("r")
    desk.answer("r")
    desk.act("r")
    desk.ask("r", id="no", amount=5)
    desk.answer("r", id="no", answer="denied")
    desk.act("r", amount=5, approval="no")
    desk.act("r", amount=6, approval="never")
    columns = (*WHY, "answer", "answered_at")
    assert told(desk.ledger, QUESTION, *columns, run="r") == [
        (5, "ok", "not_approved", None, None),
        (8, "ok", "expired", "approved", at(180)),
        (13, "no", "not_approved", "denied", at(360)),
        (15, "never", "unknown_id", None, None),
    ]


@on_memory
def test_what_was_not_asked_under_is_not_held_against_an_act(desk: Desk) -> None:
    desk.ask("r", runtime_digest=None, tool_schema=None)
    desk.answer("r")
    desk.say("r", RuntimeAdopted(by="human:kim", reason="upgrade", runtime=NEW))
    desk.act("r", tool_schema="6" * 64)
    assert told(desk.ledger, QUESTION) == []


def test_it_is_asked_by_run_and_time_and_as_of_an_earlier_moment(desk: Desk) -> None:
    desk.answer("r", id="a")
    place = desk.gid
    desk.act("r", approval="b")
    Desk(desk.ledger, desk.clock).open("q").answer("q", id="c")
    columns = ("run", "approval")
    assert told(desk.ledger, QUESTION, *columns) == [("q", "c"), ("r", "a"), ("r", "b")]
    assert told(desk.ledger, QUESTION, *columns, run="q") == [("q", "c")]
    assert told(desk.ledger, QUESTION, *columns, as_of=place) == [("r", "a")]
    assert told(desk.ledger, QUESTION, *columns, as_of=START.replace(minute=2)) == [("r", "a"), ("r", "b")]
    assert told(desk.ledger, QUESTION, *columns, since=START.replace(minute=2)) == [("q", "c"), ("r", "b")]
    assert told(desk.ledger, QUESTION, *columns, before=START.replace(minute=2)) == [("r", "a")]


def test_tenants_do_not_see_approvals_of_others(open_on: OpenLedger, clock: SetClock) -> None:
    Desk(open_on("acme"), clock).open("r").answer("r", id="a")
    Desk(open_on("Acme"), clock).open("r").ask("r", id="a")
    assert told(open_on("acme"), QUESTION, "why") == [("unknown_id",)]
    assert told(open_on("Acme"), QUESTION, "why") == []


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_they_read_no_whole_table(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.ask("r")
    desk.answer("r")
    desk.act("r")
    desk.answer("r", id="never")
    desk.ask("r", id="late", expires_at=START)
    run, since, before = {"run": "r"}, {"since": START}, {"before": START.replace(hour=10)}
    asked: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (run, ()),
        (run | since | before, ()),
        (since, ("at>?",)),
        (since | before, ("at>? AND at<?", "at>? AND expires_at<?")),
    ]
    plans = explained(monkeypatch)
    for question in (QUESTION, Approvers()):
        for how, bounds in asked:
            assert told(desk.ledger, question, **how)
            assert plans
            assert unbounded(plans, *bounds) == [], how
            plans.clear()


ASKERS = (AGENT, KIM, RELAY, GATEWAY)
WRITERS = (AGENT, KIM, RELAY, GATEWAY, MAX, WEB)
ENDS: dict[str, Callable[[str, int], Event]] = {
    "succeeded": lambda key, attempt: EffectSucceeded(attempt=attempt, key=key),
    "failed": lambda key, attempt: EffectFailed(
        attempt=attempt, key=key, error=ErrorSaid(message="no", type="No")
    ),
    "unknown": lambda key, attempt: EffectUnknown(attempt=attempt, because="raised", key=key),
    "happened": lambda key, attempt: _found(key, attempt, "happened"),
    "did_not_happen": lambda key, attempt: _found(key, attempt, "did_not_happen"),
}


def _found(key: str, attempt: int, found: Any) -> EffectReconciled:
    return EffectReconciled(attempt=attempt, evidence="seen", found=found, key=key, method="probe")


KEYS, IDS = st.sampled_from([x.ONE, x.TWO]), st.sampled_from(["a", "b"])
LIMITS = st.none() | st.sampled_from([START.replace(minute=minute) for minute in range(12)])
SAYINGS = st.one_of(
    st.tuples(st.sampled_from(ASKERS), st.builds(ApprovalRequested, id=IDS, key=KEYS, expires_at=LIMITS)),
    st.tuples(
        st.sampled_from(WRITERS),
        st.builds(
            ApprovalAnswered,
            id=IDS,
            answer=st.sampled_from(["approved", "denied"]),
            by=st.sampled_from(["human:kim", "human:max", "agent:desk", "service:web"]),
        ),
    ),
    st.tuples(st.just("begin"), KEYS),
    st.tuples(st.sampled_from(sorted(ENDS)), KEYS),
)


ASKS = (AGENT, ApprovalRequested(id="a", key=x.ONE))
KIM_ASKS = (KIM, ApprovalRequested(id="a", key=x.ONE))
APPROVES = (KIM, ApprovalAnswered(id="a", answer="approved", by="human:kim"))


@given(sayings=st.lists(SAYINGS, min_size=2, max_size=14))
@example(sayings=[ASKS, ("begin", x.ONE), ("succeeded", x.ONE), APPROVES])
@example(sayings=[("begin", x.ONE), ("unknown", x.ONE), ASKS, ("happened", x.ONE), APPROVES])
@example(sayings=[KIM_ASKS, ASKS, APPROVES])
@example(sayings=[KIM_ASKS, (AGENT, ApprovalRequested(id="a", key=x.TWO)), ASKS, APPROVES])
@example(sayings=[KIM_ASKS, ("begin", x.ONE), ("succeeded", x.ONE), ASKS, APPROVES])
def test_the_answer_that_counts_is_that_of_the_contract(sayings: list[tuple[Any, Any]]) -> None:
    """Each answer counts, or there is a reason why not; one that counts is the one the contract holds."""
    clock = SetClock()
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "default", KIM, clock, pause=lambda attempt: None))
        teller = Teller(ledger, clock, KIM)
        teller.say("r", RunOpened(goal="Pay"))
        attempts: Counter[str] = Counter()
        under_way: set[str] = set()
        for what, about in sayings:
            if what == "begin":
                attempts[about] += 1
                under_way.add(about)
                teller.say("r", x.intended(about), x.started(about, attempts[about]), after=60)
            elif what not in ENDS:
                teller.say("r", about, by=what, after=60)
            elif about in under_way:
                teller.say("r", ENDS[what](about, attempts[about]), after=60)
                under_way -= {about} if what != "unknown" else set()
        reasons = told(ledger, QUESTION, "position", "why", "executed_key")
        void = {place for place, why, executed in reasons if executed is None and why != "unanswered"}
        counting = {row[1] for row in ask(ledger, Approvers(), run="r").rows if row[8]}
        answers = {one.position for one in ledger.log("r") if isinstance(one.event, ApprovalAnswered)}
        assert void | counting == answers
        assert not void & counting
        held: set[int] = set()

        def watch(contract: Contract, record: Record) -> None:
            held.update(one.answered.position for one in contract.approvals if one.answered is not None)

        replay(ledger.log("r"), None, watch)
        assert held == counting
