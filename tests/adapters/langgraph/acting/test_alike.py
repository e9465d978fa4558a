"""Calls of one message that are alike, whatever was done to their arguments until they are made."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from tests.adapters.langgraph.acting.agents import (
    ONCE,
    Bank,
    agent_of,
    answers,
    ask,
    call,
    on,
    paying,
    saving,
)

PAY = call("pay", "a", order=17, amount="1")


class Front(AgentMiddleware[Any, Any, Any]):
    """Changes the arguments of calls."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        args = {name: value for name, value in request.tool_call["args"].items() if name != "note"}
        return handler(request.override(tool_call={**request.tool_call, "args": {**args, "currency": "USD"}}))


@pytest.mark.parametrize(
    ("second", "before"),
    [
        ({**PAY, "id": "b"}, []),
        ({**PAY, "id": "b"}, [Front()]),
        (call("pay", "b", order=17, amount="1", note="again"), [Front()]),
        (call("pay", "b", order=17, amount="1", currency="EUR"), []),
        (call("pay", "b", order=17, amount="1", nonsense=True), []),
    ],
    ids=["the same", "changed in front", "made alike in front", "a default spelled out", "nonsense"],
)
def test_calls_that_come_to_the_same_are_done_as_often_as_a_message_asks_for_them(
    second: Any, before: list[Any]
) -> None:
    with paying([[PAY, second], "done"], ONCE, before=before) as (_saver, bank, agent):
        told = agent.invoke(ask(), on("t"))
        assert sorted(str(one.content) for one in answers(told)) == ['{"id": "ch_1"}', '{"id": "ch_2"}']
        again = next(one for one in agent.get_state_history(on("t")) if "tools" in one.next)
        agent.invoke(None, again.config)
    assert bank.paid == [(17, "1")] * 2


def test_of_two_that_are_told_apart_by_nothing_the_model_is_told() -> None:
    with paying([[PAY, PAY], "done"], ONCE) as (_saver, bank, agent):
        told = answers(agent.invoke(ask(), on("t")))
        assert ["same id" in str(one.content) for one in told] == [True, True]
    assert not bank.paid


def test_calls_with_one_id_and_other_arguments_are_two_acts() -> None:
    bank = Bank()
    with saving() as saver:
        both = [PAY, call("pay", "a", order=18, amount="1")]
        agent_of(saver, [both, "done"], [bank.pay], ONCE).invoke(ask(), on("t"))
    assert sorted(bank.paid) == [(17, "1"), (18, "1")]


class Order(BaseModel):
    order: int
    notes: list[str] = Field(default_factory=list)


def test_what_is_left_out_is_what_stands_for_it() -> None:
    got: list[Any] = []

    def pay(order: int, notes: list[str]) -> str:
        got.append((order, notes))
        return "paid"

    tool = StructuredTool.from_function(pay, name="pay", description="Pay.", args_schema=Order)
    lines = [[call("pay", order=1)], [call("pay", order=1, notes=[])], "done"]
    with saving() as saver:
        told = agent_of(saver, lines, [tool], ONCE).invoke(ask(), on("t"))
        assert "possible_repeat" in str(answers(told)[1].content)
    assert got == [(1, [])]
