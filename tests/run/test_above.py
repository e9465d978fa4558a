"""What was stopped above a run: nothing that acts begins in a part of it, and all else goes on."""

from __future__ import annotations

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Refusal
from ledger.testing import given
from ledger.values import Actor, Ending, Recovery
from tests.run import examples as x
from tests.run.claiming import begun, claim, succeed
from tests.run.lineages import KIM, PROGRAM, Run, child, restart

BY_HAND = Actor("service:login@host")
RIVAL = Actor("agent:mail", session="s-7")
PARENT = given(x.opened(), actor=PROGRAM).when(child()).after.later(seconds=1)
STOP = c.SuspendRun(reason="look into it")


def kid(parent: Run) -> Run:
    return parent.other("kid").by(PROGRAM).later(seconds=1)


def refused(parent: Run) -> Refusal | None:
    decision = kid(parent).when(claim()).decision
    return decision if isinstance(decision, Refusal) else None


@pytest.mark.parametrize("who", [KIM, BY_HAND, Actor("service:desk", session="d"), RIVAL], ids=str)
def test_nothing_that_acts_begins_in_a_child_while_somebody_else_has_stopped_its_parent(who: Actor) -> None:
    stopped = PARENT.by(who).when(STOP).after
    refusal = refused(stopped)
    assert refusal is not None
    assert (refusal.rule, refusal.events) == ("run_is_held", ())
    assert refusal.evidence == {"run": "run-1", "run_position": 3, "cause": "asked"}
    assert "look into it" in refusal.message
    assert refused(stopped.by(KIM).also(x.RESUMED)) is None


def test_all_that_does_not_act_goes_on_in_a_child_of_a_stopped_run() -> None:
    run = kid(PARENT)
    acting = begun(run)
    stopped = acting.among(PARENT.by(KIM).when(STOP).after)
    assert stopped.when(claim()).decision != acting.when(claim()).decision
    done = stopped.when(succeed()).after
    assert done.when(claim()).then_stands_at(done.position), "a result that is recorded is told"
    for command in (
        c.MoveCursor(node="next"),
        c.ReviseGoal(by="human:kim", reason="asked", text="Mail nobody"),
        claim(recovery=Recovery.READ_ONLY, tool="look"),
    ):
        assert not isinstance(stopped.when(command).decision, Refusal)


def test_a_run_that_its_own_program_or_a_limit_stopped_may_wait_for_its_children() -> None:
    for stopped in (
        PARENT.by(PROGRAM).when(STOP).after,
        PARENT.by(PROGRAM).when(c.SuspendRun(by=PROGRAM.id, reason="until it is done")).after,
        PARENT.also(e.RunSuspended(cause="steps", reason="3 steps were given")),
    ):
        assert refused(stopped) is None
        assert refused(stopped.by(KIM).when(STOP).after) is not None
    in_the_name_of = PARENT.by(PROGRAM).when(c.SuspendRun(by="human:kim", reason="stop")).after
    assert refused(in_the_name_of) is not None


def test_a_stop_that_reaches_the_children_is_not_taken_back_by_another_one() -> None:
    stopped = PARENT.by(KIM).when(STOP).after
    assert refused(stopped.by(PROGRAM).when(c.SuspendRun(reason="I wait for them")).after) is not None


@pytest.mark.parametrize(
    ("outcome", "stops"),
    [(Ending.ABANDONED, True), (Ending.CANCELLED, True), (Ending.FAILED, True), (Ending.COMPLETED, False)],
)
def test_a_run_that_ended_without_its_child_stops_it_unless_it_was_completed(
    outcome: Ending, stops: bool
) -> None:
    waived = PARENT.by(KIM).when(c.WaiveObligation(by="human:kim", id="kid", reason="not needed")).after
    ended = waived.when(c.CloseRun(outcome=outcome)).after  # type: ignore[arg-type]
    refusal = refused(ended)
    assert (refusal is not None) is stops
    if refusal is not None:
        assert refusal.evidence == {"run": "run-1", "run_position": ended.position, "outcome": outcome.value}


def test_what_a_person_opened_after_the_end_is_bound_by_it_no_more() -> None:
    ended = PARENT.by(KIM).when(c.CloseRun(outcome=Ending.CANCELLED)).after.later(seconds=1)
    heir = kid(ended).by(KIM).when(restart(as_run="kid-2")).after.other("kid-2").by(PROGRAM).later(seconds=1)
    begun(heir)


def test_a_parent_that_is_succeeded_leaves_its_children_to_its_successor() -> None:
    heir = PARENT.by(KIM).when(restart()).after.other("run-2").later(seconds=1)
    assert refused(heir) is None
    assert refused(heir.by(KIM).when(STOP).after) is not None
