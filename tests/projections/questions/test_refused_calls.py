"""Which calls were refused, by which rule."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ledger import Actor, Ledger, Source, Step
from ledger import events as e
from ledger.errors import (
    ApprovalDenied,
    ApprovalRequired,
    AuthorityExceeded,
    ConstraintViolated,
    ContractChanged,
    OffPlan,
    PossibleRepeat,
)
from ledger.values import Operator, Predicate, Rule
from ledger.values.parts import Published
from projections.questions.refused_calls import RefusedCalls
from tests.projections.conftest import SetClock
from tests.projections.questions.rule_book import strays
from tests.projections.questions.telling import answered, explained, scans, told
from tests.run.examples import ONE, opened

QUESTION = RefusedCalls()
AGENT, KIM = Actor("agent:desk"), Actor("human:kim")
SHORT = ("run", "position", "rule", "tool", "refused_by")


def minute(number: int) -> datetime:
    return datetime(2026, 1, 31, 9, number, tzinfo=UTC)


def done(order: int) -> int:
    return order


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Refuse calls by three rules in two runs."""
    run = ledger.open_run("run-1", "Refund", actor=AGENT)  # 1
    kim = ledger.run("run-1", actor=KIM)
    kim.grant("g", principal="agent:desk", scopes=["refund"], granted_by="human:kim")  # 2
    run.perform("refund", {"order": 1}, done, step="pay")  # 3 to 5
    clock.now = minute(1)
    with pytest.raises(PossibleRepeat):
        run.perform("refund", {"order": 1}, done, step="again")  # 6
    clock.now = minute(2)
    with pytest.raises(AuthorityExceeded):
        run.perform("mail", {"order": 2}, done)  # 7
    other = ledger.open_run("run-2", "Refund", actor=KIM)  # 1
    other.commit_plan([Step(name="look")])  # 2
    clock.now = minute(3)
    with pytest.raises(OffPlan):
        other.perform("refund", {"order": 3}, done, step="pay")  # 3
    return ledger


REPEAT = ("run-1", 6, "possible_repeat", "refund", 5)
EXCEEDED = ("run-1", 7, "authority_exceeded", "mail", 2)
OFF_PLAN = ("run-2", 3, "off_plan", "refund", 2)


def test_refusals_are_told_by_rule_with_what_refused_them(desk: Ledger) -> None:
    assert told(desk, QUESTION, *SHORT) == [
        EXCEEDED,
        OFF_PLAN,
        REPEAT,
    ]
    [(_, position, at, tool, step, rule, by, key, args, actor, *named, evidence)] = told(
        desk, QUESTION, run="run-2"
    )
    assert named == [None] * 6
    assert (position, at, tool, step, rule, by) == (
        *(3, "2026-01-31T09:03:00.000000Z", "refund", "pay"),
        *("off_plan", 2),
    )
    assert (len(key), args, actor, evidence) == (64, '{"order":3}', "human:kim", None)
    [(evidence,)] = told(desk, QUESTION, "evidence", rule="possible_repeat")
    assert '"status":"succeeded"' in evidence


def test_they_are_asked_for_by_run_rule_tool_period_and_moment(desk: Ledger) -> None:
    def places(**given: object) -> list[tuple[object, ...]]:
        return told(desk, QUESTION, "run", "position", **given)

    assert places(run="run-1") == [("run-1", 7), ("run-1", 6)]
    assert places(rule="off_plan") == [("run-2", 3)]
    assert places(rule="off_plan", run="run-1") == []
    assert places(tool="mail") == [("run-1", 7)]
    assert places(since=minute(2)) == [("run-1", 7), ("run-2", 3)]
    assert places(since=minute(2), before=minute(3)) == [("run-1", 7)]
    assert places(as_of=minute(1)) == [("run-1", 6)]


AT_MOST_5 = Predicate(operator=Operator.AT_MOST, path="/order", value="5")
MODEST = Published(id="modest", text="Be modest", rule=Rule(require=(AT_MOST_5,)))
POLITE = Published(id="polite", text="Ask first", rule=Rule(needs_approval=True))
NAMED = ("position", "rule", "refused_by", "constraint", "source", "revision", "asserted_by")


