"""Where somebody stepped in, and how long they were waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger, Recovery, Step
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EffectDisputed,
    EffectIntended,
    EffectReconciled,
    EffectStarted,
    EffectSucceeded,
    EffectUnknown,
    ObligationOpened,
    ObligationWaived,
    Parent,
    Reason,
    ResumeRefused,
    RunClosed,
    RunOpened,
    RunRestarted,
    RunResumed,
    RunSuspended,
)
from ledger.values import Ending, Verdict
from projections.lives import Lives
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import Teller, answered, explained, told, unbounded, written
from tests.projections.samples import catch_up, kept, naive

AGENT, KIM = Actor("agent:desk", session="s-1"), Actor("human:kim")
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
PERIOD = {"since": START, "before": START + timedelta(hours=1)}
FIRST, SECOND, ACT = "a" * 64, "b" * 64, "c" * 64
GOAL = Reason(cleared_by="goal.revised", kind="goal_lay_still", position=1, what="the goal lay still")
ROUTE = Reason(cleared_by="plan.revised", kind="plan_rests_on_nothing", what="step rests on nothing")


def resumed(incarnation: int, *, take_over: bool = False) -> RunResumed:
    return RunResumed(
        gap_seconds=incarnation, incarnation=incarnation, prompt_digest="d" * 64, take_over=take_over
    )


def intended(key: str, **more: Any) -> EffectIntended:
    return EffectIntended(
        act=ACT, args="{}", key=key, key_scheme="given", recovery=Recovery.AT_MOST_ONCE, tool="refund", **more
    )


def found(key: str, what: Any, method: Any = "person") -> EffectReconciled:
    return EffectReconciled(
        attempt=1, by="human:kim", evidence=f"looked: {what}", found=what, key=key, method=method
    )


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger of five runs: one of stops, one of answers, one of acts, one that another succeeded."""
    say = Teller(ledger, clock, AGENT).say
    say("stops", RunOpened(goal="Refund"))
    say("stops", RunSuspended(by="human:kim", cause="asked", reason="wait\0"), after=10)
    say("stops", ResumeRefused(reasons=(ROUTE, GOAL), verdict=Verdict.REPLAN), after=20)
    say("stops", resumed(2), by=KIM, after=40)
    say("stops", resumed(3, take_over=True), by=KIM, after=30)
    say("stops", RunSuspended(cause="refusals_in_a_row", reason="three in a row"), after=10)
    say("stops", resumed(4), by=KIM, after=40)
    say("stops", resumed(5), after=10)
    say("stops", ResumeRefused(reasons=(GOAL,), verdict=Verdict.RECONCILE), after=10)
    say("stops", RunClosed(by="human:kim", outcome=Ending.CANCELLED, reason="paid by hand"), after=30)

    say("answers", RunOpened(goal="Ask"))
    say("answers", ApprovalRequested(id="one", key=FIRST))
    say("answers", ObligationOpened(id="mail", owed_to="customer:17", text="Mail"), after=5)
    say("answers", ApprovalAnswered(answer="approved", by="human:kim", id="one"), by=KIM, after=40)
    say("answers", ApprovalAnswered(answer="denied", by="human:lee", id="one", reason="no"), by=KIM, after=5)
    say("answers", ObligationWaived(by="customer:17", id="mail", reason="not needed"))
    say("answers", RunClosed(outcome=Ending.FAILED, reason="the program says so"))

    say("acts", RunOpened(goal="Act"), intended(FIRST), after=100)
    say("acts", EffectUnknown(attempt=1, because="raised", key=FIRST))
    say("acts", found(FIRST, "unknown", "probe"), after=60)
    say("acts", found(FIRST, "happened"), by=KIM, after=60)
    say(
        "acts",
        EffectDisputed(
            act=ACT,
            attempt=1,
            key=FIRST,
            recovery=Recovery.AT_MOST_ONCE,
            reported="did_not_happen",
            tool="refund",
        ),
        after=60,
    )
    say("acts", found(FIRST, "did_not_happen"), by=KIM, after=7)
    say("acts", intended(SECOND, repeat_reason="the first went astray"), after=3)
    say("acts", intended(SECOND, repeat_reason="the first went astray"), after=3)
    say("acts", EffectSucceeded(attempt=2, key=SECOND))
    say("acts", RunClosed(by="human:kim", outcome=Ending.FAILED, reason="enough"), by=KIM)

    parent = Parent(position=3, relation="successor", root="old", run="old")
    say("old", RunOpened(goal="Old"), after=100)
    say("old", ResumeRefused(reasons=(GOAL,), verdict=Verdict.RESTART))
    say("old", RunClosed(by="human:kim", outcome=Ending.RESTARTED, successor="new"), after=90)
    say("new", RunOpened(goal="New", parent=parent))
    restarted = RunRestarted(
        by="human:kim",
        effects_done=0,
        predecessor="old",
        predecessor_hash="e" * 64,
        predecessor_position=2,
        reason="another model",
    )
    say("new", restarted, by=KIM)
    return ledger


