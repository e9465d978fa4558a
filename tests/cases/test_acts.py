"""Acts on the outside by programs that are begun anew, nested, or recovered while they run."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger, Retry, Run
from ledger.errors import EffectInFlight, OutcomeUnknown, ResultNotKept
from ledger.events import Parent, RunOpened
from ledger.testing import Clock
from tests.cases.conftest import Another


class Outside:
    """It does what it is asked as often as it is asked, and keeps a list."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def pay(self, order: int) -> dict[str, str]:
        self.did.append(f"pay {order}")
        return {"id": f"payment-{len(self.did)}"}

    def mail(self, to: str) -> None:
        self.did.append(f"mail {to}")


class Stopped(BaseException):
    """The program stops at a question, as it would at a crash."""


# --- a program that begins anew at each resume -------------------------------------------------------


def test_a_program_that_begins_anew_after_each_answer_acts_once(ledger: Ledger, another: Another) -> None:
    """Case-006, case-007: two questions stand in the step that acts, and a third behind the next act."""
    outside, answered = Outside(), set[str]()
    ledger.open_run("r", "Refund order 17")

    def ask(run: Run, question: str) -> None:
        if question in answered:
            return
        if question not in {obligation.id for obligation in run.contract.obligations}:
            run.promise(question, "Answer it", owed_to="human:kim")
        raise Stopped(question)

    def program() -> Any:
        run = another().run("r")
        paid = run.perform("pay", {"order": 17}, outside.pay, step="refund")
        ask(run, "amount-is-right")
        ask(run, "account-is-right")
        run.perform("mail", {"to": "kim@example.org"}, outside.mail, step="tell")
        ask(run, "anything-else")
        return paid

    for question in ("amount-is-right", "account-is-right", "anything-else"):
        for _ in range(2):
            with pytest.raises(Stopped, match=question):
                program()
            assert [open_.id for open_ in another().contract("r").obligations] == [question]
        answered.add(question)
        ledger.run("r").discharge(question, evidence="kim said yes")
    assert program() == program() == {"id": "payment-1"}
    assert outside.did == ["pay 17", "mail kim@example.org"]
    assert [record.name for record in ledger.log("r")].count("effect.started") == 2


# --- nested runs -------------------------------------------------------------------------------------


@pytest.fixture
def child(ledger: Ledger) -> str:
    """Return a run that another one has opened for a part of its work."""
    ledger.open_run("parent", "Refund order 17")
    parent = Parent(position=1, relation="child", root="parent", run="parent")
    ledger.import_events("child", [RunOpened(goal="Pay it back", parent=parent)], expected=0)
    return "child"


def test_what_a_child_did_before_it_stopped_is_told_to_whoever_goes_on(
    ledger: Ledger, another: Another, child: str
) -> None:
    """Case-009: whether the child begins anew, or its parent does its work."""
    outside = Outside()
    receipt = ledger.run(child).perform("pay", {"order": 17}, outside.pay, step="refund")
    for run in (child, "parent", child):
        assert another().run(run).perform("pay", {"order": 17}, outside.pay, step="refund") == receipt
    assert outside.did == ["pay 17"]


def test_an_act_without_a_receipt_is_not_done_again_for_want_of_it(
    ledger: Ledger, another: Another, child: str, clock: Clock
) -> None:
    """Case-009, case-005, case-017: one receipt was none, the other was lost with the program."""
    outside = Outside()

    def pay(order: int) -> object:
        outside.pay(order)
        return object()

    def pay_and_end(order: int) -> None:
        outside.pay(order)
        raise Stopped

    ledger.run(child).perform("pay", {"order": 17}, pay, step="refund")
    with pytest.raises(Stopped):
        ledger.run(child).perform("pay", {"order": 18}, pay_and_end, step="refund")
    for run in (child, "parent"):
        with pytest.raises(ResultNotKept):
            another().run(run).perform("pay", {"order": 17}, outside.pay, step="refund")
        with pytest.raises(EffectInFlight):
            another().run(run).perform("pay", {"order": 18}, outside.pay, step="refund")
    clock.tick(30)
    for run in (child, "parent"):
        with pytest.raises(OutcomeUnknown):
            another().run(run).perform("pay", {"order": 18}, outside.pay, step="refund")
    assert outside.did == ["pay 17", "pay 18"]
    [doubtful] = another().effects(child, unknown=True)
    assert (doubtful.effect.tool, doubtful.effect.args) == ("pay", '{"order":18}')
    assert doubtful.effect.worker is not None


# --- recovering --------------------------------------------------------------------------------------


def test_who_recovers_everything_leaves_to_its_worker_what_is_being_done(
    ledger: Ledger, another: Another
) -> None:
    """Case-008: in the same process and in the middle of the call, by asking and by beginning anew."""
    outside, asked = Outside(), list[str]()
    ledger.open_run("r", "Refund order 17")

    def find(key: str, args: Any) -> None:
        asked.append(key)

    def pay(order: int) -> dict[str, str]:
        recovering = another()
        recovering.tool(name="pay", recovery="queryable", probe=find)(outside.pay)
        [found] = recovering.reconcile()
        assert found.found == "not_asked"
        assert found.because is not None
        assert str(found.effect.worker) in found.because
        with pytest.raises(EffectInFlight):
            recovering.run("r").perform("pay", {"order": order})
        return outside.pay(order)

    paid = ledger.run("r").perform("pay", {"order": 17}, pay, recovery="queryable", probe=find)
    assert another().run("r").perform("pay", {"order": 17}, outside.pay) == paid
    assert (outside.did, asked) == (["pay 17"], [])


def test_what_nobody_classified_is_never_begun_again_by_itself(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-017, case-018, case-019: nothing is declared of the tool, and the program would like to retry."""
    outside = Outside()
    ledger.open_run("r", "Refund order 17")

    def pay_and_end(order: int) -> None:
        outside.pay(order)
        raise Stopped

    with pytest.raises(Stopped):
        ledger.run("r").perform("pay", {"order": 17}, pay_and_end)
    clock.tick(9 * 86_400)
    declared: Any = {"retry": Retry(5), "definite_errors": KeyError}
    for _ in range(3):
        with pytest.raises(OutcomeUnknown) as unknown:
            another().run("r").perform("pay", {"order": 17}, outside.pay, **declared)
        assert unknown.value.retry_after is None
        assert [one.found for one in another().reconcile()] == ["not_asked"]
    assert outside.did == ["pay 17"]
