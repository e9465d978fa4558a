"""A graph stands for the classes that its schemas name: they need not be registered one by one."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, get_type_hints

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel

from ledger.adapters.langgraph import LedgerSaver, UnknownType
from ledger.errors import InvalidInput
from tests.adapters.langgraph.acting.agents import Script
from tests.adapters.langgraph.places import config_of


class Item(BaseModel):
    name: str


class Order(BaseModel):
    number: int
    items: list[Item] = []


@dataclass
class Parcel:
    orders: list[Order]


class Label(BaseModel):
    text: str


class State(TypedDict, total=False):
    order: Order
    parcels: Annotated[list[Parcel], operator.add]
    labels: Annotated[list[str], operator.add]


class Inner(TypedDict, total=False):
    order: Order
    note: Label


ORDER = Order(number=17, items=[Item(name="tea")])


def pack(state: State) -> Any:
    return {"parcels": [Parcel([state["order"]])]}


def fan_out(state: State) -> Any:
    return [Send("print", Label(text="x"))]


def write(label: Label) -> Any:
    return {"labels": [label.text]}


def note(state: Inner) -> Any:
    return {"note": Label(text="y")}


def builder_of() -> Any:
    """Build a graph with a node that is one, and one that takes what is sent to it."""
    inner: Any = StateGraph(Inner)
    inner.add_node("note", note)
    inner.add_edge(START, "note")
    builder: Any = StateGraph(State)
    builder.add_node("pack", pack)
    builder.add_node("inner", inner.compile())
    builder.add_node("print", write, input_schema=Label)
    builder.add_edge(START, "pack")
    builder.add_edge("pack", "inner")
    builder.add_conditional_edges("inner", fan_out)
    return builder


def another(saver: LedgerSaver, types: Any = ()) -> LedgerSaver:
    return LedgerSaver(saver.ledger, gate="off", types=types)


def check(graph: Any, thread: str) -> None:
    config = config_of(thread)
    told = graph.invoke({"order": ORDER}, config, durability="sync")
    assert told == {"order": ORDER, "parcels": [Parcel([ORDER])], "labels": ["x"]}
    assert graph.get_state(config).values == told
    notes = [
        one.checkpoint["channel_values"].get("note")
        for one in graph.checkpointer.list({"configurable": {"thread_id": thread}})
    ]
    assert Label(text="y") in notes


def test_what_is_built_is_given_among_the_types(memory_saver: LedgerSaver, thread: str) -> None:
    builder = builder_of()
    check(builder.compile(checkpointer=another(memory_saver, [builder])), thread)
    with pytest.raises(UnknownType):
        memory_saver.get_tuple(config_of(thread))


def test_a_compiled_graph_is_registered(memory_saver: LedgerSaver, thread: str) -> None:
    saver = another(memory_saver)
    graph = builder_of().compile(checkpointer=saver)
    with pytest.raises(InvalidInput, match="types="):
        graph.invoke({"order": ORDER}, config_of(f"{thread}-before"))
    saver.register(graph)
    check(graph, thread)


def test_a_class_that_somebody_named_keeps_its_name(memory_saver: LedgerSaver, thread: str) -> None:
    builder, saver = builder_of(), another(memory_saver, {"order": Order})
    saver.register(builder)
    check(builder.compile(checkpointer=saver), thread)
    with pytest.raises(UnknownType) as unknown:
        another(memory_saver, [Item, Parcel, Label]).get_tuple(config_of(thread))
    assert unknown.value.name == "order"


def test_a_function_that_is_a_graph_stands_for_what_it_takes_and_returns(
    memory_saver: LedgerSaver, thread: str
) -> None:
    saver = another(memory_saver)

    def count(order: Order, *, previous: Any = None) -> entrypoint.final[int, Parcel]:
        return entrypoint.final(value=0 if previous is None else len(previous.orders), save=Parcel([order]))

    # LangGraph takes annotations as they stand, and those of this file are texts.
    count.__annotations__ = get_type_hints(count)
    graph = entrypoint(checkpointer=saver)(count)
    saver.register(graph)
    assert [graph.invoke(ORDER, config_of(thread)) for _ in range(2)] == [0, 1]


def test_an_agent_stands_for_the_schema_of_its_state(memory_saver: LedgerSaver, thread: str) -> None:
    class Known(AgentState[Any], total=False):
        order: Order

    saver = another(memory_saver)
    agent: Any = create_agent(Script(lines=["done"]), tools=[], state_schema=Known, checkpointer=saver)
    saver.register(agent)
    config: RunnableConfig = config_of(thread)
    agent.invoke({"messages": [("user", "go on")], "order": ORDER}, config)
    assert agent.get_state(config).values["order"] == ORDER


@pytest.mark.parametrize("options", [{"name": "graph"}, {"take": vars, "build": vars}])
def test_a_graph_has_no_name_and_no_form_of_its_own(
    memory_saver: LedgerSaver, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        another(memory_saver).register(builder_of(), **options)
    assert refused.value.path == "types"
    with pytest.raises(InvalidInput):
        another(memory_saver, {"graph": builder_of()})
