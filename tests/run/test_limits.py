"""What would go beyond a limit suspends the run with the reason; what adds nothing goes beyond none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import events as e
from ledger.commands import (
    AnswerApproval,
    ClaimEffect,
    CloseRun,
    Command,
    MakeAssumption,
    MoveCursor,
    RefuteAssumption,
    ResumeRun,
    ReviseGoal,
    SuspendRun,
)
from ledger.run.decision import Admitted, Given, Refusal
from ledger.run.limits import after_refusals
from ledger.run.permission import Permission, permission
from ledger.testing import START, given
from ledger.values import Actor, Ending, Limits, Recovery, Rule
from tests.run import examples as x
from tests.run.claiming import Run, begun, claim, fail, looked_at, started, succeed

REFUSED = e.EffectRefused(rule="off_plan", tool="mail")


def suspended(cause: str, reason: str) -> e.RunSuspended:
    return e.RunSuspended.model_validate({"cause": cause, "reason": reason})


def test_a_step_beyond_the_limit_is_refused_and_suspends_the_run() -> None:
    history = given(x.opened(limits=Limits(steps=2)))
    for node in ("look", "pay"):
        history = history.when(MoveCursor(node=node)).then(e.CursorMoved(node=node))
    stopped = history.when(MoveCursor(node="mail")).then_refused(
        "run_is_held", events=[suspended("steps", "the run was given 2 steps, which are taken")]
    )
    assert stopped.contract.status == "suspended"
    assert stopped.contract.tally.steps == 2
    stopped.when(MoveCursor(node="mail")).then_refused("run_is_held", position=4)


def test_a_repeated_move_at_the_limit_is_still_a_repeat() -> None:
    history = given(x.opened(limits=Limits(steps=1)), e.CursorMoved(node="look"))
    history.when(MoveCursor(node="look")).then_stands_at(2)


def test_other_requests_do_not_count_as_steps() -> None:
    history = given(x.opened(limits=Limits(steps=1)), e.CursorMoved(node="look"))
    history.when(MakeAssumption(id="a", text="one")).then(e.AssumptionMade(id="a", text="one"))


WALL = given(x.opened(limits=Limits(wall_seconds=60)))


def test_wall_time_runs_from_the_opening() -> None:
    just = WALL.at(START + timedelta(seconds=59, microseconds=999_999))
    just.when(MoveCursor(node="look")).then(e.CursorMoved(node="look"))
    over = suspended("wall_seconds", "the run was given 60 seconds, which are over")
    stopped = WALL.later(seconds=60).when(MoveCursor(node="look")).then_refused("run_is_held", events=[over])
    assert stopped.contract.suspended is not None
    assert stopped.contract.suspended.cause == "wall_seconds"


def test_a_limit_longer_than_any_calendar_is_no_error() -> None:
    history = given(x.opened(limits=Limits(wall_seconds=2**53 - 1))).later(days=365_000)
    history.when(MoveCursor(node="look")).then(e.CursorMoved(node="look"))


def test_after_the_wall_time_remedies_reports_and_the_wish_to_stop_are_admitted() -> None:
    late = WALL.also(e.AssumptionMade(id="a", text="one")).later(hours=1)
    late.when(ReviseGoal(by="human:kim", reason="new", text="less")).then(
        e.GoalRevised(by="human:kim", reason="new", text="less")
    )
    late.when(RefuteAssumption(id="a", evidence="seen")).then(e.AssumptionRefuted(id="a", evidence="seen"))
    late.when(SuspendRun(reason="enough")).then(e.RunSuspended(cause="asked", reason="enough"))
    late.when(CloseRun(outcome=Ending.FAILED)).then(e.RunClosed(outcome=Ending.FAILED))


def test_a_repeat_after_the_wall_time_is_told_where_it_stands() -> None:
    late = WALL.also(e.AssumptionMade(id="a", text="one")).later(hours=1)
    late.when(MakeAssumption(id="a", text="one")).then_stands_at(2)


@pytest.mark.parametrize("intended", [2, 3])
def test_an_effect_beyond_the_limit_is_refused_and_suspends_the_run(intended: int) -> None:
    others = (x.intended(key) for key in (x.ONE, x.TWO, x.THREE)[:intended])
    history = given(x.opened(limits=Limits(effects=2)), *others)
    stopped = history.when(x.example(ClaimEffect)).then_refused(
        "run_is_held", events=[suspended("effects", "the run was given 2 effects, which are intended")]
    )
    assert stopped.contract.status == "suspended"
    history.when(MoveCursor(node="a")).then(e.CursorMoved(node="a"))


def test_an_effect_within_the_limit_is_not_held_by_it() -> None:
    history = given(x.opened(limits=Limits(effects=2)), x.intended())
    assert isinstance(history.when(x.example(ClaimEffect)).decision, Admitted)


@pytest.mark.parametrize("command", [MoveCursor(node="a"), x.example(ClaimEffect)])
def test_a_row_of_refusals_told_as_facts_suspends_at_the_next_request(command: Command) -> None:
    stop = suspended("refusals_in_a_row", "2 effects in a row were refused")
    within = given(x.opened(limits=Limits(refusals_in_a_row=2)), REFUSED)
    assert within.when(command).decision.events != (stop,)
    stopped = within.also(REFUSED).when(command).then_refused("run_is_held", events=[stop])
    assert stopped.contract.suspended is not None
    assert stopped.contract.suspended.cause == "refusals_in_a_row"


def test_a_claim_meets_the_bars_of_any_request() -> None:
    closed = given(x.opened(), e.RunClosed(outcome=Ending.FAILED))
    closed.when(x.example(ClaimEffect)).then_refused("run_is_closed")
    stopped = given(x.opened(), e.RunSuspended(cause="asked", reason="enough"))
    stopped.when(x.example(ClaimEffect)).then_refused("run_is_held")


def test_intended_effects_are_counted_each_attempt_alike() -> None:
    history = given(x.opened(), x.intended(), x.started(), x.intended(), x.intended(x.TWO))
    assert history.contract.tally.effects == 3


def test_refusals_in_a_row_are_counted_until_an_effect_starts() -> None:
    history = given(x.opened(), REFUSED, REFUSED)
    assert history.contract.tally.refusals_in_a_row == 2
    assert history.also(x.intended()).contract.tally.refusals_in_a_row == 2
    assert history.also(x.intended(), x.started()).contract.tally.refusals_in_a_row == 0
    assert history.also(x.started(x.TWO)).contract.tally.refusals_in_a_row == 0


@pytest.mark.parametrize(
    ("before", "now", "stops"), [(0, 1, False), (1, 1, True), (0, 2, True), (1, 0, False)]
)
def test_the_refusal_that_completes_the_row_suspends_the_run(before: int, now: int, stops: bool) -> None:
    contract = given(x.opened(limits=Limits(refusals_in_a_row=2)), *[REFUSED] * before).contract
    yielded = (REFUSED,) * now
    stop = suspended("refusals_in_a_row", "2 effects in a row were refused")
    assert after_refusals(contract, yielded) == ((*yielded, stop) if stops else yielded)


def test_without_a_limit_refusals_never_suspend() -> None:
    contract = given(x.opened(), *[REFUSED] * 9).contract
    assert after_refusals(contract, (REFUSED,)) == (REFUSED,)


# --- acts that wait, and what is refused by rules and people --------------------------------------

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")
ASKED = claim(needs_approval=True)
NO_REFUNDS = x.accepted("none", rule=Rule(deny=("refund",)))


def limited(**limits: int) -> Run:
    return given(x.opened(limits=Limits(**limits)), actor=AGENT)


def answer(run: Run, said: str) -> Run:
    (request,) = run.contract.approvals
    answered = AnswerApproval.model_validate({"id": request.id, "answer": said, "by": "human:kim"})
    return run.by(KIM).when(answered).after.by(AGENT)


def test_an_act_that_waited_counts_once_and_begins_at_the_limit_once_it_is_approved() -> None:
    waits = limited(effects=1).when(ASKED).after
    assert (waits.contract.tally.effects, waits.contract.status) == (1, "open")
    waits.when(ASKED).then_refused("approval_required")
    begins = answer(waits, "approved").when(ASKED)
    assert started(begins) is not None
    assert begins.after.contract.tally.effects == 1
    stop = suspended("effects", "the run was given 1 effects, which are intended")
    waits.when(claim(step="other", occurrence="two")).then_refused("run_is_held", events=[stop])


def test_the_wall_time_goes_on_while_a_person_thinks_and_their_answer_is_heard_after_it() -> None:
    late = answer(limited(wall_seconds=60).when(ASKED).after.later(hours=9), "approved")
    assert late.contract.status == "open"
    over = suspended("wall_seconds", "the run was given 60 seconds, which are over")
    stopped = late.when(ASKED).then_refused("run_is_held", events=[over])
    resumed = stopped.by(KIM).when(ResumeRun()).after.by(AGENT)
    assert started(resumed.when(ASKED)) is not None


def test_each_attempt_at_an_approved_act_counts() -> None:
    failed = begun(answer(limited(effects=1).when(ASKED).after, "approved"), ASKED).when(fail()).after
    stop = suspended("effects", "the run was given 1 effects, which are intended")
    failed.when(ASKED).then_refused("run_is_held", events=[stop])


def test_what_a_rule_and_a_person_refuse_counts_in_a_row_and_being_asked_again_does_not() -> None:
    waits = limited(refusals_in_a_row=3).when(ASKED).after.when(ASKED).after
    assert waits.contract.tally.refusals_in_a_row == 0
    denied = answer(waits, "denied").when(ASKED).after.when(ASKED)
    assert denied.after.contract.tally.refusals_in_a_row == 2
    stopped = denied.after.also(NO_REFUNDS).when(claim(step="other"))
    assert isinstance(stopped.decision, Refusal)
    assert [event.name for event in stopped.decision.events] == ["effect.refused", "run.suspended"]
    assert stopped.decision.rule == "constraint_violated"
    assert stopped.after.contract.suspended is not None
    assert stopped.after.contract.suspended.cause == "refusals_in_a_row"


def test_what_is_begun_ends_a_row_of_refusals_by_a_rule() -> None:
    run = limited(refusals_in_a_row=2).also(NO_REFUNDS)
    refused = run.when(claim()).after
    assert refused.contract.tally.refusals_in_a_row == 1
    assert begun(refused, claim(tool="mail")).contract.tally.refusals_in_a_row == 0


# --- asked before ---------------------------------------------------------------------------------


def may(run: Run, command: ClaimEffect) -> Permission:
    asking = Given(actor=run.actor, now=run.now, run=run.stream, looked=looked_at(run, command))
    return permission(run.contract, command, asking)


LATE = limited(wall_seconds=60).later(seconds=60)


@pytest.mark.parametrize(
    ("run", "command"),
    [
        (limited(effects=1).also(x.intended()), claim()),
        (limited(effects=1).also(x.intended()), ASKED),
        (limited(effects=1).when(ASKED).after, ASKED),
        (answer(limited(effects=1).when(ASKED).after, "denied"), ASKED),
        (limited(effects=1).also(x.intended(), NO_REFUNDS), claim()),
        (limited(refusals_in_a_row=1).also(REFUSED), claim()),
        (LATE, claim()),
        (LATE.also(NO_REFUNDS), claim()),
        (begun(limited(wall_seconds=20)).later(seconds=25), claim()),
        (begun(limited(effects=1)), claim()),
        (LATE.also(NO_REFUNDS), claim(recovery=Recovery.READ_ONLY)),
    ],
    ids=[
        "a new act",
        "an act to be asked about",
        "an act that waits",
        "an act that was denied",
        "an act that breaks a rule",
        "after a row of refusals",
        "after the wall time",
        "an act that breaks a rule, after the wall time",
        "an act under way, after the wall time",
        "an act under way",
        "a look that breaks a rule, after the wall time",
    ],
)
def test_who_asks_before_is_told_first_what_the_claim_would_be_told(run: Run, command: ClaimEffect) -> None:
    decision = run.when(command).decision
    assert isinstance(decision, Refusal)
    told = may(run, command)
    assert not told
    assert (told.objections[0].rule, told.objections[0].message) == (decision.rule, decision.message)


def test_who_asks_before_is_told_of_rule_and_limit_alike() -> None:
    told = may(LATE.also(NO_REFUNDS), claim())
    assert [one.rule for one in told.objections] == ["run_is_held", "constraint_violated"]


@pytest.mark.parametrize(
    ("run", "command"),
    [
        (begun(limited(effects=1, wall_seconds=60)).when(succeed()).after.later(seconds=60), claim()),
        (LATE, claim(recovery=Recovery.READ_ONLY)),
        (limited(effects=1).also(x.intended()), claim(recovery=Recovery.READ_ONLY)),
    ],
    ids=["an act that was done", "a look after the wall time", "a look after all effects"],
)
def test_what_adds_nothing_to_be_counted_may_be_asked_for_at_a_limit(run: Run, command: ClaimEffect) -> None:
    assert isinstance(run.when(command).decision, Admitted)
    assert may(run, command)
