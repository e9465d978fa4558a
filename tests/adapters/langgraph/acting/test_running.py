"""Code inside of a graph is given the run of its thread, at any depth, and code outside is told."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import MessagesState

from ledger import AsyncRun, Run
from ledger.adapters.langgraph import aledger_run, ledger_run
from ledger.errors import InvalidInput, Superseded
from tests.adapters.langgraph.acting.agents import (
    ONCE,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    chain,
    on,
    saving,
)


def graph_of(node: Any, saver: Any, **options: Any) -> Any:
    return chain(saver, {"node": node}, **options)


def test_a_node_says_to_its_run_what_it_owes() -> None:
    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        ledger_run(config).promise("tell", "Mail the customer", owed_to="customer:17")
        return {}

    with saving() as saver:
        graph_of(node, saver).invoke(ask(), on("t"))
        (owed,) = saver.ledger.contract("t#1").obligations
        assert owed.text == "Mail the customer"


def test_nodes_tools_and_subgraphs_of_any_depth_share_one_handle() -> None:
    seen: list[Run] = []

    def look(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.extend((ledger_run(config), ledger_run()))
        return {}

    def peek(order: int, config: RunnableConfig) -> str:
        """Look at the run."""
        seen.append(ledger_run(config))
        return "seen"

    with saving() as saver:
        agent = agent_of(saver, [[call("peek", order=1)], "done"], [peek], {"peek": "read_only"})
        deep = graph_of(graph_of(look, None), None)
        chain(saver, {"look": look, "deep": deep, "agent": agent}).invoke(ask(), on("t"))
    assert len(seen) == 5
    assert {one.id for one in seen} == {"t#1"}
    assert len(set(map(id, seen))) == 1


def test_the_functional_api_has_a_run_too() -> None:
    with saving() as saver:

        @task
        def step(at: int) -> str:
            return ledger_run().id

        @entrypoint(checkpointer=saver)
        def workflow(inputs: list[int]) -> list[str]:
            return [step(at).result() for at in inputs]

        assert workflow.invoke([1, 2], on("t")) == ["t#1", "t#1"]


def test_outside_of_a_graph_it_says_where_to_ask() -> None:
    with saving():
        for config in (None, on("t"), RunnableConfig()):
            with pytest.raises(InvalidInput, match=r"checkpointer=LedgerSaver\(…\)"):
                ledger_run(config)


@pytest.mark.parametrize("saver", [InMemorySaver(), None])
def test_a_graph_with_another_saver_has_no_run(saver: Any) -> None:
    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        with pytest.raises(
            InvalidInput, match=r"no graph that keeps its state|InMemorySaver, which knows no run"
        ):
            ledger_run(config)
        return {}

    graph_of(node, saver).invoke(ask(), on("t"))


def test_a_thread_inside_of_another_is_a_run_of_its_own() -> None:
    seen: list[str] = []

    def look(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(ledger_run(config).id)
        return {}

    with saving() as saver:
        inner = graph_of(look, saver)

        def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            inner.invoke(ask(), on("inner"))
            seen.append(ledger_run(config).id)
            return {}

        graph_of(node, saver).invoke(ask(), on("outer"))
    assert seen == ["inner#1", "outer#1"]


@pytest.mark.anyio
async def test_an_event_loop_has_the_run_to_be_awaited() -> None:
    seen: list[AsyncRun] = []

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        run = await aledger_run(config)
        await run.promise("tell", "Mail the customer", owed_to="customer:17")
        seen.extend((run, await aledger_run()))
        return {}

    with saving() as saver:
        await graph_of(node, saver).ainvoke(ask(), on("t"))
        (owed,) = saver.ledger.contract("t#1").obligations
        assert (owed.id, len(set(map(id, seen)))) == ("tell", 1)
        with pytest.raises(InvalidInput, match="config"):
            await aledger_run(on("t"))
        saver.faces.close()


@pytest.mark.anyio
async def test_an_event_loop_is_told_that_its_graph_was_overtaken() -> None:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        await agent_of(other, ["two"], []).ainvoke(ask(), on("t"))
        await aledger_run(config)
        return {}

    with saving() as saver:
        other = beside(saver)
        with pytest.raises(Superseded):
            await graph_of(node, saver).ainvoke(ask(), on("t"))
        saver.faces.close()
        other.faces.close()


def test_each_event_loop_has_a_face_of_its_own_and_lets_go_of_it() -> None:
    import asyncio

    bank = Bank()
    with saving() as saver:
        for at in range(3):
            lines = [[call("pay", order=at, amount="1")], "done"]
            agent = agent_of(saver, lines, [bank.pay], ONCE)
            told = asyncio.run(agent.ainvoke(ask(), on(f"t-{at}")))
            assert [one.status for one in answers(told)] == ["success"]
            assert len(saver.faces._faces) == 1
        saver.close()
        assert not saver.faces._faces
