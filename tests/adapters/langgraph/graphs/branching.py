"""Graphs whose branches run at once: side by side, sent out, failing alone, waiting for each other."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from tests.adapters.langgraph.graphs.plain import Trail, step
from tests.adapters.langgraph.graphs.scenarios import scenario
from tests.adapters.langgraph.graphs.scenes import Scene

MANY = 50
"""Tasks that are sent out at once."""


WAITING = ("sync", "exit")
"""A channel that waits for several nodes is changed while it is saved, where the graph does not wait."""


class Sums(TypedDict, total=False):
    """What came back from tasks."""

    items: list[int]
    squares: Annotated[list[int], operator.add]
    total: Annotated[int, operator.add]


def diamond(scene: Scene, *middle: str, defer: bool = False) -> Any:
    builder: Any = StateGraph(Trail)
    for name in ("begin", *middle):
        builder.add_node(name, adds(scene, name))
    builder.add_node("end", adds(scene, "end"), defer=defer)
    builder.add_edge(START, "begin")
    for name in middle:
        builder.add_edge("begin", name)
    builder.add_edge(list(middle), "end")
    return builder


def adds(scene: Scene, name: str) -> Any:
    def node(state: Trail) -> Trail:
        scene.done.append(name)
        return {"steps": [name]}

    return node


@scenario(durabilities=WAITING)
def play_branches_that_meet(scene: Scene) -> None:
    graph = diamond(scene, "left", "middle", "right").compile(checkpointer=scene.saver)
    scene.stream(graph, {"steps": ["in"]}, ["values", "updates", "tasks", "checkpoints"], ordered=False)
    scene.invoke(graph, {"steps": ["again"]})


@scenario()
def play_many_sent_tasks(scene: Scene) -> None:
    builder: Any = StateGraph(Sums)
    builder.add_node("square", lambda item: {"squares": [item * item], "total": item})
    builder.add_node("sum", lambda state: {"squares": [-1]})
    builder.add_conditional_edges(START, lambda s: [Send("square", item) for item in s["items"]], ["square"])
    builder.add_edge("square", "sum")
    graph = builder.compile(checkpointer=scene.saver)
    ended = scene.invoke(graph, {"items": list(range(MANY))})
    assert ended["squares"] == [item * item for item in range(MANY)] + [-1]


@scenario(durabilities=WAITING)
def play_a_branch_that_fails_alone(scene: Scene) -> None:
    def trouble(state: Trail) -> Trail:
        scene.done.append("trouble")
        if scene.done.count("trouble") == 1:
            raise ArithmeticError("once")
        return {"steps": ["mended"]}

    builder = diamond(scene, "left", "right")
    builder.add_node("trouble", trouble)
    builder.add_edge("begin", "trouble")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": []}, raises=ArithmeticError, config={**scene.config, "max_concurrency": 1})
    scene.invoke(graph, None)
    assert sorted(scene.done) == ["begin", "end", "left", "right", "trouble", "trouble"]


@scenario()
def play_nodes_that_wait_for_all(scene: Scene) -> None:
    builder: Any = StateGraph(Trail)
    for name in ("a", "b1", "b2", "c"):
        builder.add_node(name, adds(scene, name))
    builder.add_node("last", adds(scene, "last"), defer=True)
    for one, other in ((START, "a"), ("a", "b1"), ("b1", "b2"), ("a", "c"), ("b2", "last"), ("c", "last")):
        builder.add_edge(one, other)
    graph = builder.compile(checkpointer=scene.saver)
    assert scene.invoke(graph, {"steps": []})["steps"] == ["a", "b1", "c", "b2", "last"]
    scene.invoke(graph, {"steps": ["again"]}, interrupt_before=["last"])
    scene.invoke(graph, None)


@scenario()
def play_sending_by_command(scene: Scene) -> None:
    def spread(state: Trail) -> Command[Any]:
        return Command(
            update={"steps": ["spread"]},
            goto=[Send("one", {"count": number}) for number in range(3)] + ["two"],
        )

    builder: Any = StateGraph(Trail)
    builder.add_node("spread", spread, destinations=("one", "two"))
    builder.add_node("one", lambda state: {"steps": [f"one {state['count']}"]})
    builder.add_node("two", adds(scene, "two"))
    builder.add_edge(START, "spread")
    builder.add_edge("one", END)
    graph = builder.compile(checkpointer=scene.saver, interrupt_before=["one"])
    scene.invoke(graph, {"steps": []})
    scene.invoke(graph, Command(goto=Send("one", {"count": 7})))


@scenario(durabilities=("sync",))
def play_going_back_to_branches(scene: Scene) -> None:
    graph = diamond(scene, "left", "right", defer=True).compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": []})
    before = next(one for one in scene.history(graph) if len(one.next) == 2)
    scene.invoke(graph, None, before.config)
    changed = scene.update(graph, {"steps": ["by hand"]}, "left", before.config)
    scene.invoke(graph, None, changed)
    scene.update(graph, {"steps": ["by hand"]}, "right", before.config)
    scene.invoke(graph, None)


@scenario()
def play_a_handler_of_errors(scene: Scene) -> None:
    def fails(state: Trail) -> Trail:
        scene.done.append("fails")
        raise OSError(5, "broken")

    def handles(state: Trail) -> Trail:
        scene.done.append("handles")
        if scene.done.count("handles") == 1:
            raise LookupError("the handler as well")
        return {"steps": ["handled"]}

    builder: Any = StateGraph(Trail)
    builder.add_node("fails", fails, error_handler=handles)
    builder.add_node("beside", step(scene, "beside"))
    builder.add_edge(START, "fails")
    builder.add_edge(START, "beside")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": []}, raises=LookupError, config={**scene.config, "max_concurrency": 1})
    scene.invoke(graph, None)
