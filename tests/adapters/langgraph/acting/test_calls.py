"""Tool calls of graphs are acts of their run: each is done once, and the model is told what came of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool, ToolException

from ledger import Rule, Source, Step, open_ledger
from ledger import tool as declared
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls, ThreadIsHeld
from ledger.errors import InvalidInput, OutcomeUnknown, PossibleRepeat
from ledger.values import Operator, Predicate
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    ONCE,
    PAY,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    names,
    on,
    paying,
    saving,
)


class Crash(BaseException):
    """The process is gone."""


class Crashing(AgentMiddleware[Any, Any]):
    """Lets a tool return, and then the process is gone, once."""

    crashed = False

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        done = handler(request)
        if not self.crashed:
            self.crashed = True
            raise Crash
        return done


def intended(saver: LedgerSaver, run: str = "t#1") -> list[Any]:
    return [one.event for one in saver.ledger.log(run) if one.name == "effect.intended"]


def test_a_call_is_named_by_its_node_the_message_that_asks_and_its_arguments() -> None:
    with paying([[PAY], "done"], ONCE) as (saver, bank, agent):
        told = agent.invoke(ask(), on("t"))
        (act,) = intended(saver)
        asking = next(one for one in told["messages"] if isinstance(one, AIMessage) and one.tool_calls)
        assert (act.tool, act.step, act.occurrence) == ("pay", f"tools/{asking.id}", None)
        assert act.args == '{"amount":"10.00","order":17}'
        assert bank.keys == [act.key], "the tool can hand the key on"
    (answer,) = answers(told)
    assert (answer.content, answer.status, answer.tool_call_id) == ('{"id": "ch_1"}', "success", "call-1")


def test_calls_of_one_message_that_are_alike_are_acts_of_their_own() -> None:
    bank = Bank()
    calls = [call("pay", str(at), order=17, amount="10.00") for at in range(3)]
    with saving() as saver:
        agent = agent_of(saver, [calls, "done"], [bank.pay], ONCE)
        told = agent.invoke(ask(), on("t"))
        assert len(bank.paid) == 3
        assert sorted(act.occurrence or "" for act in intended(saver)) == ["", "2", "3"]
    assert [one.tool_call_id for one in answers(told)] == ["0", "1", "2"]
    assert {one.status for one in answers(told)} == {"success"}


def test_what_another_message_asks_for_again_is_not_done_and_the_model_is_told_what_it_came_to() -> None:
    with paying([[PAY], "done", [PAY], "done"], ONCE) as (_saver, bank, agent):
        agent.invoke(ask(), on("t"))
        (again,) = answers(agent.invoke(ask(), on("t")))
    assert again.status == "error"
    assert "possible_repeat" in str(again.content)
    assert '{"id": "ch_1"}' in str(again.content)
    assert bank.paid == [(17, "10.00")]


def test_code_may_say_that_it_is_to_be_done_again() -> None:
    bank = Bank()

    def every_month(request: Any) -> str | None:
        asked = [one.text for one in request.state["messages"] if isinstance(one, HumanMessage)]
        return "the subscription of another month" if "month" in asked[-1] else None

    with saving() as saver:
        lines = [[PAY], "done", [PAY], "done", [PAY], "done"]
        agent = agent_of(saver, lines, [bank.pay], ONCE, repeats=every_month)
        agent.invoke(ask(), on("t"))
        (again,) = answers(agent.invoke(ask("another month"), on("t")))
        assert again.content == '{"id": "ch_2"}'
        (refused,) = answers(agent.invoke(ask("once more"), on("t")))
        assert refused.status == "error"
        assert intended(saver)[1].repeat_reason == "the subscription of another month"


def test_arguments_that_are_as_the_tool_has_them_by_default_make_no_other_act() -> None:
    bank = Bank()
    lines = [[PAY], [call("pay", "2", order=17, amount="10.00", currency="EUR")], "done"]
    with saving() as saver:
        told = agent_of(saver, lines, [bank.pay], ONCE).invoke(ask(), on("t"))
    assert [one.status for one in answers(told)] == ["success", "error"]
    assert len(bank.paid) == 1


def test_a_node_that_runs_again_after_a_crash_finds_what_it_did() -> None:
    bank = Bank()
    with saving() as saver:
        crashing = Crashing()
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE, before=[crashing])
        with pytest.raises(Crash):
            agent.invoke(ask(), on("t"), durability="sync")
        agent = agent_of(beside(saver), [[PAY], "done"], [bank.pay], ONCE)
        told = agent.invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ['{"id": "ch_1"}']
        assert (bank.paid, told["messages"][-1].content) == ([(17, "10.00")], "done")
        assert names(saver.ledger).count("effect.started") == 1


def test_a_model_that_is_asked_again_because_its_answer_was_lost_does_not_pay_again() -> None:
    with paying([[PAY], "done"], ONCE) as (saver, bank, agent):
        agent.invoke(ask(), on("t"))
        # The checkpoint before the model spoke: what it says next has another id, and so have its calls.
        asked = next(
            one for one in agent.get_state_history(on("t")) if one.next == ("model",) and one.parent_config
        )
        before = [one for one in agent.get_state_history(on("t")) if one.next == ("model",)][-1]
        assert asked.config != before.config
        another = call("pay", "another", order=17, amount="10.00")
        other = agent_of(saver, [[another], "done"], [bank.pay], ONCE)
        (answer,) = answers(other.invoke(None, before.config))
        assert answer.status == "error"
    assert bank.paid == [(17, "10.00")]


def test_time_travel_to_before_the_tools_returns_what_is_recorded() -> None:
    with paying([[PAY], "done"], ONCE) as (_saver, bank, agent):
        agent.invoke(ask(), on("t"))
        before = next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",))
        (answer,) = answers(agent.invoke(None, before.config))
        assert (answer.content, answer.status) == ('{"id": "ch_1"}', "success")
    assert bank.paid == [(17, "10.00")]


def test_a_tool_that_only_looks_is_asked_again_only_where_its_answer_is_not_fresh() -> None:
    looked: list[int] = []

    def look_up(order: int) -> str:
        """Look an order up."""
        looked.append(order)
        return f"order {order}"

    def price(order: int) -> str:
        """Ask for the price."""
        looked.append(-order)
        return "10.00"

    both = [call("look_up", "1", order=17), call("price", "2", order=17)]
    declared_ = {"look_up": "read_only", "price": {"recovery": "read_only", "fresh_for": 0}}
    with saving() as saver:
        told = agent_of(saver, [both, both, "done"], [look_up, price], declared_).invoke(ask(), on("t"))
    assert [one.content for one in answers(told)] == ["order 17", "10.00"] * 2
    assert sorted(looked) == [-17, -17, 17]


def test_a_rule_that_forbids_an_act_is_told_to_the_model_which_may_do_something_else() -> None:
    bank = Bank()
    lines = [[call("pay", order=17, amount="480.00")], [call("pay", "2", order=17, amount="80.00")], "done"]
    with saving() as saver:
        saver.threads.open("t").run.accept(
            "limit-100",
            "Never pay more than 100 EUR",
            source=Source("human", "kim"),
            asserted_by="human:kim",
            rule=Rule(
                tools=("pay",), require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="100"),)
            ),
        )
        told = agent_of(saver, lines, [bank.pay], ONCE).invoke(ask(), on("t"))
    refused, paid = answers(told)
    assert (refused.status, paid.status) == ("error", "success")
    assert "constraint_violated" in str(refused.content)
    assert "limit-100" in str(refused.content)
    assert bank.paid == [(17, "80.00")]


def test_refusals_are_raised_where_that_is_wanted() -> None:
    bank = Bank()
    with saving() as saver:
        lines = [[PAY], "done", [PAY], "done"]
        agent = agent_of(saver, lines, [bank.pay], ONCE, refusals="raise")
        agent.invoke(ask(), on("t"))
        with pytest.raises(PossibleRepeat):
            agent.invoke(ask(), on("t"))
        with pytest.raises(InvalidInput, match="refusals: one of tell and raise"):
            LedgerToolCalls(saver, refusals="no")  # type: ignore[arg-type]


def test_a_step_outside_of_a_plan_is_told() -> None:
    bank = Bank()
    with saving() as saver:
        saver.threads.open("t").run.commit_plan([Step(name="look")], reason="look only")
        (told,) = answers(agent_of(saver, [[PAY], "done"], [bank.pay], ONCE).invoke(ask(), on("t")))
    assert "off_plan" in str(told.content)
    assert not bank.paid


def test_a_definite_failure_is_told_and_may_be_tried_again() -> None:
    bank = Bank()
    bank.refusing = ValueError("no such card")
    lines = [[PAY], [call("pay", "2", order=17, amount="10.00")], "done"]
    with saving() as saver:
        told = agent_of(
            saver, lines, [bank.pay], {"pay": {"recovery": "at_most_once", "definite_errors": ValueError}}
        ).invoke(ask(), on("t"))
    failed, paid = answers(told)
    assert (failed.status, failed.content) == (
        "error",
        "It failed, and nothing was done: ValueError: no such card",
    )
    assert (paid.status, len(bank.paid)) == ("success", 1)


def test_an_act_of_which_nobody_knows_stops_the_graph_and_the_gate_holds_the_thread() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        with pytest.raises(ThreadIsHeld, match="effect_unknown") as held:
            agent.invoke(None, on("t"))
        assert held.value.verdict == "reconcile"
        assert held.value.reasons[0]["cleared_by"] == "effect.reconciled"
        saver.ledger.settle(
            bank.keys[0], happened=True, evidence="seen at the bank", by="human:kim", result="paid"
        )
        told = agent.invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["paid"]
    assert len(bank.paid) == 1


def test_what_can_be_asked_is_asked_before_the_thread_goes_on() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(
            saver, [[PAY], "done"], [bank.pay], {"pay": {"recovery": "queryable", "probe": lambda *_: None}}
        )
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        agent = agent_of(
            beside(saver), [[PAY], "done"], [bank.pay], {"pay": {"recovery": "queryable", "probe": bank.find}}
        )
        assert [one.content for one in answers(agent.invoke(None, on("t")))] == ["found 1"]
    assert len(bank.paid) == 1


def test_an_error_that_the_tool_handles_itself_is_none_of_its_results() -> None:
    def pay(order: int) -> str:
        """Pay."""
        raise ToolException("the card was declined")

    handled = StructuredTool.from_function(pay, handle_tool_error=True)
    with saving() as saver:
        lines = [[call("pay", order=17)], "done"]
        agent = agent_of(
            saver, lines, [handled], {"pay": {"recovery": "at_most_once", "definite_errors": ToolException}}
        )
        (told,) = answers(agent.invoke(ask(), on("t")))
        assert told.status == "error"
        assert "the card was declined" in str(told.content)
        agent = agent_of(saver, lines, [handled], ONCE)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t-2"))


@pytest.mark.parametrize(
    "given", [{"order": "many", "amount": "10"}, {"order": 17}, {"order": 17, "amount": {"a": 1}}]
)
def test_arguments_that_do_not_fit_are_told_and_nothing_is_recorded(given: dict[str, Any]) -> None:
    bank = Bank()
    with saving() as saver:
        lines = [[call("pay", **given)], "done"]
        (told,) = answers(agent_of(saver, lines, [bank.pay]).invoke(ask(), on("t")))
        assert names(saver.ledger) == ["run.opened"]
    assert (told.status, bank.paid) == ("error", [])
    assert str(told.content).startswith("Not called")


def test_a_tool_that_does_not_exist_is_told_as_ever() -> None:
    bank = Bank()
    with saving() as saver:
        (told,) = answers(agent_of(saver, [[call("fly")], "done"], [bank.pay]).invoke(ask(), on("t")))
    assert "fly is not a valid tool" in str(told.content)


def test_a_tool_of_which_nothing_is_declared_is_listed_as_unclassified() -> None:
    bank = Bank()
    with saving() as saver:
        agent_of(saver, [[PAY], "done"], [bank.pay]).invoke(ask(), on("t"))
        (known,) = saver.ledger.tools
        assert (known.name, known.recovery, known.classified) == ("pay", "at_most_once", False)


def test_the_tools_that_the_ledger_has_registered_need_not_be_declared_again() -> None:
    bank = Bank()

    @declared(recovery="idempotent", dedupes_for=86_400, resource="bank")
    def pay(order: int, amount: str, currency: str = "EUR") -> dict[str, Any]:
        raise AssertionError("the graph has the tool itself")

    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent_of(saver, [[PAY], "done"], [bank.pay]).invoke(ask(), on("t"))
        (act,) = intended(saver)
        assert (act.recovery, act.dedupes_for, act.resource) == ("idempotent", 86_400, "bank")
    assert len(bank.paid) == 1


def test_contradicting_declarations_are_named() -> None:
    with saving() as saver:
        with pytest.raises(InvalidInput, match=r"tools\.pay\.probe: 'pay' is queryable"):
            LedgerToolCalls(saver, {"pay": "queryable"})
        with pytest.raises(InvalidInput, match=r"tools\.pay"):
            LedgerToolCalls(saver, {"pay": {"recovry": "queryable"}})
        with pytest.raises(InvalidInput, match="handle_tool_errors"):
            LedgerToolCalls(saver).node([], handle_tool_errors=True)
