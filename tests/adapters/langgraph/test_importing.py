"""Threads of another saver are here as they were there: their history, forks, and interrupts that wait."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ledger.adapters.langgraph import LedgerSaver, import_threads
from ledger.errors import InvalidInput
from tests.adapters.langgraph.places import config_of, new_thread
from tests.adapters.langgraph.test_deltas import graph_of as delta_graph_of
from tests.adapters.langgraph.test_deltas import talk


@dataclass
class Order:
    number: int


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]
    order: Order


SERDE = JsonPlusSerializer(allowed_msgpack_modules=[Order])


@pytest.fixture(params=["memory", "sqlite"])
def source(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver(serde=SERDE)
    else:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            saver.serde = SERDE
            yield saver


def graph_of(saver: Any) -> Any:
    inner: Any = StateGraph(State)
    inner.add_node("ask", lambda state: {"said": [f"answered {interrupt('which?')}"], "order": Order(17)})
    inner.add_edge(START, "ask")
    builder: Any = StateGraph(State)
    builder.add_node("begin", lambda state: {"said": ["begun"]})
    builder.add_node("inner", inner.compile(checkpointer=True))
    builder.add_edge(START, "begin").add_edge("begin", "inner")
    return builder.compile(checkpointer=saver)


def all_of(saver: Any, thread: str) -> list[Any]:
    return list(saver.list({"configurable": {"thread_id": thread}}))


def history(graph: Any, thread: str) -> list[Any]:
    return [
        (one.values, one.next, one.config, one.parent_config, one.interrupts, one.metadata, one.created_at)
        for one in graph.get_state_history(config_of(thread))
    ]


def test_a_thread_goes_on_here_as_it_would_there(source: Any, memory_saver: LedgerSaver) -> None:
    memory_saver.register(Order)
    thread, other = new_thread(), new_thread()
    there, here = graph_of(source), graph_of(memory_saver)
    config = config_of(thread)
    there.invoke({"said": ["one"]}, config)
    there.invoke(Command(resume="first"), config)
    there.invoke({"said": ["two"]}, config)
    there.invoke({"said": ["other"]}, config_of(other))
    assert import_threads(source, memory_saver, [thread, "nobody"]) == len(all_of(source, thread)) == 12
    assert history(here, thread) == history(there, thread)
    assert all_of(memory_saver, other) == []
    (asked,) = here.get_state(config).interrupts
    answered = here.invoke(Command(resume={asked.id: "second"}), config)
    assert answered["said"][-1] == "answered second"
    assert answered == there.invoke(Command(resume={asked.id: "second"}), config)
    assert import_threads(source, memory_saver, [other]) == len(all_of(source, other))
    with pytest.raises(InvalidInput, match="has checkpoints here already"):
        import_threads(source, memory_saver)


def test_all_threads_come_with_what_their_delta_channels_are_made_of() -> None:
    source = InMemorySaver()
    threads = [new_thread(), new_thread()]
    for thread in threads:
        talk(source, thread)
    with LedgerSaver.from_url(":memory:") as saver:
        import_threads(source, saver)
        for thread in threads:
            before = history(delta_graph_of(source), thread)
            assert history(delta_graph_of(saver), thread) == before
            assert len(before) > 10


def test_a_value_that_cannot_be_kept_is_named_and_the_thread_imported_anew_after_that(source: Any) -> None:
    config = config_of("order-17")
    there = graph_of(source)
    there.invoke({"said": ["one"]}, config)
    there.invoke(Command(resume="first"), config)
    with LedgerSaver.from_url(":memory:") as saver:
        with pytest.raises(InvalidInput, match="order"):
            import_threads(source, saver)
        saver.delete_thread("order-17")
        saver.register(Order)
        import_threads(source, saver)
        assert history(graph_of(saver), "order-17") == history(there, "order-17")