@pytest.fixture
def held(ledger: Ledger, clock: SetClock) -> Ledger:
    """Refuse by a rule of a source, by a denial, by what a source withdrew, and by one that has no source."""
    policy = ledger.source("policy:refunds", actor=KIM)
    policy.publish("7", [MODEST, POLITE])
    run = ledger.open_run("run-1", "Refund", actor=KIM)  # 1
    pointer = Source("policy", "refunds", revision="7")
    for one in (MODEST, POLITE):  # 2, 3
        run.accept(one.id, one.text, asserted_by="human:lee", rule=one.rule, source=pointer)
    agent = ledger.run("run-1", actor=AGENT)
    with pytest.raises(ConstraintViolated):
        agent.perform("refund", {"order": 9}, done)  # 4
    with pytest.raises(ApprovalRequired) as asked:
        agent.perform("refund", {"order": 4}, done)  # 5, 6
    ledger.deny(asked.value.id, by="human:kim", reason="not today")  # 7
    with pytest.raises(ApprovalDenied):
        agent.perform("refund", {"order": 4}, done)  # 8
    clock.now = minute(5)
    policy.publish("8", [POLITE], withdraw=["modest"])
    with pytest.raises(ContractChanged):
        agent.perform("refund", {"order": 5}, done)  # 9
    other = ledger.open_run("run-2", "Refund", actor=KIM)  # 1
    other.accept("own", "No mail", asserted_by="human:kim", rule=Rule(deny=("mail",)))  # 2
    with pytest.raises(ConstraintViolated):
        other.perform("mail", {"order": 5}, done)  # 3
    return ledger


def test_what_refused_a_call_is_named_with_its_source_or_who_denied_it(held: Ledger) -> None:
    assert told(held, QUESTION, *NAMED) == [
        (8, "approval_denied", 7, None, None, None, None),
        (4, "constraint_violated", 2, "modest", "policy:refunds", "7", "human:lee"),
        (3, "constraint_violated", 2, "own", None, None, "human:kim"),
        (9, "contract_changed", 2, "modest", "policy:refunds", None, None),
    ]
    (denied,) = told(held, QUESTION, "approval", "denied_by", "args", rule="approval_denied")
    (waiting,) = (one.event for one in held.log("run-1") if one.position == 6)
    assert denied == (waiting.id, "human:kim", '{"order":4}')  # type: ignore[attr-defined]
    (evidence,) = told(held, QUESTION, "evidence", rule="constraint_violated", run="run-1")
    assert '"conditions":"/order is at most 5"' in evidence[0]


def test_they_are_asked_for_by_the_source_that_refused(held: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"source": "policy:refunds"}
    assert told(held, QUESTION, "position", **source) == [(4,), (9,)]
    assert told(held, QUESTION, "position", **source, since=minute(5)) == [(9,)]
    assert told(held, QUESTION, "position", **source, run="run-2") == []
    assert answered(held, QUESTION, source="policy:mails").notes == (
        "no refusal by a constraint of the source 'policy:mails' is recorded",
    )
    plans = explained(monkeypatch)
    assert told(held, QUESTION, "position", **source, before=minute(9))
    assert scans(plans) == []


def test_what_a_refusal_leaves_out_is_empty(ledger: Ledger) -> None:
    """A secret names neither act nor arguments; evidence and words are told as they were."""
    secret = e.EffectRefused(rule="secret_found", tool="refund")
    whole = e.EffectRefused(
        act="a" * 64,
        args="{}",
        evidence={"b": "2", "a": "\0"},
        key=ONE,
        position=9,
        rule="x",
        step="s",
        tool="t",
    )
    ledger.import_events("r", [opened(), secret, whole], expected=0)
    columns = ("rule", "step", "refused_by", "key", "args", "evidence")
    assert told(ledger, QUESTION, *columns) == [
        ("secret_found", None, None, None, None, None),
        ("x", "s", 9, ONE, "{}", '{"a":"\\u0000","b":"2"}'),
    ]


def test_it_is_asked_by_constraint_and_says_where_a_rule_is_one(held: Ledger) -> None:
    places = ("run", "position")
    assert told(held, QUESTION, *places, constraint="modest") == [("run-1", 4), ("run-1", 9)]
    assert told(held, QUESTION, *places, constraint="modest", run="run-2") == []
    assert told(held, QUESTION, *places, constraint="own", rule="constraint_violated") == [("run-2", 3)]
    slip = answered(held, QUESTION, rule="modest")
    assert slip.rows == []
    assert any("'modest' is the id of a constraint: ask constraint=" in note for note in slip.notes)
    for more in ({"rule": "off_plan"}, {"constraint": "never"}):
        nothing = answered(held, QUESTION, **more)
        assert nothing.rows == []
        assert not any("is the id of a constraint" in note for note in nothing.notes)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_it_reads_no_whole_table(desk: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = explained(monkeypatch)
    for asked in (
        {"run": "run-1"},
        {"rule": "off_plan"},
        {"since": minute(2)},
        {"rule": "off_plan", "before": minute(9)},
    ):
        assert answered(desk, QUESTION, **asked).rows
        assert plans
        assert scans(plans) == [], asked
        plans.clear()
    for more in ({}, {"rule": "possible_repeat"}, {"since": minute(1)}):
        assert answered(desk, QUESTION, run="run-1", **more).rows
        assert plans
        assert strays(plans) == [], more
        plans.clear()
