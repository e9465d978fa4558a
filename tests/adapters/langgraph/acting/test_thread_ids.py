"""Threads that are named by something else than a text: they are the threads that `str` names."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ledger.adapters.langgraph import LedgerSaver, ledger_run
from tests.adapters.langgraph.acting.agents import Bank, agent_of, ask, beside, call, on, saving
from tests.adapters.langgraph.places import State

ASKS = {"pay": {"recovery": "at_most_once", "needs_approval": True}}
PAY = [call("pay", order=17, amount="10.00")]
YES = {"approve": True, "by": "human:kim"}
ODD: dict[str, Any] = {"resume": {"0" * 32: "x"}}
"""Answers what nobody asked."""


@pytest.fixture(scope="module")
def saver() -> Iterator[LedgerSaver]:
    with saving() as saver:
        yield saver


def asking(saver: LedgerSaver, runs: list[str]) -> Any:
    """Compile a graph whose node asks; it notes which run it is in."""

    def node(state: State, config: RunnableConfig) -> dict[str, Any]:
        runs.append(ledger_run(config).id)
        return {"said": [interrupt("?")]}

    builder: Any = StateGraph(State)
    builder.add_node("n", node)
    builder.add_edge(START, "n")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("thread", ["text", 7, 0, True, 2.5, uuid.UUID(int=3), b"bytes"], ids=repr)
def test_an_answer_to_what_nobody_asked_is_an_error_however_the_thread_is_named(
    saver: LedgerSaver, thread: Any
) -> None:
    runs: list[str] = []
    graph, config = asking(saver, runs), on(thread)
    asked = graph.invoke({"said": []}, config)["__interrupt__"][0]
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(**ODD), config)
    assert graph.invoke(Command(resume={asked.id: "yes"}), config)["said"] == ["yes"]
    graph.update_state(config, {"said": ["and"]})
    assert graph.get_state(on(str(thread))).values == {"said": ["yes", "and"]}
    assert len(list(graph.get_state_history(config))) == 4
    assert set(runs) == {f"{thread}#1"}


@pytest.mark.anyio
async def test_in_an_event_loop_it_is_an_error_too(saver: LedgerSaver) -> None:
    graph, config = asking(saver, []), on(71)  # type: ignore[arg-type]
    asked = (await graph.ainvoke({"said": []}, config))["__interrupt__"][0]
    with pytest.raises(UnknownInterruptError):
        await graph.ainvoke(Command(**ODD), config)
    assert (await graph.ainvoke(Command(resume={asked.id: "yes"}), config))["said"] == ["yes"]


def test_a_plain_answer_to_an_approval_is_heard_on_a_thread_that_is_named_by_a_number() -> None:
    bank = Bank()
    with saving() as saver:
        agent, config = agent_of(saver, [PAY, "done"], [bank.pay], ASKS), on(7)  # type: ignore[arg-type]
        assert agent.invoke(ask(), config)["__interrupt__"]
        agent.invoke(Command(resume=YES), config)
    assert bank.paid == [(17, "10.00")]


def test_a_saver_that_stands_around_this_one_does_not_hide_the_loop() -> None:
    class Around(LedgerSaver):
        def get_tuple(self, config: Any) -> Any:
            return super().get_tuple(config)

    with saving() as saver:
        graph = asking(Around(saver.ledger), [])
        graph.invoke({"said": []}, on(7))  # type: ignore[arg-type]
        with pytest.raises(UnknownInterruptError):
            graph.invoke(Command(**ODD), on(7))  # type: ignore[arg-type]


def test_who_addresses_the_thread_by_a_map_of_checkpoints_is_told_too() -> None:
    with saving() as saver:
        graph = asking(saver, [])
        graph.invoke({"said": []}, on("t"))
        kept = graph.get_state(on("t")).config["configurable"]["checkpoint_id"]
        graph = asking(beside(saver), [])
        with pytest.raises(UnknownInterruptError):
            graph.invoke(Command(**ODD), on("t", checkpoint_ns="", checkpoint_map={"": kept}))
