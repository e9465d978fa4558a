"""Tools that call tools: a call within another waits for none but those beside it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls
from ledger.errors import OutcomeUnknown
from tests.adapters.langgraph.acting.agents import KIM, Bank, ask, call, on, saving


def settling(saver: LedgerSaver, bank: Bank, declared: Any) -> Any:
    """Make a graph with a tool that calls others by a node of its own."""

    async def settle(order: int) -> str:
        """Settle orders."""
        calls = [call("pay", str(at), order=order + at, amount="1") for at in range(2)]
        return str(len(await inner.ainvoke(calls)))

    settles = {"recovery": "at_most_once", "definite_errors": GraphInterrupt}
    acts = LedgerToolCalls(saver, {"pay": declared, "settle": settles})
    inner = acts.node([StructuredTool.from_function(coroutine=bank.pay_later, name="pay")])
    builder: Any = StateGraph(MessagesState)
    both = [call("settle", "1", order=17), call("settle", "2", order=27)]
    builder.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=both)]})
    builder.add_node("tools", acts.node([settle]))
    builder.add_edge(START, "model").add_edge("model", "tools")
    return builder.compile(checkpointer=saver)


@pytest.mark.anyio
async def test_what_waits_within_a_tool_is_asked_about() -> None:
    bank = Bank()
    with saving() as saver:
        graph = settling(saver, bank, {"recovery": "at_most_once", "needs_approval": True})
        told, asked = await graph.ainvoke(ask(), on("t")), 0
        while told.get("__interrupt__"):
            asked += 1
            answer = {told["__interrupt__"][0].id: {"approve": True, "by": KIM}}
            told = await graph.ainvoke(Command(resume=answer), on("t"))
        assert asked == 4
        saver.faces.close()
    assert sorted(order for order, _ in bank.paid) == [17, 18, 27, 28]


@pytest.mark.anyio
async def test_what_nobody_knows_within_a_tool_stops_the_graph() -> None:
    bank = Bank()
    bank.failing = RuntimeError("gone")
    with saving() as saver:
        graph = settling(saver, bank, "at_most_once")
        with pytest.raises(OutcomeUnknown):
            await graph.ainvoke(ask(), on("t"))
        saver.faces.close()
