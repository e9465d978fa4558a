"""What holds for every contract that a fold yields, and every question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from types import FrameType
from typing import Any

from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import commands as c
from ledger import events as e
from ledger.gate import KINDS, STRICTNESS, Judgement, Question, judge, judgement
from ledger.gate.reasons import reason
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Given
from ledger.run.resuming import resume
from ledger.run.state import replay
from ledger.testing import START, History, given, given_source
from ledger.values import Actor, Published, Recovery, Verdict
from tests.gate.questions import questions, runs
from tests.run import examples as x
from tests.run.test_state import load, saved

Run = History[Contract | None]


def of(judged: Judgement) -> int:
    return STRICTNESS[judged.verdict]


REASONS = st.lists(st.sampled_from(sorted(KINDS)).map(lambda kind: reason(kind, f"because of {kind}")))


@draws(data=st.data(), run=runs())
def test_every_contract_and_question_has_one_answer(data: st.DataObject, run: Run) -> None:
    question = data.draw(questions(run))
    judged = judge(run.contract, question)
    assert judge(run.contract, question) == judged
    assert (judged.verdict is Verdict.CONTINUE) is (judged.reasons == ())
    strictness = [STRICTNESS[KINDS[one.kind].verdict] for one in judged.reasons]
    assert strictness == sorted(strictness, reverse=True)
    assert of(judged) == max(strictness, default=0)
    assert len(set(judged.reasons)) == len(judged.reasons)
    assert judged.is_live is any(one.kind == "still_running" for one in judged.reasons)
    for one in judged.reasons:
        assert one.position is None or 1 <= one.position <= run.position


@draws(some=REASONS, more=REASONS)
def test_another_reason_never_makes_a_verdict_less_strict(some: list[e.Reason], more: list[e.Reason]) -> None:
    assert of(judgement([*some, *more])) == max(of(judgement(some)), of(judgement(more)))
    assert judgement([*some, *more]) == judgement([*more, *some, *some])
    assert judgement([]) == Judgement()


GROUNDLESS = (
    e.AssumptionMade(id="ground", text="So it is"),
    e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:ground",)),
    e.AssumptionRefuted(id="ground", evidence="It is not"),
)
ENDED = x.granted("ended", principal="human:nobody", expires_at=START - timedelta(days=1))
CONTRADICTED = e.EffectDisputed(
    key="9" * 64, act="9" * 64, attempt=1, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
)


@draws(data=st.data(), run=runs(), more=st.sampled_from([GROUNDLESS, (ENDED,), (CONTRADICTED,)]))
def test_what_gives_a_reason_never_makes_a_verdict_less_strict(
    data: st.DataObject, run: Run, more: tuple[e.Event, ...]
) -> None:
    question = data.draw(questions(run))
    question = question._replace(now=max(question.now, run.contract.at))
    after = judge(run.also(*more).contract, question)
    assert of(after) >= of(judge(run.contract, question))
    assert run.contract.closed is not None or after.verdict is not Verdict.CONTINUE


@draws(data=st.data(), run=runs(), cut=st.floats(0, 1))
def test_a_saved_contract_and_its_tail_are_judged_as_the_whole_run(
    data: st.DataObject, run: Run, cut: float
) -> None:
    question = data.draw(questions(run))
    place = max(1, int(cut * run.position))
    head = replay(run.records[:place])
    assert head is not None
    contract = replay(run.records[place:], load(saved(head)))
    assert contract is not None
    assert judge(contract, question) == judge(run.contract, question)
    assert judge(load(saved(run.contract)), question) == judge(run.contract, question)


@draws(data=st.data(), run=runs())
def test_only_continue_goes_on_and_an_unchanged_decision_is_said_once(data: st.DataObject, run: Run) -> None:
    question = data.draw(questions(run))
    judged = judge(run.contract, question)
    if run.contract.closed is not None:
        return
    asked = Given(question.actor, question.now, run.stream, judged=judged)
    decision = resume(run.contract, c.ResumeRun(), asked)
    assert isinstance(decision, Admitted)
    goes_on = [type(event) for event in decision.events] == [e.RunResumed, e.MessageRecorded]
    assert goes_on is (judged.verdict is Verdict.CONTINUE)
    if goes_on or judged.is_live or not decision.events:
        return
    held = run.also(*decision.events).contract
    for contract in (held, load(saved(held))):
        again = resume(contract, c.ResumeRun(), asked)
        assert isinstance(again, Admitted)
        assert (again.events, again.position) == ((), held.position)


@draws(data=st.data(), run=runs())
def test_a_clock_set_back_makes_nothing_fresh_and_nothing_valid_again(data: st.DataObject, run: Run) -> None:
    """Whatever spoke against the run at the time of its last event still does."""
    asked = data.draw(questions(run))._replace(leases={}, live_seconds=0, idle_seconds=None, take_over=True)
    then = judge(run.contract, asked._replace(now=run.contract.at, lease_now=run.contract.at))
    back = judge(
        run.contract,
        asked._replace(
            now=run.contract.at - timedelta(seconds=data.draw(st.integers(1, 86_400))),
            lease_now=run.contract.at,
        ),
    )
    timed = {"authority_expired", "observation_stale", "source_unchecked", "approval_void"}
    about = {(one.kind, one.position) for one in back.reasons}
    assert {(one.kind, one.position) for one in then.reasons if one.kind in timed} <= about


# --- cost ------------------------------------------------------------------------------------------


def calls(call: Callable[[], object]) -> int:
    """Count the calls of Python functions that a call comes to."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def bound_by(number: int) -> tuple[Contract, Question]:
    """Return a contract with so many constraints of one source, all of them reworded there since."""
    source = given_source(
        "policy:refunds", x.published(*(Published(id=f"c-{n}", text=f"Mind {n}") for n in range(number)))
    )
    accepted = (
        x.accepted(f"c-{n}", text=f"Mind {n}", source=x.POLICY, source_position=1, published=True)
        for n in range(number)
    )
    history = given(x.opened(), *accepted)
    reworded = tuple(Published(id=f"c-{n}", text=f"Mind {n} well") for n in range(number))
    later = source.also(e.SourceRevised(revision="5", reworded=reworded))
    question = Question(Actor("human:kim"), START, sources={"policy:refunds": later.state}, take_over=True)
    return history.contract, question


def test_judging_many_constraints_of_one_source_costs_in_proportion() -> None:
    few, many = bound_by(250), bound_by(2_000)
    assert len(judge(*many).reasons) == 2_001
    assert calls(lambda: judge(*many)) < 9 * calls(lambda: judge(*few))
