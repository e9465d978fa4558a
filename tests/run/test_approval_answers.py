"""Answers: a person's first one in time counts, nobody answers what they asked, and a denial is one event."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decide import told
from ledger.run.decision import Admitted, Refusal
from ledger.testing import START, given
from ledger.values import Actor, Branch, Ending, Recovery
from tests.run import examples as x
from tests.run.approving import (
    AGENT,
    ASK,
    ASKING,
    KIM,
    LEE,
    RUNTIME,
    UI,
    anew,
    answer,
    approval,
    approved,
    asked,
    begins,
    denied,
    rule_of,
)
from tests.run.claiming import KEY, Run, begun, claim, fail, not_know, succeed, the_effect

Said = Literal["approved", "denied"]
WAITING = asked()
SOON = asked(ASKING, claim(approval_seconds=60))
ID = approval(WAITING).id
OTHER_GOAL = e.GoalRevised(by=KIM, reason="the customer asked", text="Refund order 17 and say so")


def saying(said: Said = "approved", by: str = KIM, id: str = ID, **more: Any) -> c.AnswerApproval:
    return c.AnswerApproval(answer=said, by=by, id=id, **more)


def heard(run: Run, command: c.AnswerApproval, by: Actor | str | None = None) -> tuple[Run, str | None]:
    """Answer, and return the run after it and by which rule it does not count; it is recorded either way."""
    before = run.by(command.by if by is None else by)
    decision = before.when(command).decision
    assert isinstance(decision, Admitted)
    (event,) = decision.events
    assert isinstance(event, e.ApprovalAnswered)
    after = before.also(event)
    refusal = told(after.contract, command, after.records[-1:])
    return after.by(run.actor), None if refusal is None else refusal.rule


# --- the first that counts ---------------------------------------------------------------------


def test_an_answer_is_recorded_with_who_said_so_and_why() -> None:
    command = saying(reason="the customer is right", occurred_at=START - x.HOUR)
    after, rule = heard(WAITING, command)
    assert rule is None
    found = approval(after).answered
    assert found is not None
    assert (found.answer, found.by, found.reason) == ("approved", KIM, "the customer is right")
    assert (found.position, found.occurred_at) == (after.position, START - x.HOUR)


def test_the_same_answer_of_the_same_person_is_a_repeat() -> None:
    after = approved(WAITING)
    after.by(KIM).when(saying()).then_stands_at(after.position)


def test_the_same_answer_of_another_person_is_recorded_and_is_no_news() -> None:
    after = approved(WAITING)
    later, rule = heard(after, saying(by=LEE))
    assert rule is None
    assert approval(later) == approval(after)


@pytest.mark.parametrize(("first", "second"), [("approved", "denied"), ("denied", "approved")])
@pytest.mark.parametrize("by", [KIM, LEE])
def test_another_answer_after_the_first_is_recorded_and_changes_nothing(
    first: Said, second: Said, by: str
) -> None:
    after, _ = heard(WAITING, saying(first))
    later, rule = heard(after, saying(second, by))
    assert rule == "not_open"
    assert approval(later) == approval(after)
    assert rule_of(later.when(claim()).decision) == (None if first == "approved" else "approval_denied")


def test_an_answer_to_what_nobody_asked_is_recorded_and_changes_nothing() -> None:
    for id in ("nothing", ID[:-1], f"{KEY}-00000000", f"{'0' * 64}{ID[64:]}"):
        after, rule = heard(WAITING, saying(id=id))
        assert rule == "approval_not_found"
        assert after.contract.approvals == WAITING.contract.approvals


def test_a_yes_to_a_request_that_was_asked_anew_does_not_answer_the_new_one() -> None:
    after, rule = heard(asked(WAITING.also(OTHER_GOAL)), saying("approved"))
    assert rule == "approval_not_found"
    assert approval(after).answered is None


def test_a_no_to_a_request_that_was_asked_anew_is_a_no_to_the_act() -> None:
    again = asked(WAITING.also(OTHER_GOAL))
    after, rule = heard(again, saying("denied"))
    assert rule is None
    assert approval(after).id == approval(again).id
    (said,) = [one for one in (approval(after).answered,) if one is not None]
    assert (said.answer, said.by, said.id) == ("denied", KIM, approval(again).id)
    after.by(KIM).when(saying("denied")).then_stands_at(said.position)
    assert rule_of(after.by(AGENT).when(claim()).decision) == "approval_denied"


def test_a_no_to_no_request_of_the_act_is_none_to_it() -> None:
    again = asked(WAITING.also(OTHER_GOAL))
    after, rule = heard(again, saying("denied", id=f"{KEY}-00000000"))
    assert (rule, approval(after).answered) == ("approval_not_found", None)


def test_a_no_to_an_earlier_request_takes_no_yes_back() -> None:
    again = approved(asked(WAITING.also(OTHER_GOAL)))
    after, rule = heard(again, saying("denied", LEE))
    assert rule == "approval_not_found"
    assert approval(after) == approval(again)


def test_a_no_that_was_heard_before_somebody_asked_anew_is_none_to_that() -> None:
    """It comes twice, of a queue or of who did not hear that it was stored."""
    again = anew(denied(WAITING), by=LEE)
    after, rule = heard(again, saying("denied"))
    assert (rule, approval(after).answered) == ("approval_not_found", None)
    begins(approved(after.by(AGENT)))
    later = anew(after.also(OTHER_GOAL), by=LEE)
    assert rule_of(later.by(KIM).when(saying("denied")).decision) is None
    assert approval(later.by(KIM).when(saying("denied")).after).answered is None
    said, rule = heard(later, saying("denied", id=approval(again).id))
    assert (rule, said.contract.approvals[0].answered is not None) == (None, True)


def test_an_answer_after_the_act_was_done_is_recorded_and_changes_nothing() -> None:
    done = begun(approved(WAITING)).when(succeed()).after
    after, rule = heard(done, saying("denied", LEE))
    assert rule == "approval_not_found"
    after.when(claim()).then_stands_at(done.position)


# --- in time -----------------------------------------------------------------------------------


def test_an_approval_counts_until_just_before_its_time() -> None:
    id = approval(SOON).id
    just = SOON.at(START + timedelta(seconds=60, microseconds=-1))
    after, rule = heard(just, saying(id=id))
    assert rule is None
    begins(after, claim(approval_seconds=60))
    after, rule = heard(SOON.later(seconds=60), saying(id=id))
    assert (rule, approval(after).answered) == ("not_open", None)


def test_a_late_approval_is_asked_about_anew_and_a_late_denial_counts() -> None:
    late = SOON.later(days=1)
    after, _ = heard(late, saying(id=approval(SOON).id))
    asked(after, claim(approval_seconds=60))
    after, rule = heard(late, saying("denied", id=approval(SOON).id))
    assert rule is None
    assert rule_of(after.when(claim(approval_seconds=60)).decision) == "approval_denied"


def test_after_a_late_approval_a_denial_still_counts() -> None:
    late, _ = heard(SOON.later(days=1), saying(id=approval(SOON).id))
    after, rule = heard(late, saying("denied", LEE, approval(SOON).id))
    assert rule is None
    found = approval(after).answered
    assert found is not None
    assert (found.answer, found.by) == ("denied", LEE)


def test_an_answer_is_judged_by_the_ledger_s_time_and_not_by_when_it_was_given() -> None:
    command = saying(id=approval(SOON).id, occurred_at=START)
    _, rule = heard(SOON.later(seconds=61), command)
    assert rule == "not_open"


def test_an_approval_of_what_changed_meanwhile_counts_and_lets_nothing_begin() -> None:
    """Terms may change back; until then the act is asked about anew."""
    after, rule = heard(WAITING.also(OTHER_GOAL), saying())
    assert rule is None
    asked(after)


# --- four eyes ---------------------------------------------------------------------------------

OF_KIM = given(x.opened(runtime=RUNTIME), x.accepted("ask-first", rule=ASK), actor=KIM)
FOR_KIM = Actor(UI, on_behalf_of=(KIM,))
FOR_LEE = Actor(UI, on_behalf_of=(LEE,))
FOR_AGENT = Actor(UI, on_behalf_of=(AGENT, KIM))
THROUGH_TWO = Actor(UI, on_behalf_of=("service:gateway", KIM))
FOR_NOBODY = Actor(UI)


@pytest.mark.parametrize(
    ("asks", "writes", "by", "rule"),
    [
        (AGENT, KIM, KIM, None),
        (AGENT, FOR_KIM, KIM, None),
        (AGENT, FOR_NOBODY, KIM, None),
        (AGENT, LEE, KIM, None),
        (KIM, KIM, KIM, "not_by_requester"),
        (KIM, LEE, LEE, None),
        (KIM, LEE, KIM, "not_by_requester"),
        (KIM, KIM, LEE, "not_by_requester"),
        (KIM, FOR_KIM, LEE, "not_by_requester"),
        (KIM, THROUGH_TWO, LEE, "not_by_requester"),
        (KIM, FOR_LEE, LEE, None),
        (KIM, FOR_NOBODY, LEE, None),
        (KIM, FOR_NOBODY, KIM, "not_by_requester"),
        (FOR_KIM, KIM, KIM, "not_by_requester"),
        (FOR_KIM, FOR_KIM, LEE, "not_by_requester"),
        (FOR_KIM, FOR_LEE, LEE, None),
        (FOR_AGENT, KIM, KIM, None),
        (Actor(AGENT, on_behalf_of=(KIM,)), KIM, KIM, None),
        (FOR_NOBODY, FOR_NOBODY, KIM, None),
        (FOR_NOBODY, KIM, KIM, None),
    ],
)
@pytest.mark.parametrize("said", ["approved", "denied"])
def test_nobody_answers_what_they_asked_nor_through_somebody_else(
    asks: Actor | str, writes: Actor | str, by: str, rule: str | None, said: Said
) -> None:
    run = asked(OF_KIM.by(asks))
    after, found = heard(run, saying(said, by, approval(run).id), writes)
    assert found == rule
    assert (approval(after).answered is None) == (rule is not None)


@pytest.mark.parametrize("writes", [AGENT, FOR_AGENT, "agent:other"])
def test_no_agent_answers_and_nobody_answers_for_one(writes: Actor | str) -> None:
    for by in (KIM, AGENT):
        WAITING.by(writes).when(saying(by=by)).then_refused("not_for_agents")
    for who in (KIM, FOR_NOBODY):
        WAITING.by(who).when(saying(by=AGENT)).then_refused("not_for_agents")


def test_an_agent_s_answer_that_stands_in_the_record_all_the_same_does_not_count() -> None:
    for by, who in ((KIM, AGENT), (KIM, FOR_AGENT), (AGENT, KIM), ("service:ui", KIM)):
        run = WAITING.by(who).also(e.ApprovalAnswered(answer="approved", by=by, id=ID)).by(AGENT)
        assert approval(run).answered is None
        assert rule_of(run.when(claim()).decision) == "approval_required"


def test_who_asks_anew_is_who_cannot_answer() -> None:
    run = anew(SOON.later(days=1), by=LEE)
    assert approval(run).requested_by == LEE
    _, rule = heard(run, saying(by=LEE, id=approval(run).id))
    assert rule == "not_by_requester"
    _, rule = heard(run, saying(by=KIM, id=approval(run).id))
    assert rule is None


# --- a denial ----------------------------------------------------------------------------------


def test_a_denial_is_one_event_that_lets_go_of_what_waited() -> None:
    before = asked(ASKING.also(x.granted(principal=AGENT, budget=x.EUR_10)))
    after, _ = heard(before, saying("denied", id=approval(before).id, reason="twice already"))
    assert after.position == before.position + 1
    assert (after.contract.effects, after.contract.grants) == ((), before.contract.grants)
    refusal = after.when(claim()).decision
    assert isinstance(refusal, Refusal)
    said = f"human:kim denied it at position {after.position}: twice already"
    assert refusal.message == f"{said}; only a person asks anew, with request_approval"


@pytest.mark.parametrize(
    ("waits_for", "moves"),
    [
        ((f"approval:{ID}",), True),
        ((f"effect:{KEY}",), True),
        (("message:m-1", f"approval:{ID}"), True),
        ((f"approval:{KEY}-00000000",), True),  # an earlier request about the act
        ((), False),
        (("approval:other",), False),
        ((f"approval:{'0' * 64}-{ID[65:]}",), False),
        ((f"effect:{'0' * 64}",), False),
        ((f"obligation:{ID}",), False),
    ],
)
def test_a_denial_takes_the_branch_of_a_cursor_that_waits_for_it(
    waits_for: tuple[str, ...], moves: bool
) -> None:
    cursor = e.CursorMoved(
        branches=(Branch(name="left", node="pay"),),
        needs=(f"effect:{KEY}",),
        next=("mail",),
        node="wait",
        on_denied="tell-them",
        round=3,
        state="5" * 64,
        visited={"wait": 2},
        waits_for=waits_for,
    )
    before = WAITING.also(cursor)
    moved = denied(before).contract.cursor
    assert moved is not None
    if not moves:
        assert moved == before.contract.cursor
        return
    assert (moved.node, moved.next, moved.needs, moved.waits_for, moved.on_denied) == (
        "tell-them",
        (),
        (),
        (),
        None,
    )
    assert (moved.position, moved.at) == (before.position + 1, before.now)
    assert (moved.branches, moved.round, moved.visited) == (cursor.branches, 3, cursor.visited)


@pytest.mark.parametrize("said", ["approved", "denied"])
def test_a_cursor_without_such_a_branch_stays_and_so_does_one_that_is_told_yes(said: Said) -> None:
    on_denied = "tell-them" if said == "approved" else None
    before = WAITING.also(e.CursorMoved(node="wait", on_denied=on_denied, waits_for=(f"approval:{ID}",)))
    after, _ = heard(before, saying(said))
    assert after.contract.cursor == before.contract.cursor


def test_a_denial_that_does_not_count_moves_no_cursor() -> None:
    before = WAITING.also(e.CursorMoved(node="wait", on_denied="no", waits_for=(f"approval:{ID}",)))
    for run, command, who in (
        (approved(before), saying("denied", LEE), LEE),
        (before.by(KIM), saying("denied", id="nothing"), KIM),
    ):
        after, _ = heard(run, command, who)
        assert after.contract.cursor == before.contract.cursor


def test_what_rested_on_what_was_denied_is_let_go() -> None:
    run = asked(ASKING.also(e.AssumptionMade(id="a", text="It came back")), claim(rests_on=("assumption:a",)))
    run = run.also(e.AssumptionRefuted(id="a", evidence="an empty shelf"))
    assert [one.id for one in run.contract.assumptions] == ["a"]
    after = denied(run)
    assert (after.contract.assumptions, [one.id for one in after.contract.refuted]) == ((), ["a"])


def test_a_denial_of_what_was_begun_leaves_it_as_it_is_known() -> None:
    for status in ("executing", "unknown"):
        run = begun(approved(WAITING))
        run = run if status == "executing" else run.when(not_know()).after
        after = denied(anew(run, by=LEE))
        assert the_effect(after).status == status
        done = after.when(succeed()).after
        assert (done.contract.effects, done.contract.approvals) == ((), ())


# --- asking anew -------------------------------------------------------------------------------


def test_while_a_request_binds_the_same_question_is_a_repeat() -> None:
    for by in (AGENT, LEE):
        WAITING.by(by).when(c.RequestApproval(key=KEY)).then_stands_at(approval(WAITING).position)
    same = c.RequestApproval(key=KEY, question=approval(WAITING).question)
    WAITING.by(LEE).when(same).then_stands_at(approval(WAITING).position)


def test_another_question_or_time_is_another_request() -> None:
    for more in ({"question": "May we?"}, {"expires_at": START + x.HOUR}):
        after = anew(WAITING, by=LEE, **more)
        assert approval(after).id != ID
        assert len(after.contract.approvals) == 1
        assert the_effect(after).status == "pending"
        begins(approved(after))


def test_asking_anew_is_the_way_out_of_what_lapsed_or_changed() -> None:
    for run in (SOON.later(days=1), WAITING.also(OTHER_GOAL), approved(WAITING).also(OTHER_GOAL)):
        after = anew(run, by=LEE)
        asked_before, question = approval(run).question, approval(after).question
        assert asked_before is not None
        assert question is not None
        assert question.startswith("It was asked before, and is asked anew: ")
        assert question.endswith(asked_before)
        assert rule_of(after.when(claim()).decision) == "approval_required"
        begins(approved(after))


OTHER_RULE = x.accepted("ask-first", rule=ASK, text="Two people look first", change="reworded")


@pytest.mark.parametrize("by", [AGENT, LEE])
def test_what_is_asked_anew_says_what_holds_then(by: str) -> None:
    (first,) = WAITING.contract.approvals
    for _ in range(2):
        run = WAITING.also(OTHER_RULE)
        question = approval(anew(run, by=by)).question or ""
        assert "Two people look first (constraint ask-first" in question
        assert x.LIMIT not in question
        assert x.LIMIT in (first.question or "")


def test_words_of_a_persons_own_stay_and_are_told_what_holds_by_now() -> None:
    run = anew(WAITING, by=LEE, question="Is order 17 right?")
    for at in range(2):
        run = anew(run.also(OTHER_RULE if at == 0 else OTHER_GOAL), by=AGENT)
        words, _, note = (approval(run).question or "").partition("\n")
        assert words == "Is order 17 right?"
        assert note.startswith("As it is now: Two people look first (constraint ask-first")
        assert "\n" not in note


@pytest.mark.parametrize("stop", [x.SUSPENDED, x.HELD], ids=["suspended", "held"])
def test_it_is_a_remedy_on_a_stopped_run_and_clears_what_the_gate_has_against_it(stop: e.Event) -> None:
    run = WAITING.also(OTHER_GOAL, stop).by(LEE)
    assert [reason.kind for reason in run.judged().reasons] == ["approval_void"]
    assert anew(run, by=LEE).judged().reasons == ()


def test_a_person_asks_anew_about_what_a_person_denied_and_an_agent_does_not() -> None:
    run = denied(WAITING)
    run.by(AGENT).when(c.RequestApproval(key=KEY)).then_refused("approval_denied", position=run.position)
    run.by(FOR_AGENT).when(c.RequestApproval(key=KEY)).then_refused("approval_denied")
    begins(approved(anew(run, by=LEE)))


def test_nobody_asks_about_what_is_unknown_done_or_let_go() -> None:
    asks = c.RequestApproval(key=KEY)
    done = begun(approved(WAITING)).when(succeed()).after
    failed = begun(given(x.opened())).when(fail()).after
    for run in (ASKING, done, failed):
        run.by(LEE).when(asks).then_refused("not_open")
    WAITING.also(x.CLOSED).by(LEE).when(asks).then_refused("run_is_closed")


@pytest.mark.parametrize("status", ["executing", "unknown", "disputed", "failed", "exhausted"])
def test_an_answer_about_an_act_that_was_begun_says_whether_it_may_be_tried_again(status: str) -> None:
    again = claim(max_attempts=2, recovery=Recovery.QUERYABLE)
    run = begun(approved(asked(ASKING, again)), again)
    if status == "unknown":
        run = run.when(not_know()).after
    if status in ("disputed", "failed", "exhausted"):
        run = run.when(fail()).after
    if status in ("disputed", "exhausted"):
        run = begun(run, again)
        run = run.when(succeed(1) if status == "disputed" else fail(2)).after
    asks = anew(run, by=LEE)
    rules = {
        "executing": "effect_in_flight",
        "unknown": "outcome_unknown",
        "disputed": "outcome_unknown",
        "exhausted": "effect_failed",
    }
    for said, otherwise in (("approved", None), ("denied", "approval_denied")):
        after = answer(asks, said)  # type: ignore[arg-type]
        assert rule_of(after.when(again).decision) == rules.get(status, otherwise)


# --- no answer bricks a run --------------------------------------------------------------------


def test_answers_are_heard_on_runs_that_are_stopped_and_closed() -> None:
    for stop in (x.SUSPENDED, x.HELD):
        after, rule = heard(WAITING.also(stop), saying())
        assert rule is None
        assert approval(after).answered is not None
    for said in ("approved", "denied"):
        closed = WAITING.also(x.CLOSED)
        after, rule = heard(closed, saying(said))
        assert rule == "run_is_closed"
        record = after.records[-1]
        refusal = told(after.contract, saying(said), [record])
        assert refusal is not None
        assert f"; the answer is recorded at position {record.position}, and nothing " in refusal.message


def test_after_every_kind_of_answer_the_act_can_be_asked_about_and_begun_or_the_run_be_ended() -> None:
    answers = (
        saying(),
        saying("denied"),
        saying(id="nothing"),
        saying("denied", LEE),
        saying(by=LEE),
    )
    for first in answers:
        for second in answers:
            run = WAITING
            for command in (first, second):
                run = run.by(command.by).when(command).after.by(AGENT)
            asks = anew(run, by="human:max", question="May we now?")
            begins(approved(asks) if rule_of(run.when(claim()).decision) else run)
            ended = denied(asks).when(c.CloseRun(outcome=Ending.COMPLETED))
            assert isinstance(ended.decision, Admitted)


def test_the_gate_says_how_a_void_approval_is_cleared_and_that_clears_it() -> None:
    """Also where the runtime that would go on says more of itself than the one that asked."""
    more = RUNTIME.with_fields({"config": "c-1"})
    stopped = approved(WAITING).also(x.SUSPENDED).by(KIM)
    (reason,) = stopped.judged(runtime=more).reasons
    assert (reason.kind, reason.cleared_by) == ("approval_void", "runtime.adopted")
    adopted = stopped.when(c.AdoptRuntime(by=KIM, reason="it says more", runtime=more)).after
    (reason,) = adopted.judged(runtime=more).reasons
    assert (reason.kind, reason.cleared_by) == ("approval_void", "approval.requested")
    assert anew(adopted, by=KIM).judged(runtime=more).reasons == ()


def test_an_approval_of_what_another_run_did_bars_nothing_when_it_lapses() -> None:
    """It failed here; nothing that this run could record would clear it."""
    command = claim(approval_seconds=60)
    parent = begun(approved(asked(ASKING, command)), command).when(fail()).after
    kin = e.Parent(position=1, relation="child", root="run-1", run="run-1")
    child = given(x.opened(parent=kin), run="kid", actor=AGENT, at=START + x.HOUR).among(parent)
    done = begun(child, command).when(succeed(2)).after
    stopped = parent.among(done).also(x.SUSPENDED).later(days=1).by(KIM)
    stopped.when(c.RequestApproval(key=KEY)).then_refused("not_open")
    assert stopped.asked(idle_seconds=None).judged().reasons == ()
