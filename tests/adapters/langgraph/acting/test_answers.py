"""An answer to an approval goes to that alone, whatever else asks in the same task of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from tests.adapters.langgraph.acting.agents import (
    KIM,
    PAY,
    YES,
    Bank,
    agent_of,
    answers,
    ask,
    call,
    graph_of_calls,
    on,
    paying,
    saving,
)

ASKS = {"recovery": "at_most_once", "needs_approval": True}
NO = {"approve": False, "by": KIM}


def by_id(asked: Any, answer: Any) -> Any:
    return Command(resume={asked.id: answer})


def plain(asked: Any, answer: Any) -> Any:
    return Command(resume=answer)


WAYS = pytest.mark.parametrize("resume", [by_id, plain])


def interrupts(told: dict[str, Any]) -> list[Any]:
    return list(told.get("__interrupt__", ()))


@WAYS
@pytest.mark.parametrize("answer", [YES, NO])
@pytest.mark.parametrize("first", ["pay", "wipe"])
def test_what_asks_beside_an_approval_is_asked_about_itself(
    resume: Callable[[Any, Any], Any], answer: Any, first: str
) -> None:
    bank, wiped = Bank(), list[str]()

    def wipe(disk: str) -> str:
        """Wipe a disk."""
        if interrupt(f"wipe {disk}?") is True:
            wiped.append(disk)
        return "looked at"

    with saving() as saver:
        calls = [PAY, call("wipe", "call-2", disk="sda")]
        declared = {"pay": ASKS, "wipe": {"recovery": "at_most_once", "definite_errors": GraphInterrupt}}
        order = calls if first == "pay" else calls[::-1]
        graph = graph_of_calls(saver, order, [bank.pay, wipe], declared)
        told, asked = graph.invoke(ask(), on("t")), list[Any]()
        while interrupts(told):
            (one,) = interrupts(told)
            assert one.id not in [known.id for known in asked]
            asked.append(one)
            told = graph.invoke(resume(one, answer if isinstance(one.value, dict) else True), on("t"))
        assert sorted(str(one.value)[:5] for one in asked) == ["wipe ", "{'typ"]
    assert wiped == ["sda"]
    assert bank.paid == ([(17, "10.00")] if answer is YES else [])


@WAYS
def test_a_tool_that_asks_once_it_is_approved_gets_the_answer_to_its_own_question(
    resume: Callable[[Any, Any], Any],
) -> None:
    accounts = list[Any]()

    def pay(order: int, amount: str) -> str:
        """Pay."""
        accounts.append(interrupt("from which account?"))
        return "paid"

    with saving() as saver:
        declared = {"pay": {**ASKS, "definite_errors": GraphInterrupt}}
        agent = agent_of(saver, [[PAY], "done"], [pay], declared)
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        (own,) = interrupts(agent.invoke(resume(asked, YES), on("t")))
        assert own.value == "from which account?"
        assert accounts == []
        (again,) = interrupts(agent.invoke(None, on("t")))
        assert (again.id, accounts) == (own.id, []), "what approved it answers nothing later either"
        agent.invoke(resume(own, "giro"), on("t"))
    assert accounts == ["giro"]


@WAYS
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_middleware_in_front_gets_the_answer_to_its_own_question(
    resume: Callable[[Any, Any], Any], when: str
) -> None:
    bank, got = Bank(), list[Any]()

    class Front(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            told = None if when == "before" else handler(request)
            got.append(interrupt("whom to tell?"))
            return handler(request) if told is None else told

    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": ASKS}, before=[Front()])
        told = agent.invoke(ask(), on("t"))
        while interrupts(told):
            (one,) = interrupts(told)
            told = agent.invoke(resume(one, YES if isinstance(one.value, dict) else "ann"), on("t"))
        assert [one.content for one in answers(told)] == ['{"id": "ch_1"}']
    assert set(got) == {"ann"}
    assert bank.paid == [(17, "10.00")]


def test_a_plain_answer_answers_the_question_that_it_was_given_to_and_none_that_came_later() -> None:
    bank = Bank()
    with saving() as saver:
        calls = [call("pay", str(at), order=at, amount="1") for at in range(2)]
        graph = graph_of_calls(saver, calls, [bank.pay], {"pay": ASKS})
        (first,) = interrupts(graph.invoke(ask(), on("t")))
        (second,) = interrupts(graph.invoke(Command(resume=YES), on("t")))
        assert second.id != first.id
        for _ in range(2):
            (again,) = interrupts(graph.invoke(None, on("t")))
            assert again.id == second.id
        assert len(bank.paid) == 1
        graph.invoke(Command(resume=NO), on("t"))
    assert len(bank.paid) == 1


def test_what_is_no_answer_takes_none_away_from_the_answer_that_follows() -> None:
    with paying([[PAY], "done"], {"pay": ASKS}) as (_saver, bank, agent):
        (asked,) = interrupts(agent.invoke(ask(), on("t")))
        with pytest.raises(ValueError, match="an approval is answered with"):
            agent.invoke(Command(resume=True), on("t"))
        (again,) = interrupts(agent.invoke(None, on("t")))
        assert again.id == asked.id
        agent.invoke(Command(resume={asked.id: YES}), on("t"))
    assert bank.paid == [(17, "10.00")]
