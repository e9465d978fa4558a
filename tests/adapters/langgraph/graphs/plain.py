"""Graphs that run through: rows of nodes, choices, loops, and what states are made of."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import AnyValue, EphemeralValue, Topic, UntrackedValue
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Overwrite
from pydantic import BaseModel, Field

from tests.adapters.langgraph.graphs.scenarios import STEPWISE, scenario
from tests.adapters.langgraph.graphs.scenes import Scene


class Trail(TypedDict, total=False):
    """Where a graph has been."""

    steps: Annotated[list[str], operator.add]
    count: int
    note: str


def step(scene: Scene, name: str) -> Any:
    """Return a node that says its name."""

    def node(state: Trail) -> Trail:
        scene.done.append(name)
        return {"steps": [name], "count": state.get("count", 0) + 1}

    return node


def row(scene: Scene, *names: str) -> Any:
    """Return a builder of a graph whose nodes follow each other."""
    builder: Any = StateGraph(Trail)
    before = START
    for name in names:
        builder.add_node(name, step(scene, name))
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder


@scenario()
def play_a_row_of_nodes(scene: Scene) -> None:
    graph = row(scene, "a", "b", "c").compile(checkpointer=scene.saver)
    assert scene.invoke(graph, {"steps": ["in"]})["steps"] == ["in", "a", "b", "c"]
    scene.invoke(graph, {"steps": ["again"], "note": "kept"})
    scene.invoke(graph, {"steps": []})


@scenario()
def play_streaming(scene: Scene) -> None:
    def writes(state: Trail) -> Trail:
        writer = get_stream_writer()
        writer({"half": 1})
        writer("done")
        return {"steps": ["w"]}

    builder = row(scene, "a", "b")
    builder.add_node("writes", writes)
    builder.add_edge("b", "writes")
    graph = builder.compile(checkpointer=scene.saver)
    scene.stream(graph, {"steps": ["in"]}, print_mode=())
    scene.stream(graph, {"steps": ["more"]}, ["checkpoints"])


@scenario()
def play_a_choice_and_a_loop(scene: Scene) -> None:
    builder: Any = StateGraph(Trail)
    builder.add_node("work", step(scene, "work"))
    builder.add_node("rest", step(scene, "rest"))
    builder.add_edge(START, "work")
    builder.add_conditional_edges(
        "work", lambda state: "rest" if state["count"] % 2 else "work", ["rest", "work"]
    )
    builder.add_conditional_edges("rest", lambda state: END if state["count"] > 8 else "work", ["work", END])
    graph = builder.compile(checkpointer=scene.saver)
    assert scene.invoke(graph, {"steps": []})["count"] == 10
    scene.invoke(graph, {"count": 3})
    page = scene.history(graph, limit=3)
    scene.note("page", [scene.normal.snapshot(one) for one in page])
    older = scene.history(graph, before=page[-1].config, limit=2)
    scene.note("older", [scene.normal.snapshot(one) for one in older])
    for found in (scene.history(graph, filter={"step": 2}), scene.history(graph, filter={"source": "input"})):
        scene.note("filtered", [scene.normal.snapshot(one) for one in found])


@scenario()
def play_commands_that_go_on(scene: Scene) -> None:
    def first(state: Trail) -> Command[Any]:
        return Command(
            goto="third" if state.get("count") else "second", update={"steps": ["first"], "count": 1}
        )

    builder: Any = StateGraph(Trail)
    builder.add_node("first", first, destinations=("second", "third"))
    builder.add_node("second", lambda _: Command(goto="first", update=[("steps", ["second"])]))
    builder.add_node("third", step(scene, "third"))
    builder.add_edge(START, "first")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": []})
    scene.invoke(graph, Command(goto="second", update={"steps": ["told"]}))


@scenario()
def play_failing_and_going_on(scene: Scene) -> None:
    def fails(state: Trail) -> Trail:
        scene.done.append("fails")
        if scene.done.count("fails") < 3:
            raise ValueError("not yet", 7)
        return {"steps": ["succeeded"]}

    builder = row(scene, "a", "b")
    builder.add_node("fails", fails)
    builder.add_edge("b", "fails")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": ["in"]}, raises=ValueError)
    scene.invoke(graph, None, raises=ValueError)
    assert scene.invoke(graph, None)["steps"] == ["in", "a", "b", "succeeded"]
    assert scene.done == ["a", "b", "fails", "fails", "fails"]
    scene.done.clear()
    scene.invoke(graph, {"steps": ["more"]}, raises=ValueError)
    scene.invoke(graph, {"steps": ["other"]}, raises=ValueError)


@scenario()
def play_too_many_steps(scene: Scene) -> None:
    from langgraph.errors import GraphRecursionError

    builder: Any = StateGraph(Trail)
    builder.add_node("turn", step(scene, "turn"))
    builder.add_edge(START, "turn")
    builder.add_edge("turn", "turn")
    graph = builder.compile(checkpointer=scene.saver)
    limited = {**scene.config, "recursion_limit": 5}
    scene.invoke(graph, {"steps": []}, limited, raises=GraphRecursionError)
    scene.invoke(graph, None, limited, raises=GraphRecursionError)


# --- what states are made of -------------------------------------------------------------------


class Mood(Enum):
    CALM = "calm"


class Point(NamedTuple):
    x: int
    y: float


@dataclass
class Inner:
    of: Point
    many: set[int] = field(default_factory=set)


@dataclass
class Shaped:
    inner: Inner | None = None
    seen: Annotated[list[Inner], operator.add] = field(default_factory=list)
    mood: Mood = Mood.CALM


class Order(BaseModel):
    number: int
    price: Decimal = Decimal("1.50")
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = Field(default_factory=dict)


class Basket(BaseModel):
    orders: Annotated[list[Order], operator.add] = Field(default_factory=list)
    last: Order | None = None


class Values(TypedDict, total=False):
    value: Any
    values: Annotated[list[Any], operator.add]


@scenario(Shaped, Inner, Point, Mood)
def play_dataclasses(scene: Scene) -> None:
    def grow(state: Shaped) -> dict[str, Any]:
        assert isinstance(state.mood, Mood)
        inner = Inner(Point(len(state.seen), 0.5), {1, 2})
        return {"inner": inner, "seen": [inner], "mood": Mood.CALM}

    builder: Any = StateGraph(Shaped)
    builder.add_node("grow", grow)
    builder.add_node("more", grow)
    builder.add_edge(START, "grow")
    builder.add_edge("grow", "more")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, Shaped(seen=[Inner(Point(-1, 1.0))]))
    scene.invoke(graph, {})


@scenario(Basket, Order)
def play_models(scene: Scene) -> None:
    def buy(state: Basket) -> dict[str, Any]:
        order = Order(number=len(state.orders), tags=("a", "b"), extra={"at": [1, {"deep": None}]})
        return {"orders": [order], "last": order}

    builder: Any = StateGraph(Basket)
    builder.add_node("buy", buy)
    builder.add_node("again", buy)
    builder.add_edge(START, "buy")
    builder.add_edge("buy", "again")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"orders": [Order(number=9)]})
    scene.invoke(graph, Basket())


SAMPLES: tuple[Any, ...] = (
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    1.0,
    -0.0,
    float("inf"),
    "",
    "ünï\u0000code \U0001f600",
    b"\x00\xff",
    [],
    {},
    (),
    (1, (2, [3])),
    {1, 2},
    frozenset({"a"}),
    {"nested": {"list": [1, 2.5, None, {"k": (1, 2)}]}},
    {1: "int key", (1, 2): "tuple key"},
    datetime(2026, 11, 30, 12, 0, 1, 5, tzinfo=UTC),
    datetime(2026, 11, 30),  # noqa: DTZ001 - a state may hold one without a zone
    timedelta(days=1, microseconds=3),
    Decimal("1.10"),
    UUID(int=5),
    Path("/a/b"),
    Document("text", metadata={"k": 1}, id="d-1"),
    HumanMessage("hi", id="h", name="me", additional_kwargs={"x": [1]}),
    AIMessage(
        [{"type": "text", "text": "part"}],
        id="a",
        tool_calls=[{"name": "t", "args": {"q": 1}, "id": "c"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
    ),
    ToolMessage("done", tool_call_id="c", id="t", artifact={"raw": b"1"}, status="error"),
    {"lc": 2, "type": "constructor", "id": ["langchain", "x"], "kwargs": {"a": 1}},
    {"__type__": "set", "value": [1]},
)
"""Values that a state may hold."""


@scenario()
def play_values_of_all_sorts(scene: Scene) -> None:
    def take(state: Values) -> Values:
        at = len(state["values"])
        return {"value": SAMPLES[at], "values": [SAMPLES[at]]}

    builder: Any = StateGraph(Values)
    builder.add_node("take", take)
    builder.add_edge(START, "take")
    builder.add_conditional_edges("take", lambda s: END if len(s["values"]) == len(SAMPLES) else "take")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"values": []}, {**scene.config, "recursion_limit": len(SAMPLES) + 5})


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@scenario()
def play_messages(scene: Scene) -> None:
    def answer(state: Talk) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}", id=f"a{len(state['messages'])}")]}

    def edit(state: Talk) -> Any:
        last = state["messages"][-1]
        return {
            "messages": [
                AIMessage("edited", id=last.id),
                HumanMessage("and on", id=f"h{len(state['messages'])}"),
            ]
        }

    builder: Any = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_node("edit", edit)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "edit")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"messages": "hello"})
    said = scene.invoke(graph, {"messages": [{"role": "user", "content": "second"}]})
    scene.invoke(graph, {"messages": [RemoveMessage(id=said["messages"][0].id)]})
    scene.update(graph, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, "edit")
    scene.invoke(graph, {"messages": ["anew"]})
    scene.invoke(graph, {"messages": Overwrite([HumanMessage("only", id="o")])})


class Odd(TypedDict, total=False):
    steps: Annotated[list[str], operator.add]
    passing: Annotated[str, EphemeralValue]
    untold: Annotated[dict[str, Any], UntrackedValue]
    topic: Annotated[list[str], Topic]
    topics: Annotated[list[str], Topic(str, accumulate=True)]
    any: Annotated[int, AnyValue]


class Private(TypedDict):
    secret: str


@scenario(durabilities=("sync", "exit"))  # a topic is changed while it is saved
def play_channels_of_other_sorts(scene: Scene) -> None:
    def first(state: Odd) -> Any:
        return {
            "steps": ["first"],
            "passing": "once",
            "untold": {"client": object},
            "topic": "t1",
            "topics": ["t1", "t2"],
            "any": 1,
            "secret": "between nodes",
        }

    def second(state: Private) -> Any:
        return {"steps": [state["secret"]], "topics": "t3"}

    def third(state: Odd) -> Any:
        return {"steps": [str(state.get("passing"))], "any": 2}

    builder: Any = StateGraph(Odd)
    builder.add_node("first", first)
    builder.add_node("second", second, input_schema=Private)
    builder.add_node("third", third)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", "third")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": []}, output_keys=["steps", "topics", "any"])
    scene.invoke(graph, {"steps": [], "passing": "in"}, output_keys=["steps", "topics"])


@scenario(durabilities=STEPWISE)
def play_a_thread_named_by_a_number_with_metadata(scene: Scene) -> None:
    graph = row(scene, "a").compile(checkpointer=scene.saver)
    said = {
        "configurable": {**scene.config["configurable"], "user": "u\u0000x", "__hidden": 1, "level": 3},
        "metadata": {"team": "red", "ok": True, "share": 0.5, "not kept": [1]},
        "tags": ["t"],
        "run_id": UUID(int=77),
    }
    scene.invoke(graph, {"steps": []}, said)
    for wanted in ({"team": "red"}, {"level": 3}, {"level": "3"}, {"team": "blue"}, {"nothing": None}):
        scene.note("found", [scene.normal.kept(one) for one in scene.kept(filter=wanted)])


@scenario(durabilities=("sync",))
def play_messages_changed_in_place(scene: Scene) -> None:
    def change(state: Talk) -> Any:
        for message in state["messages"]:
            message.content = f"{message.content}!"
            message.additional_kwargs.setdefault("seen", []).append(len(scene.done))
        scene.done.append("change")
        return {"messages": []}

    def answer(state: Talk) -> Any:
        return {"messages": [AIMessage("answer", id=f"a{len(state['messages'])}")]}

    builder: Any = StateGraph(Talk)
    for one, other in ((START, "change"), ("change", "answer"), ("answer", "again"), ("again", "last")):
        builder.add_edge(one, other)
    builder.add_node("change", change)
    builder.add_node("answer", answer)
    builder.add_node("again", change)
    builder.add_node("last", answer)
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"messages": [HumanMessage("one", id="1"), HumanMessage("two", id="2")]})
    scene.invoke(graph, {"messages": [HumanMessage("three", id="3")]})
