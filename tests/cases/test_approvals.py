"""Acts that wait for a person: who may answer, which act an answer is of, and what it does not outlive."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ledger import Actor, Ledger, Rule, Runtime, Verdict
from ledger import commands as c
from ledger.application.exporting import export
from ledger.application.importing_runs import import_runs
from ledger.errors import (
    ApprovalDenied,
    ApprovalNotFound,
    ApprovalRequired,
    EffectsDisabled,
    InvalidInput,
    NotForAgents,
    NotOpen,
    OutcomeUnknown,
    RunIsHeld,
)
from ledger.events import ApprovalAnswered, ApprovalRequested, EffectIntended, EffectSucceeded
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock
from ledger.values import Payload
from tests.application.approving import opened
from tests.cases.conftest import Another

PROGRAM = Actor("agent:refunds", session="s-1")
DESK = Actor("service:desk")
KIM, LEE = "human:kim", "human:lee"


class Outside:
    """It does what it is asked as often as it is asked, and keeps a list."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def pay(self, order: int) -> dict[str, str]:
        self.did.append(f"pay {order}")
        return {"id": f"payment-{len(self.did)}"}

    def mail(self, to: str) -> None:
        self.did.append(f"mail {to}")


@pytest.fixture
def outside() -> Outside:
    return Outside()


def pays(ledger: Ledger, outside: Outside, order: int = 17, run: str = "r", **options: Any) -> Any:
    """Let the program pay, which a person approves."""
    options = {"needs_approval": True, **options}
    return ledger.run(run, actor=PROGRAM).perform("pay", {"order": order}, outside.pay, **options)


def asks(ledger: Ledger, outside: Outside, order: int = 17, run: str = "r", **options: Any) -> str:
    """Let the program pay, and return the id under which a person is asked."""
    with pytest.raises(ApprovalRequired) as asked:
        pays(ledger, outside, order, run, **options)
    return asked.value.id


def begin(ledger: Ledger, **options: Any) -> None:
    ledger.open_run("r", "Refund order 17", actor=PROGRAM, **options)


# --- the call and its answer ---------------------------------------------------------------------


