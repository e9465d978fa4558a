"""Graphs that a node calls on other threads, with a config that says so of its own."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from ledger import Runtime
from ledger.adapters.langgraph import Gate, LedgerSaver, ThreadIsHeld
from tests.adapters.langgraph.acting.agents import (
    ONCE,
    Bank,
    agent_of,
    ask,
    beside,
    call,
    chain,
    names,
    on,
    saving,
)

PAY = call("pay", order=17, amount="1")


def calling(saver: LedgerSaver, inner: Any) -> Any:
    """Make a graph whose node calls another on a thread of its own, with the config that it was given."""

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        there = {**config, "configurable": {**config["configurable"], "thread_id": "inner"}}
        return {"messages": [inner.invoke(ask(), there)["messages"][-1]]}

    return chain(saver, {"node": node})


def test_the_gate_is_asked_about_the_thread_that_a_node_calls_a_graph_on() -> None:
    bank = Bank()
    with saving(gate=Gate(runtime=Runtime(model="a"))) as first:
        agent_of(first, ["hello"], []).invoke(ask(), on("inner"))
        second = beside(first, gate=Gate(runtime=Runtime(model="b")))
        inner = agent_of(second, [[PAY], "done"], [bank.pay], ONCE)
        with pytest.raises(ThreadIsHeld, match="runtime_changed") as held:
            calling(second, inner).invoke(ask(), on("outer"))
        assert held.value.evidence["thread"] == "inner"
        assert names(first.ledger, "inner#1") == ["run.opened", "run.resume_refused"]
    assert not bank.paid


def test_a_graph_that_a_node_calls_on_a_thread_of_its_own_acts_there() -> None:
    bank = Bank()
    with saving() as saver:
        inner = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE)
        told = calling(saver, inner).invoke(ask(), on("outer"))
        assert told["messages"][-1].content == "done"
        assert saver.ledger.contract("inner#1").tally.effects_done == 1
        assert saver.ledger.contract("outer#1").tally.effects == 0
    assert bank.paid == [(17, "1")]
