"""Graphs that a node calls on other threads, with a config that says so of its own."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph

from ledger import Actor, Runtime, Source
from ledger.adapters.langgraph import Gate, LedgerSaver, ThreadIsHeld
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    KIM,
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


def test_a_thread_that_a_node_calls_a_graph_on_rests_once_that_has_ended() -> None:
    with saving() as saver:
        for at in (saver, beside(saver, actor=Actor("agent:payer", session="two"))):
            calling(at, agent_of(at, ["hello"], [])).invoke(ask(), on("outer"))
            assert saver.ledger.contract("inner#1").alive.rests
            assert saver.ledger.contract("outer#1").alive.rests


def test_the_gate_is_asked_each_time_that_a_node_calls_a_graph_on_another_thread() -> None:
    bank = Bank()
    with saving() as saver:
        policy = saver.ledger.source("policy:polite")
        policy.publish("1", {"polite": "Be polite"})
        run = saver.ledger.open_run("inner#1", goal="Pay", thread="inner", actor=AGENT)
        run.accept("polite", "Be polite", source=Source("policy", "polite", revision="1"), asserted_by=KIM)
        inner = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE)

        def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            there = {**config, "configurable": {**config["configurable"], "thread_id": "inner"}}
            inner.invoke(ask(), there)
            policy.withdraw("polite", reason="old", by=KIM)
            with pytest.raises(ThreadIsHeld, match="constraint_withdrawn"):
                inner.invoke(ask(), there)
            return {"messages": []}

        chain(saver, {"node": node}).invoke(ask(), on("outer"))
        assert names(saver.ledger, "inner#1")[-1] == "run.resume_refused"
    assert bank.paid == [(17, "1")]


def test_two_tasks_that_call_a_graph_on_one_thread_at_once_rest_when_both_have_ended() -> None:
    begun, over = threading.Event(), threading.Event()
    seen: list[bool] = []

    def works(state: MessagesState) -> dict[str, Any]:
        if state["messages"][-1].content == "slow":
            begun.set()
            assert over.wait(30)
        return {"messages": []}

    with saving() as saver:
        inner = chain(saver, {"works": works})

        def calls(text: str, config: RunnableConfig) -> dict[str, Any]:
            there = {**config, "configurable": {**config["configurable"], "thread_id": "inner"}}
            if text == "quick":
                assert begun.wait(30)
            inner.invoke(ask(text), there)
            if text == "quick":
                seen.append(saver.ledger.contract("inner#1").alive.rests)
                over.set()
            return {"messages": []}

        builder: Any = StateGraph(MessagesState)
        for text in ("slow", "quick"):
            builder.add_node(text, lambda state, config, text=text: calls(text, config))
            builder.add_edge(START, text)
        builder.compile(checkpointer=saver).invoke(ask(), on("outer"))
        assert seen == [False]
        assert saver.ledger.contract("inner#1").alive.rests