def test_a_call_its_approval_and_its_result_are_one_record_whoever_reads_it(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-010: paused, approved, gone on, and read by a process that was not there."""
    begin(ledger)
    id = asks(ledger, outside)
    another().approve(id, by=KIM)
    assert pays(another(), outside) == {"id": "payment-1"}
    reader = another()
    events = [record.event for record in reader.log("r", after=1)]
    keys = {event.key for event in events if not isinstance(event, ApprovalAnswered)}  # type: ignore[attr-defined]
    assert len(keys) == 1
    (key,) = keys
    asked, answered = (one for one in events if isinstance(one, ApprovalRequested | ApprovalAnswered))
    assert asked.id == answered.id == id
    assert id.startswith(key)
    first, begun = (one for one in events if isinstance(one, EffectIntended))
    assert (first.approval, begun.approval, first.args) == (None, id, begun.args)
    assert reader.effect(key).status == "succeeded"
    assert pays(reader, outside) == {"id": "payment-1"}


def test_a_result_is_no_answer_to_who_asks_whether_the_act_may_be_done(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-011: neither said as the answer, nor told as what the act came to."""
    begin(ledger)
    id = asks(ledger, outside)
    key = id.partition("-")[0]
    said: Any = {"id": "payment-9"}
    with pytest.raises(InvalidInput):
        c.AnswerApproval(answer=said, by=KIM, id=id)
    with pytest.raises(NotForAgents):
        another().run("r", actor=PROGRAM).settle(key, happened=True, evidence="paid", by=KIM, result=said)
    assert asks(another(), outside) == id
    # What is told of an attempt that nobody began is kept, and a person has to look.
    told = c.ReportSuccess(attempt=1, key=key, result=Payload(json_text='"paid"'), worker="w-1")
    another().run("r", actor=PROGRAM).do(told)
    with pytest.raises(OutcomeUnknown) as unknown:
        pays(another(), outside)
    assert unknown.value.retry_after is None
    assert outside.did == []
    another().settle(key, happened=False, evidence="no payment went out", by=LEE)
    another().approve(asks(another(), outside), by=KIM)
    assert pays(another(), outside) == {"id": "payment-1"}


def test_acts_that_wait_side_by_side_have_requests_of_their_own_and_answers_find_them(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-012: three calls of one tool, and two that differ in nothing but what they are called."""
    begin(ledger)
    ids = {order: asks(ledger, outside, order) for order in (1, 2, 3)}
    twins = [asks(ledger, outside, 4, occurrence=name) for name in ("first", "second")]
    assert len({*ids.values(), *twins}) == 5
    another().deny(ids[2], by=KIM)
    another().approve(ids[3], by=LEE)
    another().approve(ids[1], by=KIM)
    another().approve(twins[1], by=KIM)
    for order in (3, 1):
        pays(another(), outside, order)
    with pytest.raises(ApprovalDenied):
        pays(another(), outside, 2)
    pays(another(), outside, 4, occurrence="second")
    assert asks(another(), outside, 4, occurrence="first") == twins[0]
    assert outside.did == ["pay 3", "pay 1", "pay 4"]


def test_an_answer_that_finds_nothing_to_answer_is_told_so_and_is_no_silent_yes(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-013: of an unknown id, of one that was answered, and said once more."""
    begin(ledger)
    id = asks(ledger, outside)
    for unknown in ("nothing", f"{'0' * 64}-00000000", f"{id[:-1]}{'0' if id[-1] != '0' else '1'}"):
        with pytest.raises(ApprovalNotFound):
            another().approve(unknown, by=KIM)
        with pytest.raises(ApprovalNotFound):
            another().run("r", actor=DESK).approve(unknown, by=KIM)
    assert asks(another(), outside) == id
    first = another().deny(id, by=KIM)
    again = another().deny(id, by=KIM)
    assert (again.repeated, again.position) == (True, first.position)
    with pytest.raises(NotOpen) as over:
        another().approve(id, by=LEE)
    assert over.value.evidence == {"kind": "approval", "id": id, "answer": "denied", "by": KIM}
    with pytest.raises(ApprovalDenied):
        pays(another(), outside)
    said = [r.event for r in ledger.log("r") if isinstance(r.event, ApprovalAnswered)]
    assert [(one.answer, one.by) for one in said if one.id == id] == [("denied", KIM), ("approved", LEE)]
    assert len(said) == 6  # of the others, one came to no run at all
    assert outside.did == []


# --- branches ------------------------------------------------------------------------------------


def test_a_branch_has_answers_of_its_own_and_leaves_those_of_its_origin_alone(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-014: the fork that was made before the answer only reads; who follows the run asks for itself."""
    begin(ledger)
    asked_at = ledger.contract("r").position
    id = asks(ledger, outside)
    fork = another().fork("r", as_="what-if", at=ledger.contract("r").position)
    with pytest.raises(ApprovalNotFound):
        another().run("what-if", actor=DESK).deny(id, by=KIM)
    assert fork.contract.approvals == ()
    with pytest.raises(EffectsDisabled):
        pays(another(), outside, run="what-if")
    assert asks(another(), outside) == id
    another().deny(id, by=KIM)
    another().restart("r", as_="r-2", reason="begin anew", by=KIM, actor=DESK)
    other = asks(another(), outside, run="r-2")
    assert other != id
    another().approve(other, by=LEE)
    assert pays(another(), outside, run="r-2") == {"id": "payment-1"}
    answers = {
        run: [r.event.answer for r in ledger.log(run) if isinstance(r.event, ApprovalAnswered)]
        for run in ("r", "r-2")
    }
    assert answers == {"r": ["denied"], "r-2": ["approved"]}
    assert asked_at == 1


@pytest.mark.parametrize("after", ["the request", "the approval", "the act"])
def test_a_replay_from_before_or_after_an_approval_takes_nobodys_yes(
    ledger: Ledger, another: Another, outside: Outside, after: str
) -> None:
    """Case-015: it reads what was done and asks nobody; begun anew the run asks anew."""
    begin(ledger)
    id = asks(ledger, outside)
    places = {"the request": ledger.contract("r").position}
    another().approve(id, by=KIM)
    places["the approval"] = ledger.contract("r").position
    if after == "the act":
        pays(another(), outside)
        places["the act"] = ledger.contract("r").position
    another().fork("r", as_="replay", at=places[after])
    assert another().contract("replay").approvals == ()
    if after == "the act":
        assert pays(another(), outside, run="replay") == {"id": "payment-1"}
        assert outside.did == ["pay 17"]
        return
    with pytest.raises(EffectsDisabled):
        pays(another(), outside, run="replay")
    another().restart("r", as_="r-2", reason="begin anew", by=KIM, actor=DESK)
    assert asks(another(), outside, run="r-2") != id
    assert outside.did == []


def test_a_nested_run_waits_in_the_record_alone_and_goes_on_from_a_copy_of_it(
    ledger: Ledger, another: Another, clock: Clock, outside: Outside
) -> None:
    """Case-016: the child asks, all processes end, the record goes to JSON and back, a person approves."""
    origin = opened(MemoryStore(), clock)  # type: ignore[arg-type]
    begin(origin)
    origin.run("r", actor=PROGRAM).open_child("child", "Pay it back")
    id = asks(origin, outside, run="child")
    out = io.BytesIO()
    export(origin, out.write)
    import_runs(ledger, io.BytesIO(out.getvalue()))
    assert asks(another(), outside, run="child") == id
    another().approve(id, by=KIM)
    assert pays(another(), outside, run="child") == {"id": "payment-1"}
    # Its parent is told of it, and nobody is asked for what was done.
    assert pays(another(), outside) == {"id": "payment-1"}
    assert outside.did == ["pay 17"]


# --- programs that begin anew --------------------------------------------------------------------


def test_a_program_that_begins_anew_after_each_approval_acts_once(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-006, case-007: one act in the step needs nobody, two wait behind it, and one is approved."""
    begin(ledger)

    def program() -> list[str]:
        run = another().run("r", actor=PROGRAM)
        run.perform("mail", {"to": "kim@example.org"}, outside.mail, step="refund")
        waiting = []
        for order in (1, 2):
            try:
                run.perform("pay", {"order": order}, outside.pay, step="refund", needs_approval=True)
            except ApprovalRequired as asked:
                waiting.append(asked.id)
        return waiting

    first, second = program()
    assert program() == [first, second]
    another().approve(second, by=KIM)
    for _ in range(2):
        assert program() == [first]
        assert outside.did == ["mail kim@example.org", "pay 2"]
    assert [one.id for one in another().contract("r").approvals] == [first]
    another().approve(first, by=KIM)
    assert program() == program() == []
    assert outside.did == ["mail kim@example.org", "pay 2", "pay 1"]


def test_an_approved_payment_whose_record_was_lost_is_not_made_again(
    ledger: Ledger, another: Another, clock: Clock, outside: Outside
) -> None:
    """Case-018: approved, paid, the program ends before that is stored, and goes on."""

    class Ended(BaseException):
        pass

    def pay_and_end(order: int) -> None:
        outside.pay(order)
        raise Ended

    begin(ledger)
    another().approve(asks(ledger, outside), by=KIM)
    with pytest.raises(Ended):
        ledger.run("r", actor=PROGRAM).perform("pay", {"order": 17}, pay_and_end, needs_approval=True)
    clock.tick(3600)
    for _ in range(3):
        with pytest.raises(OutcomeUnknown) as unknown:
            pays(another(), outside)
        assert unknown.value.retry_after is None
    assert another().resume("r", actor=PROGRAM).verdict is Verdict.RECONCILE
    with pytest.raises(RunIsHeld):
        pays(another(), outside)
    assert outside.did == ["pay 17"]
    succeeded = [r for r in ledger.log("r") if isinstance(r.event, EffectSucceeded)]
    assert succeeded == []


# --- what an approval does not outlive ------------------------------------------------------------


def test_an_approval_is_not_used_under_another_policy(
    ledger: Ledger, another: Another, outside: Outside
) -> None:
    """Case-026: approved, the policy is reworded, somebody wants to go on: asked anew, the old one cited."""
    begin(ledger)
    desk = another().run("r", actor=DESK)
    rule = Rule(tools=("pay",), needs_approval=True)
    desk.accept("ask", "A person approves each refund", asserted_by=KIM, rule=rule)
    id = asks(ledger, outside, needs_approval=False)
    another().approve(id, by=KIM)
    ledger.run("r", actor=PROGRAM).suspend(reason="night")
    desk.accept("ask", "Two people look at each refund", asserted_by=LEE, change="reworded", rule=rule)
    held = another().resume("r", actor=PROGRAM)
    (reason,) = held.reasons
    assert (held.verdict, reason.kind) == (Verdict.REAPPROVE, "approval_void")
    assert id in reason.what
    key = id.partition("-")[0]
    another().run("r", actor=DESK).request_approval(key)
    assert another().resume("r", actor=PROGRAM)
    anew = asks(another(), outside, needs_approval=False)
    assert anew != id
    with pytest.raises(ApprovalNotFound):
        another().approve(id, by=KIM)
    another().approve(anew, by=KIM)
    pays(another(), outside, needs_approval=False)
    assert outside.did == ["pay 17"]


@pytest.mark.parametrize("edited", ["plan", "program"])
@pytest.mark.parametrize("answered", ["before", "after"])
def test_an_approval_is_not_used_by_a_program_that_was_edited(
    ledger: Ledger, another: Another, outside: Outside, edited: str, answered: str
) -> None:
    """Case-028: the plan, or what runs, is another between the question and the act."""
    begin(ledger, runtime=Runtime(tool_schema="graph-1"))
    program = ledger.run("r", actor=PROGRAM)
    program.commit_plan(["ask", "pay"])
    id = asks(ledger, outside, step="pay")
    if answered == "before":
        another().approve(id, by=KIM)
    if edited == "plan":
        program.revise_plan(["pay"], reason="shorter")
    else:
        another().run("r", actor=DESK).do(
            c.AdoptRuntime(by=KIM, reason="deployed", runtime=Runtime(tool_schema="graph-2"))
        )
    if answered == "after":
        another().approve(id, by=KIM)
    anew = asks(another(), outside, step="pay")
    assert anew != id
    another().approve(anew, by=KIM)
    assert pays(another(), outside, step="pay") == {"id": "payment-1"}
