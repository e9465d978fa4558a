"""What stops a graph stops it, whoever stands around the call that it came from."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware, wrap_tool_call
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.graph import MessagesState

from ledger.adapters.langgraph import LedgerToolCalls, contract_text
from ledger.errors import OutcomeUnknown
from tests.adapters.langgraph.acting.agents import (
    ONCE,
    Bank,
    Script,
    agent_of,
    answers,
    ask,
    call,
    chain,
    on,
    saving,
)

LINES = [[call("pay", order=17, amount="1")], [call("pay", order=17, amount="1.00")], "done"]


@wrap_tool_call
def telling(request: Any, handler: Any) -> Any:
    """Tell the model of errors, as programs do."""
    try:
        return handler(request)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  as programs do
        return ToolMessage(f"Tool error: {error}", tool_call_id=request.tool_call["id"])


@wrap_tool_call
async def telling_later(request: Any, handler: Any) -> Any:
    """Tell the model of errors, in an event loop."""
    try:
        return await handler(request)
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001  as programs do
        return ToolMessage(f"Tool error: {error}", tool_call_id=request.tool_call["id"])


def failing() -> Bank:
    bank = Bank()
    bank.failing = RuntimeError("connection reset after sending")
    return bank


@pytest.mark.parametrize("contract", [True, False])
@pytest.mark.parametrize(
    "front", [telling, ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)]
)
def test_what_nobody_knows_is_not_kept_from_the_graph_by_what_stands_in_front(
    front: Any, contract: bool
) -> None:
    bank, model = failing(), Script(lines=LINES)
    with saving() as saver:
        agent = agent_of(saver, [], [bank.pay], ONCE, model=model, before=[front], contract=contract)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
    assert bank.paid == [(17, "1")]
    assert len(model.shown) == 1, "the model is not asked what to do instead"


@pytest.mark.anyio
async def test_in_an_event_loop_it_is_not_kept_from_the_graph_either() -> None:
    bank = failing()
    with saving() as saver:
        agent = agent_of(saver, LINES, [bank.pay], ONCE, before=[telling_later])
        with pytest.raises(OutcomeUnknown):
            await agent.ainvoke(ask(), on("t"))
        saver.faces.close()
    assert bank.paid == [(17, "1")]


def test_who_tries_the_same_act_again_and_finds_it_out_goes_on() -> None:
    bank = failing()
    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    with saving() as saver:
        declared = {"pay": {"recovery": "queryable", "probe": bank.find}}
        agent = agent_of(saver, [LINES[0], "done"], [bank.pay], declared, before=[retry])
        told = agent.invoke(ask(), on("t"))
        assert [one.content for one in answers(told)] == ["found 1"]
        assert told["messages"][-1].content == "done"
    assert bank.paid == [(17, "1")]


@pytest.mark.parametrize("declared", ["at_most_once", "read_only", None])
def test_a_node_that_swallows_it_does_nothing_else_through_the_ledger(declared: Any) -> None:
    bank, raised, looked = failing(), list[type[Exception]](), list[int]()

    def look(order: int) -> str:
        """Look, or do something else."""
        looked.append(order)
        return "seen"

    with saving() as saver:
        calls = LedgerToolCalls(saver, {"pay": "at_most_once", "look": declared})
        node = calls.node([bank.pay, look])

        def act(state: MessagesState) -> dict[str, Any]:
            for one in (LINES[0], [call("look", order=17)]):
                try:
                    node.invoke({"messages": [AIMessage("", tool_calls=one)]})
                except Exception as error:  # noqa: BLE001  as a careless program does
                    raised.append(type(error))
            try:
                contract_text()
            except OutcomeUnknown as error:
                raised.append(type(error))
            return {}

        chain(saver, {"act": act}).invoke(ask(), on("t"))
    assert raised == [OutcomeUnknown] * 3
    assert (bank.paid, looked) == ([(17, "1")], [])
