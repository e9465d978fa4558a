"""Something that was taken for granted turns out to be wrong while the run waits."""

from __future__ import annotations

import pytest

from ledger import Run, Step
from ledger.commands import RefuteAssumption, RevisePlan
from ledger.errors import OffPlan
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.scene import RUN, Scene

LOOK, SEND = Step(name="pay-17"), Step(name="send", rests_on=("assumption:in-stock",))
WRONG = RefuteAssumption(id="in-stock", evidence="the warehouse has none", by="human:kim")


def planned(desk: Desk, *steps: Step) -> Run:
    run = desk.scene.begin()
    run.assume("in-stock", "The item is in stock")
    run.commit_plan(steps)
    return run


def pay(scene: Scene, run: str = RUN, step: str = "pay-17") -> None:
    scene.program().run(run).perform(scene.till.tool(), {"order": 17}, step=step)


def test_a_step_that_rests_on_it_is_planned_anew(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    planned(desk, LOOK, SEND).suspend(reason="night")
    desk.say(WRONG)
    said = desk.is_held("replan", "assumption_refuted")
    assert (said.cleared_by, "step:send" in said.whats[0]) == (["plan.revised"], True)
    vouchers = Step(name="send-vouchers")
    desk.say(RevisePlan(steps=(LOOK, vouchers), reason="there is none", by="human:kim"))
    desk.goes_on()
    pay(scene)
    with pytest.raises(OffPlan):
        pay(scene, step="send")
    assert scene.till.orders == [17]


def test_a_plan_of_which_nothing_is_left_is_restarted(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    run = planned(desk, LOOK, SEND)
    pay(scene)
    run.move("send")
    run.suspend(reason="night")
    desk.say(WRONG)
    said = desk.is_held("restart", "plan_refuted")
    assert said.cleared_by == ["run.restarted"]
    desk.restart("refund-17b")
    heir = scene.program().run("refund-17b")
    assert heir.contract.assumptions == ()
    assert heir.contract.plan is None
    heir.commit_plan([LOOK, "send-vouchers"])
    pay(scene, "refund-17b")
    # What was planned anew is shown as what it is: a difference.
    found = {(one.id, one.change) for one in scene.program().diff(RUN, "refund-17b").differences}
    assert {("send", "removed"), ("send-vouchers", "added")} <= found
    assert scene.till.orders == [17]
    heir.suspend(reason="night")
    desk.goes_on("refund-17b")
    assert scene.is_sound()
