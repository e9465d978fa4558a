"""What holds a run whose approval binds no more, and both ways out of it: asking anew, and a denial."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.testing import START, History
from ledger.values import Actor, Step, Verdict
from tests.gate.asking import ANOTHER, HOUR, kinds, stopped
from tests.run import examples as x

KIM, LEE = Actor("human:kim"), Actor("human:lee")
REQUEST = e.ApprovalRequested(id=f"{x.ONE}-12345678", key=x.ONE, expires_at=START + 3 * HOUR)
MOVED_ON: dict[str, tuple[e.Event, ...]] = {
    "terms": (e.GoalRevised(by="human:kim", reason="asked", text="less"),),
    "plan": (e.PlanCommitted(steps=(Step(name="pay"),)),),
    "time": (),
}

Run = History[Contract | None]


def held(why: str) -> Run:
    """Return a run that waits for a person, whose request is void, and that the gate holds for that."""
    run = stopped(x.intended(), REQUEST, said=MOVED_ON[why])
    if why == "time":
        run = run.later(hours=1)
    assert kinds(run) == ["approval_void"]
    refused = run.when(c.ResumeRun())
    refused.then(e.ResumeRefused(reasons=run.judged().reasons, verdict=Verdict.REAPPROVE))
    return refused.after


@pytest.mark.parametrize("why", MOVED_ON)
def test_a_request_under_what_holds_now_clears_it_and_its_run_goes_on(why: str) -> None:
    asked = held(why).by(LEE).when(c.RequestApproval(key=x.ONE)).after
    (approval,) = asked.contract.approvals
    assert (approval.answered, approval.expires_at, approval.id == REQUEST.id) == (None, None, False)
    assert kinds(asked.by(ANOTHER)) == []
    assert asked.by(ANOTHER).when(c.ResumeRun()).after.contract.held is None


@pytest.mark.parametrize("why", MOVED_ON)
def test_a_denial_clears_it_too_and_the_act_is_no_more(why: str) -> None:
    said = c.AnswerApproval(id=REQUEST.id, answer="denied", by="human:kim")
    denied = held(why).by(KIM).when(said).after
    assert denied.contract.effects == ()
    assert kinds(denied.by(ANOTHER)) == []


@pytest.mark.parametrize("why", MOVED_ON)
def test_an_approval_does_not_for_it_binds_nothing(why: str) -> None:
    said = c.AnswerApproval(id=REQUEST.id, answer="approved", by="human:kim")
    approved = held(why).by(KIM).when(said).after
    assert kinds(approved.by(ANOTHER)) == ["approval_void"]


def test_what_was_asked_anew_is_void_again_once_that_has_changed() -> None:
    asked = held("terms").by(LEE).when(c.RequestApproval(key=x.ONE)).after
    again = asked.by(KIM).also(e.GoalRevised(by="human:kim", reason="asked", text="less still"))
    assert kinds(again.by(ANOTHER)) == ["approval_void"]
    until = START + timedelta(hours=9)
    short = held("terms").by(LEE).when(c.RequestApproval(key=x.ONE, expires_at=until)).after
    assert kinds(short.by(ANOTHER)) == []
    assert kinds(short.by(ANOTHER).at(until)) == ["approval_void"]
