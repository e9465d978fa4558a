"""Where the ledger's saver keeps more than LangGraph's own, or keeps it sooner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint
from langgraph.graph import START, StateGraph

from ledger import Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.graphs.plain import Values


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:") as opened:
        yield opened


def test_tuples_of_a_state_and_of_what_was_written_stay_tuples(ledger: Ledger) -> None:
    builder: Any = StateGraph(Values)
    builder.add_node("one", lambda state: {"value": (1, ("two", [3]))})
    builder.add_node("two", lambda state: {"values": [(4, 5)]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    graph = builder.compile(checkpointer=LedgerSaver(ledger))
    config: Any = {"configurable": {"thread_id": "tuples"}}
    graph.invoke({"values": [()]}, config)
    assert graph.get_state(config).values == {"value": (1, ("two", [3])), "values": [(), (4, 5)]}
    before = list(graph.get_state_history(config))[1]
    assert before.tasks[0].result == {"values": [(4, 5)]}


def test_what_a_graph_changes_while_its_checkpoint_waits_for_a_thread_is_not_in_it(ledger: Ledger) -> None:
    """LangGraph changes the value of a channel that waits for several nodes in place, at the next step."""
    go = threading.Event()

    class Waits(LedgerSaver):
        def put(self, *given: Any) -> Any:
            assert go.wait(60)
            return super().put(*given)

    config: Any = {"configurable": {"thread_id": "barrier", "checkpoint_ns": ""}}
    values: dict[str, Any] = {"set": {"left"}, "list": [1], "dict": {"a": 1}, "pair": ({"left"}, False)}
    checkpoint = create_checkpoint(empty_checkpoint(), None, 1)
    checkpoint["channel_values"] = dict(values)

    async def save() -> None:
        saver = Waits(ledger)
        saving = asyncio.create_task(saver.aput(config, checkpoint, {"source": "loop", "step": 1}, {}))
        await asyncio.sleep(0)
        values["set"].add("right")
        values["list"].append(2)
        values["dict"]["b"] = 2
        values["pair"][0].add("right")
        go.set()
        await saving

    asyncio.run(save())
    found = LedgerSaver(ledger).get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == {
        "set": {"left"},
        "list": [1],
        "dict": {"a": 1},
        "pair": ({"left"}, False),
    }