STOPS = [
    ("stops", 2, "suspended", None, "human:kim", "agent:desk", "wait␀", None, None, None),
    ("stops", 4, "resumed", None, None, "human:kim", None, 60, "stops", 2),
    ("stops", 5, "take_over", None, None, "human:kim", None, None, None, None),
    ("stops", 7, "resumed", None, None, "human:kim", None, 40, "stops", 6),
    ("stops", 10, "cancelled", None, "human:kim", "agent:desk", "paid by hand", 30, "stops", 9),
]
ANSWERS = [
    ("answers", 4, "approved", "approval:one", "human:kim", "human:kim", None, 45, "answers", 2),
    ("answers", 5, "denied", "approval:one", "human:lee", "human:kim", "no", 50, "answers", 2),
    (
        *("answers", 6, "waived", "obligation:mail", "customer:17", "human:kim", "not needed"),
        *(None, None, None),
    ),
]
_FIRST, _SECOND = f"effect:{FIRST}", f"effect:{SECOND}"
ACTS = [
    # It was unknown from position 3 on, whatever the probe of position 4 said.
    ("acts", 5, "overridden", _FIRST, "human:kim", "human:kim", "looked: happened", 120, "acts", 3),
    ("acts", 7, "overridden", _FIRST, "human:kim", "human:kim", "looked: did_not_happen", 7, "acts", 6),
    # What was repeated is the last act of its kind under another key; nothing had asked for that.
    ("acts", 8, "overridden", _SECOND, None, "agent:desk", "the first went astray", None, "acts", 2),
    ("acts", 11, "stopped", None, "human:kim", "human:kim", "enough", None, None, None),
]
RESTARTS = [("new", 2, "restarted", None, "human:kim", "human:kim", "another model", 90, "old", 2)]
COLUMNS = ("run", "position", "what", "thing", "by", "actor", "reason", "response_seconds")
ALL_COLUMNS = (*COLUMNS, "to_run", "to_position")


def test_each_intervention_is_told_with_what_asked_for_it(desk: Ledger) -> None:
    assert told(desk, "interventions", *ALL_COLUMNS) == [*STOPS, *ANSWERS, *ACTS, *RESTARTS]


def test_a_repeat_that_waits_for_an_approval_steps_in_once_it_begins(ledger: Ledger, clock: SetClock) -> None:
    say = Teller(ledger, clock, AGENT).say
    began = EffectStarted(
        attempt=1, key=SECOND, lease_until=START + timedelta(hours=1), root="r", worker="w-1"
    )
    say("r", RunOpened(goal="Refund"), intended(FIRST), EffectSucceeded(attempt=1, key=FIRST))
    # What only waits is no act that could be repeated, either.
    say("r", intended("e" * 64), intended(SECOND, repeat_reason="the first went astray"))
    assert told(ledger, "interventions", "position") == []
    say("r", intended(SECOND, approval="a", repeat_reason="the first went astray"), began)
    assert told(ledger, "interventions", "position", "what", "to_position") == [(5, "overridden", 2)]


def test_they_are_told_of_one_run_and_of_a_period(desk: Ledger) -> None:
    for run, expected in (("stops", STOPS), ("answers", ANSWERS), ("acts", ACTS), ("new", RESTARTS)):
        assert told(desk, "interventions", *ALL_COLUMNS, run=run) == expected
    assert told(desk, "interventions", *ALL_COLUMNS, run="old") == []
    # From the second of position 4 to before that of position 7.
    period = {"since": START + timedelta(seconds=70), "before": START + timedelta(seconds=150)}
    for more in ({}, {"run": "stops"}):
        assert told(desk, "interventions", *ALL_COLUMNS, **period, **more) == STOPS[1:3]
    assert told(desk, "interventions", "at", run="stops")[1] == (written(START + timedelta(seconds=70)),)


