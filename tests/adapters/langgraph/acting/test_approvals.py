"""Acts that wait for a person interrupt the graph: answers go to what was asked, and the ledger decides."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.errors import UnknownInterruptError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from ledger import Actor, Rule, Source, open_ledger
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls
from ledger.errors import InvalidInput, NotAuthenticated, OutcomeUnknown
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    ASKS,
    KIM,
    NO,
    PAY,
    YES,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    graph_of_calls,
    names,
    on,
    paying,
    saving,
)


def calls(count: int) -> list[Any]:
    return [call("pay", str(at), order=at, amount="10.00") for at in range(count)]


def interrupts(told: dict[str, Any]) -> list[Any]:
    return list(told["__interrupt__"])


def test_what_waits_is_asked_by_an_interrupt_that_says_what_about() -> None:
    with paying([[PAY], "done"], ASKS) as (saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        (approval,) = saver.ledger.contract("t#1").approvals
        value = asked.value
        assert (value["type"], value["approval"], value["run"]) == ("approval", approval.id, "t#1")
        assert (value["tool"], value["args"]) == ("pay", {"order": 17, "amount": "10.00"})
        assert (value["key"], value["question"]) == (approval.key, approval.question)
        assert (value["constraints"], value["expires_at"]) == ([], None)
        assert value["goal"] == saver.ledger.contract("t#1").goal.text
        assert not bank.paid
        told = agent.invoke(Command(resume={asked.id: YES}), on("t"))
        assert [one.content for one in answers(told)] == ['{"id": "ch_1"}']
        (answered,) = [one for one in saver.ledger.log("t#1") if one.name == "approval.answered"]
        assert (answered.event.by, answered.event.answer) == (KIM, "approved")  # type: ignore[attr-defined]
        assert (answered.actor.id, AGENT.kind) == ("service:langgraph", "agent"), "no agent answers"
    assert bank.paid == [(17, "10.00")]


def test_a_constraint_that_demands_a_person_is_named_and_so_is_the_end_of_the_time() -> None:
    bank = Bank()
    with saving() as saver:
        saver.threads.open("t").run.accept(
            "ask-kim",
            "Ask before you pay",
            source=Source("human", "kim"),
            asserted_by=KIM,
            rule=Rule(tools=("pay",), needs_approval=True),
        )
        declared = {"pay": {"recovery": "at_most_once", "approval_seconds": 60}}
        (asked,) = interrupts(agent_of(saver, [[PAY], "done"], [bank.pay], declared).invoke(ask(), on("t")))
        (approval,) = saver.ledger.contract("t#1").approvals
        assert asked.value["constraints"] == ["ask-kim"]
        assert "Ask before you pay" in asked.value["question"]
        assert datetime.fromisoformat(asked.value["expires_at"]) == approval.expires_at
    assert not bank.paid


def test_a_no_is_told_to_the_model_with_the_reason() -> None:
    with paying([[PAY], "done"], ASKS) as (_saver, bank, agent):
        agent.invoke(ask(), on("t"))
        (told,) = answers(agent.invoke(Command(resume=NO), on("t")))
        assert told.status == "error"
        assert "approval_denied" in str(told.content)
    assert not bank.paid


def test_answers_to_calls_that_run_at_once_go_to_what_each_was_asked_about() -> None:
    with paying([calls(3), "done"], ASKS) as (_saver, bank, agent):
        asked = interrupts(agent.invoke(ask(), on("t")))
        assert len({one.id for one in asked}) == 3
        order = {one.id: one.value["args"]["order"] for one in asked}
        # Answered last first, the one in the middle with a no.
        resume = {one.id: NO if order[one.id] == 1 else YES for one in reversed(asked)}
        told = agent.invoke(Command(resume=resume), on("t"))
        assert [one.status for one in answers(told)] == ["success", "error", "success"]
    assert sorted(bank.paid) == [(0, "10.00"), (2, "10.00")]


def test_answers_may_come_one_by_one_and_from_several_processes() -> None:
    with paying([calls(3), "done"], ASKS) as (saver, bank, agent):
        waiting = {one.value["args"]["order"]: one.id for one in interrupts(agent.invoke(ask(), on("t")))}
        for order, answer in ((2, YES), (1, NO), (0, YES)):
            other = agent_of(beside(saver), [calls(3), "done"], [bank.pay], ASKS)
            told = other.invoke(Command(resume={waiting[order]: answer}), on("t"))
        assert [one.status for one in answers(told)] == ["success", "error", "success"]
        assert names(saver.ledger).count("approval.requested") == 3
    assert sorted(bank.paid) == [(0, "10.00"), (2, "10.00")]


def test_the_calls_of_one_node_ask_one_after_another_and_no_answer_goes_to_another() -> None:
    bank = Bank()
    with saving() as saver:
        graph = graph_of_calls(saver, calls(3), [bank.pay], ASKS)
        told, asked = graph.invoke(ask(), on("t")), {}
        while told.get("__interrupt__"):
            (one,) = told["__interrupt__"]
            assert one.id not in asked
            asked[one.id] = order = one.value["args"]["order"]
            told = graph.invoke(Command(resume={one.id: NO if order == 1 else YES}), on("t"))
        assert sorted(asked.values()) == [0, 1, 2]
        assert [one.status for one in answers(told)] == ["success", "error", "success"]
    assert sorted(bank.paid) == [(0, "10.00"), (2, "10.00")]


def test_what_was_answered_in_the_ledger_counts_whatever_the_graph_is_resumed_with() -> None:
    with paying([calls(2), "done"], ASKS) as (saver, bank, agent):
        asked = {one.value["args"]["order"]: one for one in interrupts(agent.invoke(ask(), on("t")))}
        saver.ledger.approve(asked[0].value["approval"], by=KIM, actor=Actor("human:kim"))
        saver.ledger.deny(asked[1].value["approval"], by=KIM, actor=Actor("human:kim"))
        resume = {asked[0].id: "whatever", asked[1].id: YES}
        told = agent.invoke(Command(resume=resume), on("t"))
        assert [one.status for one in answers(told)] == ["success", "error"]
    assert bank.paid == [(0, "10.00")]


def test_a_graph_that_is_resumed_without_an_answer_asks_again() -> None:
    with paying([[PAY], "done"], ASKS) as (saver, bank, agent):
        (first,) = interrupts(agent.invoke(ask(), on("t")))
        (again,) = interrupts(agent.invoke(None, on("t")))
        assert (again.id, again.value["approval"]) == (first.id, first.value["approval"])
        assert names(saver.ledger).count("approval.requested") == 1
    assert not bank.paid


def test_an_answer_to_what_nobody_asked_is_an_error() -> None:
    with paying([[PAY], "done"], ASKS) as (_saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        with pytest.raises(UnknownInterruptError):
            agent.invoke(Command(resume={"0" * 32: YES}), on("t"))
        agent.invoke(Command(resume={asked.id: YES}), on("t"))
        with pytest.raises(UnknownInterruptError):
            agent.invoke(Command(resume={asked.id: NO}), on("t"))
    assert bank.paid == [(17, "10.00")]


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ("yes", "resume"),
        (True, "resume"),
        ({"result": {"id": "ch_9"}}, "resume"),
        ({"approve": "yes", "by": KIM}, "resume"),
        ({"approve": True}, "resume.by"),
        ({"approve": True, "by": "agent:payer"}, "resume.by"),
        ({"approve": True, "by": KIM, "args": {"amount": "1"}}, "resume.args"),
        ({"approve": True, "by": KIM, "approval": "another"}, "resume.approval"),
        ({"approve": True, "by": KIM, "reason": 3}, "resume.reason"),
    ],
)
def test_what_is_no_answer_is_refused_and_may_be_answered_again(told: Any, path: str) -> None:
    with paying([[PAY], "done"], ASKS) as (_saver, bank, agent):
        agent.invoke(ask(), on("t"))
        with pytest.raises(InvalidInput) as error:
            agent.invoke(Command(resume=told), on("t"))
        assert error.value.path == path
        assert not bank.paid
        agent.invoke(Command(resume=YES), on("t"))
    assert bank.paid == [(17, "10.00")]


def test_a_branch_from_before_the_question_asks_anew_where_the_model_asks_anew() -> None:
    with paying([[PAY], "done"], ASKS) as (_saver, bank, agent):
        (first,) = interrupts(agent.invoke(ask(), on("t")))
        agent.invoke(Command(resume={first.id: NO}), on("t"))
        before = [one for one in agent.get_state_history(on("t")) if one.next == ("model",)][-1]
        (second,) = interrupts(agent.invoke(None, before.config))
        assert second.value["approval"] != first.value["approval"]
        told = agent.invoke(Command(resume={second.id: YES}), on("t"))
        assert [one.status for one in answers(told)] == ["success"]
    assert bank.paid == [(17, "10.00")]


def test_a_branch_from_the_question_itself_asks_about_the_same_act_and_finds_its_answer() -> None:
    with paying([[PAY], "done"], ASKS) as (saver, bank, agent):
        (first,) = interrupts(agent.invoke(ask(), on("t")))
        agent.invoke(Command(resume={first.id: NO}), on("t"))
        before = next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",))
        (told,) = answers(agent.invoke(None, before.config))
        assert "approval_denied" in str(told.content)
        (approval,) = saver.ledger.contract("t#1").approvals
        # A person lets it be asked about anew: the branch has an answer of its own then.
        saver.ledger.run("t#1", actor=Actor("human:ann")).request_approval(approval.key)
        (second,) = interrupts(agent.invoke(None, before.config))
        assert second.value["approval"] != first.value["approval"]
        told = agent.invoke(Command(resume={second.id: YES}), on("t"))
        assert [one.status for one in answers(told)] == ["success"]
    assert bank.paid == [(17, "10.00")]


def test_another_thread_inherits_no_approval() -> None:
    with paying([[PAY], "done"], ASKS) as (saver, bank, agent):
        (first,) = interrupts(agent.invoke(ask(), on("t")))
        saver.ledger.approve(first.value["approval"], by=KIM, actor=Actor("human:kim"))
        (second,) = interrupts(agent.invoke(ask(), on("other")))
        assert second.value["approval"] != first.value["approval"]
    assert not bank.paid


def test_where_people_have_to_be_authenticated_a_graph_passes_on_no_mere_name() -> None:
    bank = Bank()
    with open_ledger(":memory:", authenticated_answers=True) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ASKS)
        agent.invoke(ask(), on("t"))
        with pytest.raises(NotAuthenticated):
            agent.invoke(Command(resume=YES), on("t"))
        kim = Actor("human:kim", authenticated_by="oidc:example")
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ASKS, answers_as=kim)
        agent.invoke(Command(resume=YES), on("t"))
    assert bank.paid == [(17, "10.00")]


@pytest.mark.anyio
@pytest.mark.parametrize("other", ["asks", "fails"])
async def test_a_call_that_stops_its_node_leaves_none_of_the_others_at_work(other: str) -> None:
    bank = Bank()

    async def slow(order: int) -> str:
        """Act until the other call has stopped the node, and a while longer."""
        while not stopped():  # noqa: ASYNC110  the ledger tells
            await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0.001)
        return "done"

    def fail(order: int) -> str:
        """Fail."""
        raise ConnectionResetError("gone")

    def stopped() -> bool:
        contract = saver.ledger.contract("t#1")
        return bool(contract.approvals) or any(one.status == "unknown" for one in contract.effects)

    both = [call("slow", "1", order=1), PAY if other == "asks" else call("fail", "2", order=2)]
    with saving() as saver:
        acts = LedgerToolCalls(saver, ASKS | {"slow": "at_most_once", "fail": "at_most_once"})
        builder: Any = StateGraph(MessagesState)
        builder.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=both)]})
        tools: list[Any] = [bank.pay, StructuredTool.from_function(coroutine=slow, name="slow"), fail]
        builder.add_node("tools", acts.node(tools))
        builder.add_edge(START, "model").add_edge("model", "tools")
        graph = builder.compile(checkpointer=saver)
        if other == "asks":
            interrupts(await graph.ainvoke(ask(), on("t")))
        else:
            with pytest.raises(OutcomeUnknown):
                await graph.ainvoke(ask(), on("t"))
        assert all(one.status != "executing" for one in saver.ledger.contract("t#1").effects)
        saver.faces.close()


@pytest.mark.anyio
async def test_in_an_event_loop_the_calls_of_one_node_ask_one_after_another_too() -> None:
    bank = Bank()
    with saving() as saver:
        graph = graph_of_calls(saver, calls(3), [bank.pay], ASKS)
        told = await graph.ainvoke(ask(), on("t"))
        while told.get("__interrupt__"):
            (one,) = told["__interrupt__"]
            answer = NO if one.value["args"]["order"] == 1 else YES
            told = await graph.ainvoke(Command(resume=answer), on("t"))
        assert [one.status for one in answers(told)] == ["success", "error", "success"]
        saver.faces.close()
    assert sorted(bank.paid) == [(0, "10.00"), (2, "10.00")]


@pytest.mark.anyio
async def test_in_an_event_loop_answers_go_to_what_was_asked_too() -> None:
    with paying([calls(3), "done"], ASKS) as (saver, bank, agent):
        asked = interrupts(await agent.ainvoke(ask(), on("t")))
        resume = {one.id: NO if one.value["args"]["order"] == 1 else YES for one in reversed(asked)}
        told = await agent.ainvoke(Command(resume=resume), on("t"))
        assert [one.status for one in answers(told)] == ["success", "error", "success"]
        saver.faces.close()
    assert sorted(bank.paid) == [(0, "10.00"), (2, "10.00")]


@pytest.mark.parametrize("wrong", [True, "yes", {"approve": True}])
@pytest.mark.parametrize("by_id", [True, False])
def test_after_an_answer_that_is_none_the_right_one_counts(wrong: Any, by_id: bool) -> None:
    with paying([[PAY], "done"], ASKS) as (_saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        with pytest.raises(InvalidInput):
            agent.invoke(Command(resume=wrong), on("t"))
        told = agent.invoke(Command(resume={asked.id: YES} if by_id else YES), on("t"))
        assert [one.status for one in answers(told)] == ["success"]
    assert bank.paid == [(17, "10.00")]


# --- a person says something else meanwhile -----------------------------------------------------------


@pytest.mark.parametrize("approves", [True, False])
def test_what_waits_is_asked_about_again_where_the_model_asks_for_it_again(approves: bool) -> None:
    with paying([[PAY], [PAY], "done"], ASKS) as (saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        (again,) = interrupts(agent.invoke(ask("is it paid?"), on("t")))
        assert again.value == asked.value
        told = agent.invoke(Command(resume={again.id: YES if approves else NO}), on("t"))
        (answer,) = answers(told)
        assert (answer.status, bool(bank.paid)) == (("success", True) if approves else ("error", False))
        assert len([one for one in saver.ledger.log("t#1") if one.name == "approval.requested"]) == 1


def test_what_was_approved_while_a_person_spoke_of_something_else_is_done_when_it_is_asked_for() -> None:
    with paying([[PAY], "wait", [PAY], [PAY], "done"], ASKS) as (saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        agent.invoke(ask("what is the weather?"), on("t"))
        saver.ledger.approve(asked.value["approval"], by=KIM)
        told = agent_of(
            beside(saver, actor=Actor("agent:payer", session="two")),
            [[PAY], "wait", [PAY], [PAY], "done"],
            [bank.pay],
            ASKS,
        ).invoke(ask("is it paid?"), on("t"))
        done, once_more = answers(told)
        assert (done.status, done.content) == ("success", '{"id": "ch_1"}')
        assert (once_more.status, "came to" in once_more.text) == ("error", True)
    assert bank.paid == [(17, "10.00")]


def test_what_waited_in_a_run_that_was_cancelled_is_asked_about_anew_in_the_next() -> None:
    with paying([[PAY], [PAY], "done"], ASKS) as (saver, bank, agent):
        agent.invoke(ask(), on("t"))
        saver.ledger.run("t#1", actor=Actor(KIM)).close("cancelled", reason="not today")
        (asked,) = interrupts(agent.invoke(ask("pay it"), on("t")))
        assert asked.value["run"] == "t#2"
        agent.invoke(Command(resume={asked.id: YES}), on("t"))
    assert bank.paid == [(17, "10.00")]


@pytest.mark.anyio
async def test_what_waits_is_asked_about_again_in_an_event_loop() -> None:
    with paying([[PAY], [PAY], [PAY], "done"], ASKS) as (saver, bank, agent):
        (asked,) = interrupts(await agent.ainvoke(ask(), on("t")))
        (again,) = interrupts(await agent.ainvoke(ask("is it paid?"), on("t")))
        assert again.id == asked.id
        told = await agent.ainvoke(Command(resume={again.id: YES}), on("t"))
        done, once_more = answers(told)
        assert (done.status, once_more.status) == ("success", "error")
        assert '"ch_1"' in once_more.text
        saver.faces.close()
    assert bank.paid == [(17, "10.00")]
