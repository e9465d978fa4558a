"""What was stopped above a run: nothing that acts begins in a part of it, and all else goes on."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Refusal
from ledger.run.state import replay
from ledger.testing import given
from ledger.values import Actor, Ending, Recovery, Verdict
from tests.run import examples as x
from tests.run.claiming import begun, claim, succeed
from tests.run.lineages import KIM, PROGRAM, Run, child, restart

BY_HAND = Actor("service:login@host")
DESK = Actor("service:desk", session="d")
RIVAL = Actor("agent:mail", session="s-7")
PAY = Actor("service:pay")
ENDED = c.CloseRun(outcome=Ending.CANCELLED)
PARENT = given(x.opened(), actor=PROGRAM).when(child()).after.later(seconds=1)
STOP = c.SuspendRun(reason="look into it")


def kid(parent: Run) -> Run:
    return parent.other("kid").by(PROGRAM).later(seconds=1)


def refused(parent: Run) -> Refusal | None:
    decision = kid(parent).when(claim()).decision
    return decision if isinstance(decision, Refusal) else None


@pytest.mark.parametrize("who", [KIM, BY_HAND, DESK], ids=str)
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


@pytest.mark.parametrize(
    ("who", "by"),
    [
        (RIVAL, None),
        (RIVAL, "human:kim"),
        (PROGRAM, "human:kim"),
        (Actor("service:relay", on_behalf_of=(RIVAL.id,)), None),
        (DESK, RIVAL.id),
        (KIM, RIVAL.id),
    ],
    ids=str,
)
def test_the_word_of_an_agent_stops_no_children_whoever_it_names_or_passes_it_on(
    who: Actor, by: str | None
) -> None:
    assert refused(PARENT.by(who).when(c.SuspendRun(by=by, reason="stop all")).after) is None


@pytest.mark.parametrize("opener", [PAY, KIM, PROGRAM], ids=str)
@pytest.mark.parametrize("session", [None, "x"])
def test_a_service_that_was_last_at_work_on_a_run_is_its_program_with_or_without_a_session(
    opener: Actor, session: str | None
) -> None:
    begun = given(x.opened(), actor=opener).by(PAY).when(c.MoveCursor(node="work")).after
    parent = begun.by(Actor(PAY.id, session=session)).when(child()).after.later(seconds=1)
    assert refused(parent.when(STOP).after) is None
    assert refused(parent.by(DESK).when(c.SuspendRun(by=PAY.id, reason="it waits")).after) is None
    records = parent.when(STOP).after.records
    assert (replayed := replay(records)) is not None
    assert replayed == parent.when(STOP).after.contract
    for who, by in ((PAY, "human:kim"), (DESK, None), (DESK, "human:kim"), (KIM, None)):
        assert refused(parent.by(who).when(c.SuspendRun(by=by, reason="stop")).after) is not None


def test_a_person_who_opened_the_run_is_not_its_program() -> None:
    assert refused(given(x.opened(), actor=KIM).when(child()).after.when(STOP).after) is not None


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


def restarted(run: Run, by: str = "human:kim", who: Actor = KIM, **more: Any) -> Run:
    """Give a run a successor, and go on with that."""
    after = run.by(who).when(restart(by=by, **more)).after
    return after.other(str(more["as_run"])).by(PROGRAM)


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
def test_the_successor_that_a_person_gives_a_part_after_the_end_is_bound_by_it_no_more(ahead: int) -> None:
    """Whatever the clocks say."""
    ended = PARENT.by(KIM).when(ENDED).after
    heir = restarted(kid(ended).later(seconds=ahead), as_run="kid-2")
    begun_ = heir.records[1].event
    assert isinstance(begun_, e.RunRestarted)
    assert [one.ref for one in begun_.dropped] == ["run:run-1"]
    assert "closed as cancelled" in begun_.dropped[0].reason
    assert heir.contract.freed_from == ("run-1",)
    begun(heir)
    begun(restarted(heir, as_run="kid-3", by="service:ops", who=DESK))
    below = heir.when(child(as_run="deep")).after.other("deep")
    begun(below)


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
def test_no_other_successor_of_a_part_is_let_go(ahead: int) -> None:
    before = restarted(kid(PARENT).later(seconds=ahead), as_run="kid-2")
    assert before.contract.freed_from == ()
    ended = PARENT.by(KIM).when(ENDED).after
    assert isinstance(before.among(ended).when(claim()).decision, Refusal)
    by_service = restarted(kid(ended), as_run="kid-2", by="service:ops", who=DESK)
    assert isinstance(by_service.when(claim()).decision, Refusal)


@pytest.mark.parametrize("ahead", [-3600, 0, 3600])
def test_a_part_that_a_stopped_part_opens_is_bound_like_it(ahead: int) -> None:
    ended = PARENT.by(KIM).when(ENDED).after
    deep = kid(ended).later(seconds=ahead).when(child(as_run="deep")).after.other("deep").by(PROGRAM)
    decision = deep.when(claim()).decision
    assert isinstance(decision, Refusal)
    assert decision.evidence["run"] == "run-1"
    assert "close 'deep', or have a person restart it" in decision.message


def test_who_is_freed_from_one_end_is_bound_by_another() -> None:
    deep = kid(PARENT).when(child(as_run="deep")).after.other("deep").by(PROGRAM)
    middle = deep.other("kid").by(KIM).when(c.CloseRun(outcome=Ending.FAILED)).after.other("deep")
    heir = restarted(middle, as_run="deep-2")
    assert heir.contract.freed_from == ("kid",)
    begun(heir)
    ended = heir.among(PARENT.by(KIM).when(ENDED).after)
    assert isinstance(ended.when(claim()).decision, Refusal)
    again = restarted(ended, as_run="deep-3")
    assert again.contract.freed_from == ("run-1",), "what its predecessor is free of it need not be told"
    begun(again)


# --- what the gate says ----------------------------------------------------------------------------


def test_the_gate_names_what_stands_above_a_run() -> None:
    stop = c.SuspendRun(by="human:lee", reason="look into it")
    asked = kid(PARENT.by(KIM).when(stop).after).when(c.SuspendRun(reason="night")).after
    judged = asked.judged()
    assert judged.verdict is Verdict.REAPPROVE
    (reason,) = judged.reasons
    assert (reason.kind, reason.cleared_by, reason.who) == ("suspended_above", "run.resumed", "human:lee")
    assert "'run-1'" in reason.what
    assert "look into it" in reason.what
    held = asked.when(c.ResumeRun()).after
    assert held.contract.held is not None
    ended = asked.among(PARENT.by(KIM).when(ENDED).after).judged()
    assert [one.kind for one in ended.reasons] == ["ended_above"]
    assert ended.verdict is Verdict.RESTART
    assert held.among(PARENT).judged().reasons == ()


def test_a_parent_that_is_succeeded_leaves_its_children_to_its_successor() -> None:
    heir = PARENT.by(KIM).when(restart()).after.other("run-2").later(seconds=1)
    assert refused(heir) is None
    assert refused(heir.by(KIM).when(STOP).after) is not None
