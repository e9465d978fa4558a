"""A goal is revised by somebody for a reason; a plan is committed once and then revised."""

from __future__ import annotations

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.commands import CommitPlan, ReviseGoal, RevisePlan
from ledger.testing import given
from ledger.values import Step
from tests.run import examples as x

REVISE = ReviseGoal(by="human:kim", reason="customer asked", rests_on=("assumption:a",), text="Say so, too")
REVISED = e.GoalRevised(
    by="human:kim", reason="customer asked", rests_on=("assumption:a",), text="Say so, too"
)
LOOK, PAY = Step(name="look"), Step(name="pay", tool="refund")


def test_a_revised_goal_names_who_why_and_its_number() -> None:
    goal = given(x.opened()).when(REVISE).then(REVISED).contract.goal
    assert (goal.text, goal.by, goal.reason, goal.rests_on) == (
        "Say so, too",
        "human:kim",
        "customer asked",
        ("assumption:a",),
    )
    assert (goal.revision, goal.position) == (2, 2)


def test_the_same_revision_told_again_stands_where_it_stood() -> None:
    given(x.opened(), REVISED).when(REVISE).then_stands_at(2)


def test_the_same_text_for_another_reason_is_another_revision() -> None:
    other = REVISE.model_copy(update={"reason": "the law"})
    history = given(x.opened(), REVISED).when(other).then(REVISED.model_copy(update={"reason": "the law"}))
    assert history.contract.goal.revision == 3


def test_a_plan_is_committed_once() -> None:
    history = (
        given(x.opened())
        .when(CommitPlan(by="human:kim", steps=(LOOK, PAY)))
        .then(e.PlanCommitted(by="human:kim", steps=(LOOK, PAY)))
    )
    plan = history.contract.plan
    assert plan is not None
    assert (plan.steps, plan.revision, plan.position) == ((LOOK, PAY), 1, 2)
    history.when(CommitPlan(by="human:kim", steps=(LOOK, PAY))).then_stands_at(2)
    history.when(CommitPlan(steps=(LOOK, PAY))).then_refused("id_in_use", position=2)
    history.when(CommitPlan(steps=(PAY,))).then_refused("id_in_use", position=2)


def test_a_committed_plan_is_revised_with_a_reason() -> None:
    history = given(x.opened(), e.PlanCommitted(steps=(LOOK, PAY)))
    history = history.when(RevisePlan(reason="seen", steps=(PAY,))).then(
        e.PlanRevised(reason="seen", steps=(PAY,))
    )
    plan = history.contract.plan
    assert plan is not None
    assert (plan.steps, plan.reason, plan.revision) == ((PAY,), "seen", 2)
    history.when(RevisePlan(reason="seen", steps=(PAY,))).then_stands_at(3)
    history.when(RevisePlan(reason="again", steps=(PAY,))).then(e.PlanRevised(reason="again", steps=(PAY,)))


def test_a_plan_that_was_never_committed_cannot_be_revised() -> None:
    given(x.opened()).when(RevisePlan(reason="seen", steps=(PAY,))).then_refused("not_open")


def test_a_plan_names_every_step_once() -> None:
    twins = (LOOK, PAY, LOOK)
    decided = given(x.opened()).when(CommitPlan(steps=twins))
    decided.then_refused("id_in_use", position=None)
    assert decided.decision.evidence == {"kind": "step", "id": "look"}  # type: ignore[union-attr]
    given(x.opened(), e.PlanCommitted(steps=(PAY,))).when(
        RevisePlan(reason="more", steps=twins)
    ).then_refused("id_in_use")


@pytest.mark.parametrize("let_go", [False, True])
def test_nothing_new_rests_on_what_is_known_to_be_wrong(let_go: bool) -> None:
    made = e.AssumptionMade(id="so", text="It is so")
    rests = e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:so",))
    wrong = e.AssumptionRefuted(id="so", evidence="It is not")
    history = given(x.opened(), made, *(() if let_go else (rests,)), wrong)
    assert [item.id for item in history.contract.known_wrong] == ["so"]
    on = ("assumption:so",)
    history.when(c.ReviseGoal(by="human:kim", reason="r", rests_on=on, text="Other")).then_refused("not_open")
    step = Step(name="pay", rests_on=on)
    history.when(c.CommitPlan(steps=(step,))).then_refused("not_open")
    history.when(c.MakeAssumption(id="new", rests_on=on, text="And so")).then_refused("not_open")
    planned = history.also(e.PlanCommitted(steps=(Step(name="all"),)))
    planned.when(c.RevisePlan(reason="r", steps=(step,))).then_refused("not_open")
    again = history.when(c.MakeAssumption(id="so2", text="It is so after all")).then(
        e.AssumptionMade(id="so2", text="It is so after all")
    )
    again.when(c.CommitPlan(steps=(Step(name="pay", rests_on=("assumption:so2",)),))).then(
        e.PlanCommitted(steps=(Step(name="pay", rests_on=("assumption:so2",)),))
    )


def test_an_assumption_made_once_more_is_known_to_be_wrong_no_longer() -> None:
    history = given(
        x.opened(),
        e.AssumptionMade(id="so", text="It is so"),
        e.AssumptionRefuted(id="so", evidence="It is not"),
        e.AssumptionMade(id="so", text="It is so"),
    )
    assert history.contract.known_wrong == ()