def test_they_are_told_as_of_an_earlier_moment(desk: Ledger) -> None:
    fourth = next(desk.log("stops", after=3, limit=1))
    assert told(desk, "interventions", *ALL_COLUMNS, as_of=fourth.global_position) == STOPS[:2]
    assert told(desk, "interventions", *ALL_COLUMNS, as_of=fourth.at) == STOPS[:2]
    assert told(desk, "interventions", *ALL_COLUMNS, as_of=fourth.at - timedelta(seconds=1)) == STOPS[:1]


def test_every_verdict_is_told_with_all_its_reasons(desk: Ledger) -> None:
    columns = ("run", "position", "verdict", "incarnation", "gap_seconds", "take_over", "kinds", "actor")
    rows = told(desk, "resumes", *columns)
    kinds = "plan_rests_on_nothing, goal_lay_still"
    assert rows == [
        ("stops", 3, "replan", None, None, None, kinds, "agent:desk"),
        ("stops", 4, "continue", 2, 2, 0, None, "human:kim"),
        ("stops", 5, "continue", 3, 3, 1, None, "human:kim"),
        ("stops", 7, "continue", 4, 4, 0, None, "human:kim"),
        ("stops", 8, "continue", 5, 5, 0, None, "agent:desk"),
        ("stops", 9, "reconcile", None, None, None, "goal_lay_still", "agent:desk"),
        ("old", 2, "restart", None, None, None, "goal_lay_still", "agent:desk"),
    ]
    reasons = (
        '[{"cleared_by":"plan.revised","kind":"plan_rests_on_nothing","what":"step rests on nothing"},'
        '{"cleared_by":"goal.revised","kind":"goal_lay_still","position":1,"what":"the goal lay still"}]'
    )
    assert told(desk, "resumes", "reasons", "session", run="stops")[0] == (reasons, "s-1")
    assert told(desk, "resumes", *columns, verdict="restart") == rows[6:]
    assert told(desk, "resumes", *columns, run="old", verdict="continue") == []
    period = {"since": START + timedelta(seconds=70), "before": START + timedelta(seconds=150)}
    assert told(desk, "resumes", *columns, **period) == rows[1:3]
    fourth = next(desk.log("stops", after=3, limit=1))
    assert told(desk, "resumes", *columns, as_of=fourth.global_position) == rows[:2]


def test_what_the_gate_itself_says_is_told(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("run", "Refund", actor=AGENT)
    run.assume("in-stock", "There is one left")
    run.commit_plan([Step(name="ship", rests_on=("assumption:in-stock",))])
    person = ledger.run("run", actor=KIM)
    person.suspend(reason="wait", by="human:kim")
    person.refute("in-stock", evidence="the warehouse has none", by="human:kim")
    clock.tick(60)
    held = ledger.resume("run", actor=AGENT)
    clock.tick(60)
    person.revise_plan(["ship"], reason="wait for the next")
    gone_on = ledger.resume("run", actor=KIM)
    assert held.reasons
    (first, second) = told(ledger, "resumes", "verdict", "kinds", "gap_seconds", "actor", run="run")
    assert first == (held.verdict.value, ", ".join(one.kind for one in held.reasons), None, "agent:desk")
    assert second == (gone_on.verdict.value, None, 0, "human:kim")
    rows = told(ledger, "interventions", "what", "actor", "response_seconds", "to_position", run="run")
    assert rows == [("suspended", "human:kim", None, None), ("resumed", "human:kim", 120, 4)]


@pytest.mark.parametrize("page", [1, 500])
def test_lives_are_what_a_naive_fold_comes_to(desk: Ledger, page: int) -> None:
    catch_up(desk, Lives(), page=page)
    rows = kept(desk, Lives())
    assert rows == naive(desk, Lives())
    assert (len(rows["steps"]), len(rows["reasons"])) == (19, 4)
    steps = {(row[0], row[1]): row for row in rows["steps"]}
    assert steps["new", 1][3:8] == ("opened", None, None, "successor", None)
    assert steps["new", 2][12:16] == (None, "old", 2, "e" * 64)
    assert steps["old", 3][12:14] == ("restarted", "new")


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("given", [{"run": "stops"}, PERIOD, {"run": "stops", **PERIOD}])
def test_a_run_or_a_period_is_looked_up(
    desk: Ledger, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any]
) -> None:
    answered(desk, "interventions")
    plans = explained(monkeypatch)
    for question in ("interventions", "resumes"):
        assert answered(desk, question, **given).rows
    assert plans
    # Of a run that is asked about nothing but the run is read, however long the period.
    assert unbounded(plans, "act=?", *(() if "run" in given else ("at>?",))) == []
