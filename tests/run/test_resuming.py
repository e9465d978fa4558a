"""What a resume comes to: the next incarnation with what it is told, or a hold that is said once."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.canonical import load_text
from ledger.gate import KINDS
from ledger.gate.reasons import reason
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Given, Judgement
from ledger.run.prompt import render
from ledger.run.resuming import MOST_REASONS
from ledger.run.state import replay
from ledger.testing import START, Decided, History, given, given_source
from ledger.values import Actor, Limits, Published, Runtime, Verdict
from tests.run import examples as x
from tests.run.test_state import load, saved

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds", session="s-1")
ANOTHER = Actor("agent:refunds", session="s-2")
ASK = c.ResumeRun()
MOVED = e.CursorMoved(node="pay")
WORKED = given(x.opened(), actor=PROGRAM).also(MOVED)
STOPPED = WORKED.later(hours=1).by("human:kim").also(x.SUSPENDED).later(hours=1).by(ANOTHER)
UNKNOWN = (x.intended(), x.started(), e.EffectUnknown(key=x.ONE, attempt=1, because="raised"))
IN_DOUBT = WORKED.also(*UNKNOWN).also(x.SUSPENDED).later(hours=1).by(ANOTHER)


def resumed(decided: Decided[Contract | None]) -> tuple[e.RunResumed, str]:
    """Expect that the run goes on; return the event and what the message beside it says."""
    assert isinstance(decided.decision, Admitted), decided.decision
    first, message = decided.decision.events
    assert isinstance(first, e.RunResumed)
    assert isinstance(message, e.MessageRecorded)
    assert (message.role, message.id) == ("ledger", f"ledger:resumed:{first.incarnation}")
    assert message.content.json_text is not None
    return first, str(load_text(message.content.json_text))


def refused(decided: Decided[Contract | None]) -> e.ResumeRefused:
    """Expect that the run is held; return the event."""
    assert isinstance(decided.decision, Admitted), decided.decision
    (event,) = decided.decision.events
    assert isinstance(event, e.ResumeRefused)
    return event


# --- going on --------------------------------------------------------------------------------------


def test_a_run_that_nothing_speaks_against_goes_on_in_the_next_incarnation() -> None:
    event, told = resumed(STOPPED.when(ASK))
    assert (event.incarnation, event.gap_seconds, event.take_over, event.runtime) == (2, 3600, False, None)
    contract = STOPPED.when(ASK).after.contract
    assert (contract.status, contract.incarnation, contract.alive.position) == ("open", 2, 4)
    assert (contract.alive.by, contract.alive.session) == ("agent:refunds", "s-2")
    assert "as incarnation 2, 2 hours after" in told
    assert 'It had been suspended by human:kim: "lunch"' in told


def test_the_runtime_that_goes_on_is_recorded_with_it() -> None:
    command = c.ResumeRun(runtime=Runtime(model="m-2"))
    event, _ = resumed(STOPPED.when(command))
    assert event.runtime == Runtime(model="m-2")
    assert STOPPED.when(command).after.contract.runtime == Runtime(model="m-2")


@pytest.mark.parametrize("back", [0, 3, -3], ids=["on time", "later", "clock set back"])
def test_the_digest_is_of_what_the_contract_says_right_after_the_resume(back: int) -> None:
    promised = given(
        x.opened(),
        x.accepted(valid_until=START + timedelta(hours=4)),
        x.granted("tests", principal="service:test", on_resume="continue"),
        e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail", due=START + timedelta(hours=3)),
        x.SUSPENDED,
    )
    history = promised.later(hours=2 + back).by("service:test")
    after = history.when(ASK).after
    record = next(record for record in after.records if isinstance(record.event, e.RunResumed))
    assert isinstance(record.event, e.RunResumed)
    contract = after.upto(record.position).contract
    told = contract.to_prompt(record.at)
    assert record.event.prompt_digest == hashlib.sha256(told.encode()).hexdigest()
    assert f"at position {record.position}" in told
    assert "Incarnation 2" in told
    assert told == render(replay(after.records[: record.position]) or contract, record.at)


def test_what_the_sources_said_is_so_when_the_resume_is_stored() -> None:
    source = given_source("policy:refunds", x.published(Published(id="limit-100", text=x.LIMIT)))
    bound = given(x.opened(), x.accepted(source=x.POLICY, source_position=1, published=True), x.SUSPENDED)
    decision = bound.beside(source).when(ASK).decision
    assert isinstance(decision, Admitted)
    assert decision.guards == {"policy:refunds": 1}


# --- being held ------------------------------------------------------------------------------------


def test_a_refused_resume_holds_the_run_and_an_unchanged_decision_is_said_once() -> None:
    event = refused(IN_DOUBT.when(ASK))
    assert event.verdict is Verdict.RECONCILE
    assert [reason.kind for reason in event.reasons] == ["effect_unknown"]
    held = IN_DOUBT.when(ASK).after
    assert held.contract.held is not None
    assert (held.contract.held.verdict, held.contract.held.reasons) == (event.verdict, event.reasons)
    held.when(ASK).then_stands_at(held.position)
    held.later(days=30).by("human:kim").when(ASK).then_stands_at(held.position)


def test_an_unchanged_decision_is_known_again_from_a_contract_that_was_saved() -> None:
    held = IN_DOUBT.when(ASK).after
    again = load(saved(held.contract))
    assert again.held == held.contract.held
    decided = Decided(held, ASK, held.kind.decide(again, ASK, given_of(held)))
    decided.then_stands_at(held.position)


def given_of(history: Run) -> Given:
    """Return what a resume of it is decided under."""
    return Given(history.actor, history.now, history.stream, judged=history.judged())


def test_a_changed_decision_is_said_again_and_holds_with_its_own_reasons() -> None:
    held = IN_DOUBT.when(ASK).after
    worse = held.also(x.intended(x.TWO, act="b" * 64), x.started(x.TWO, lease_until=START))
    event = refused(worse.when(ASK))
    assert [reason.position for reason in event.reasons] == [3, 8]
    assert worse.when(ASK).after.contract.held != held.contract.held


def test_a_remedy_alone_does_not_end_the_hold_but_the_next_question_does() -> None:
    held = IN_DOUBT.when(ASK).after
    found = c.ReconcileEffect(evidence="it is there", found="happened", key=x.ONE, method="probe")
    settled = held.when(found).after
    assert settled.contract.status == "held"
    settled.when(c.MoveCursor(node="on")).then_refused("run_is_held")
    _, told = resumed(settled.when(ASK))
    assert "It had been held, the gate said reconcile: effect_unknown" in told
    assert settled.when(ASK).after.contract.status == "open"


def test_a_run_that_somebody_else_is_at_work_on_is_not_held_by_who_asks() -> None:
    running = WORKED.later(seconds=599).by(ANOTHER)
    assert [reason.kind for reason in running.judged().reasons] == ["still_running"]
    running.when(ASK).then_stands_at(running.position)
    in_doubt = WORKED.also(*UNKNOWN).later(seconds=599).by(ANOTHER)
    assert in_doubt.judged().is_live
    in_doubt.when(ASK).then_stands_at(in_doubt.position)


@pytest.mark.parametrize(
    ("asker", "seconds", "command", "goes_on"),
    [
        (ANOTHER, 599, ASK, False),
        (ANOTHER, 600, ASK, True),
        (PROGRAM, 0, ASK, True),
        (Actor("agent:refunds"), 0, ASK, False),
        (Actor("agent:mail", session="s-1"), 0, ASK, False),
        (Actor("human:kim"), 0, c.ResumeRun(take_over=True), True),
    ],
)
def test_who_may_go_on_with_a_run_that_gave_a_sign_of_life(
    asker: Actor, seconds: int, command: c.ResumeRun, goes_on: bool
) -> None:
    decided = WORKED.later(seconds=seconds).by(asker).when(command)
    assert bool(decided.decision.events) is goes_on
    if goes_on:
        event, told = resumed(decided)
        assert event.take_over is command.take_over
        assert ("was taken over" in told) is command.take_over


def test_no_agent_takes_over() -> None:
    WORKED.by(ANOTHER).when(c.ResumeRun(take_over=True)).then_refused("not_for_agents")


def test_more_reasons_than_a_record_holds_are_told_by_their_number() -> None:
    acts = [f"{number:064x}" for number in range(MOST_REASONS + 41)]
    many = WORKED.also(*(x.intended(key, act=key, witnessed=False) for key in acts), x.SUSPENDED).later(
        hours=1
    )
    assert len(many.judged().reasons) == MOST_REASONS + 41
    event = refused(many.when(ASK))
    assert len(event.reasons) == MOST_REASONS
    assert event.reasons[:-1] == many.judged().reasons[: MOST_REASONS - 1]
    assert event.reasons[-1].what.startswith("42 further reasons")
    held = many.when(ASK).after
    held.when(ASK).then_stands_at(held.position)


def test_at_most_so_many_reasons_are_recorded_whole() -> None:
    acts = [f"{number:064x}" for number in range(MOST_REASONS)]
    many = WORKED.also(*(x.intended(key, act=key, witnessed=False) for key in acts), x.SUSPENDED).later(
        hours=1
    )
    assert refused(many.when(ASK)).reasons == many.judged().reasons


def test_only_continue_goes_on() -> None:
    for kind, meant in KINDS.items():
        judged = Judgement((reason(kind, "so it is"),), meant.verdict)
        decision = STOPPED.kind.decide(STOPPED.contract, ASK, given_of(STOPPED)._replace(judged=judged))
        assert isinstance(decision, Admitted)
        assert [type(event) for event in decision.events] == [e.ResumeRefused]
        assert meant.verdict is not Verdict.CONTINUE


# --- limits ----------------------------------------------------------------------------------------

BOUNDED = given(x.opened(limits=Limits(steps=2)), actor=PROGRAM).also(MOVED, e.CursorMoved(node="mail"))
AT_LIMIT = BOUNDED.when(c.MoveCursor(node="on")).after.later(hours=1)


def test_limits_count_anew_once_a_person_lets_the_run_go_on() -> None:
    assert AT_LIMIT.contract.status == "suspended"
    going_on = AT_LIMIT.by("human:kim").when(ASK).after
    allowance = going_on.contract.allowance
    assert allowance is not None
    assert (allowance.steps, allowance.effects, allowance.position) == (2, 0, 5)
    for node in ("a", "b"):
        going_on = going_on.when(c.MoveCursor(node=node)).then(e.CursorMoved(node=node))
    going_on.when(c.MoveCursor(node="c")).then_refused(
        "run_is_held",
        events=[e.RunSuspended(cause="steps", reason="the run was given 2 steps, which are taken")],
    )


def test_an_agent_goes_on_beyond_a_limit_only_on_a_grant_given_since() -> None:
    assert [reason.kind for reason in refused(AT_LIMIT.by(ANOTHER).when(ASK)).reasons] == ["limit_reached"]
    service = Actor("service:api", on_behalf_of=("agent:refunds",))
    assert [reason.kind for reason in refused(AT_LIMIT.by(service).when(ASK)).reasons] == ["limit_reached"]
    granted = AT_LIMIT.by("human:kim").also(x.granted()).by(ANOTHER)
    resumed(granted.when(ASK))
    before = given(x.opened(limits=Limits(steps=1)), actor=PROGRAM).also(x.granted(), MOVED)
    spent = before.when(c.MoveCursor(node="on")).after.later(hours=1).by(ANOTHER)
    assert [reason.kind for reason in refused(spent.when(ASK)).reasons] == ["limit_reached"]


def test_a_resume_after_another_stop_gives_no_further_allowance() -> None:
    again = BOUNDED.also(x.SUSPENDED).later(hours=1).by("human:kim").when(ASK).after
    assert again.contract.allowance is None
    again.when(c.MoveCursor(node="on")).then_refused("run_is_held", events=[_taken(2)])


def _taken(steps: int) -> e.RunSuspended:
    return e.RunSuspended(cause="steps", reason=f"the run was given {steps} steps, which are taken")


def test_wall_time_and_refusals_in_a_row_count_from_the_resume() -> None:
    timed = given(x.opened(limits=Limits(wall_seconds=60)), actor=PROGRAM).later(seconds=60)
    over = timed.when(c.MoveCursor(node="a")).after.later(hours=1).by("human:kim").when(ASK).after
    over.later(seconds=59).when(c.MoveCursor(node="a")).then(e.CursorMoved(node="a"))
    assert not isinstance(over.later(seconds=60).when(c.MoveCursor(node="a")).decision, Admitted)
    row = given(x.opened(limits=Limits(refusals_in_a_row=1)), actor=PROGRAM)
    row = row.also(e.EffectRefused(rule="off_plan", tool="mail"))
    stopped = row.when(c.MoveCursor(node="a")).after.later(hours=1).by("human:kim")
    going_on = stopped.when(ASK).after
    assert going_on.contract.tally.refusals_in_a_row == 0
    going_on.when(c.MoveCursor(node="a")).then(e.CursorMoved(node="a"))
