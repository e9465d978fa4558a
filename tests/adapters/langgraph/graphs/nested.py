"""Graphs in graphs: with the parent's saver, a thread of their own, two deep, asking, failing, at once."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from tests.adapters.langgraph.graphs.scenarios import STEPWISE, scenario
from tests.adapters.langgraph.graphs.scenes import Scene


class Path(TypedDict, total=False):
    """Where a graph and those in it have been."""

    path: Annotated[list[Any], operator.add]


class Own(TypedDict, total=False):
    """A state that shares nothing with the parent's."""

    mine: Annotated[list[Any], operator.add]


def says(scene: Scene, name: str, question: Any = None) -> Any:
    def node(state: Path) -> Path:
        scene.done.append(name)
        return {"path": [name if question is None else [name, interrupt(question)]]}

    return node


def chain(schema: Any, checkpointer: Any = None, **nodes: Any) -> Any:
    builder: Any = StateGraph(schema)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=checkpointer)


@scenario()
def play_a_graph_in_a_graph_that_asks(scene: Scene) -> None:
    inner = chain(Path, x=says(scene, "x"), y=says(scene, "y", "in the inner?"), z=says(scene, "z"))
    graph = chain(Path, scene.saver, before=says(scene, "before"), inner=inner, after=says(scene, "after"))
    scene.invoke(graph, {"path": ["in"]})
    scene.invoke(graph, Command(resume="yes"))
    assert scene.done.count("x") == 1
    scene.invoke(graph, {"path": ["again"]})
    below = scene.below(graph)
    if below is not None and scene.way.durability != "exit":
        scene.update(graph, {"path": ["put in below"]}, None, below.config)
    scene.invoke(graph, Command(resume="yes again"))


@scenario()
def play_graphs_two_deep(scene: Scene) -> None:
    deepest = chain(Path, d1=says(scene, "d1"), d2=says(scene, "d2", {"deep": True}))
    inner = chain(Path, i1=says(scene, "i1"), deepest=deepest, i2=says(scene, "i2", "inner"))
    graph = chain(Path, scene.saver, o1=says(scene, "o1"), inner=inner, o2=says(scene, "o2"))
    scene.stream(graph, {"path": ["in"]}, ["values", "updates", "checkpoints", "tasks"], subgraphs=True)
    scene.stream(graph, Command(resume="one"), ["values", "updates"], subgraphs=True)
    scene.stream(graph, Command(resume="two"), ["values", "updates", "debug"], subgraphs=True)
    assert scene.done == ["o1", "i1", "d1", "d2", "d2", "i2", "i2", "o2"]


@scenario()
def play_a_graph_with_a_memory_of_its_own(scene: Scene) -> None:
    inner = chain(Path, True, x=says(scene, "x"), y=says(scene, "y"))
    graph = chain(Path, scene.saver, inner=inner, after=says(scene, "after"))
    scene.invoke(graph, {"path": ["one"]})
    scene.invoke(graph, {"path": ["two"]})
    assert {one.config["configurable"]["checkpoint_ns"] for one in scene.kept()} == {"", "inner"}


@scenario(durabilities=("async", "exit"))  # the library fails with "sync"
def play_a_graph_without_memory(scene: Scene) -> None:
    inner = chain(Path, False, x=says(scene, "x"), y=says(scene, "y"))
    graph = chain(Path, scene.saver, inner=inner, after=says(scene, "after", "?"))
    scene.invoke(graph, {"path": ["one"]})
    scene.invoke(graph, Command(resume=1))


@scenario()
def play_a_graph_called_in_a_node(scene: Scene) -> None:
    inner = chain(Own, x=lambda _: {"mine": ["x"]}, y=lambda _: {"mine": [interrupt("own?")]})

    def calls(state: Path, config: RunnableConfig) -> Path:
        scene.done.append("calls")
        first = inner.invoke({"mine": [1]}, config)
        second = inner.invoke({"mine": [2]}, config)
        return {"path": [first["mine"], second["mine"]]}

    graph = chain(Path, scene.saver, calls=calls, after=says(scene, "after"))
    scene.invoke(graph, {"path": []})
    scene.invoke(graph, Command(resume="first"))
    scene.invoke(graph, Command(resume="second"))
    if scene.way.durability != "exit":
        assert scene.done == ["calls"] * 3 + ["after"]


@scenario()
def play_graphs_at_once(scene: Scene) -> None:
    inner = chain(
        Path, x=lambda state: {"path": ["x"]}, asks=lambda state: {"path": [interrupt(state["path"][0])]}
    )
    builder: Any = StateGraph(Path)
    builder.add_node("inner", inner)
    builder.add_conditional_edges(
        START, lambda _: [Send("inner", {"path": [number]}) for number in range(6)], ["inner"]
    )
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"path": []}, ordered=False)
    asked = {one.value: one.id for one in scene.state(graph).interrupts}
    scene.invoke(
        graph, Command(resume={asked[number]: f"answer {number}" for number in (0, 3, 5)}), ordered=False
    )
    scene.invoke(graph, Command(resume={asked[number]: f"answer {number}" for number in (1, 2, 4)}))
    assert not scene.state(graph).next


@scenario(durabilities=STEPWISE)
def play_going_back_with_a_graph_in_a_graph(scene: Scene) -> None:
    inner = chain(Path, x=says(scene, "x"), y=says(scene, "y", "?"), z=says(scene, "z"))
    graph = chain(Path, scene.saver, before=says(scene, "before"), inner=inner, after=says(scene, "after"))
    scene.invoke(graph, {"path": ["in"]})
    below = scene.below(graph)
    assert below is not None
    scene.invoke(graph, Command(resume="one"))
    scene.invoke(graph, None, next(one.config for one in scene.history(graph) if one.next == ("inner",)))
    scene.invoke(graph, Command(resume="two"))
    scene.invoke(graph, None, below.config)
    scene.invoke(graph, Command(resume="three"))
    inside = scene.history(graph, below.config)
    scene.note("inside", [scene.normal.snapshot(one) for one in inside])


@scenario()
def play_a_graph_in_a_graph_that_fails(scene: Scene) -> None:
    def fails(state: Path) -> Path:
        scene.done.append("fails")
        if scene.done.count("fails") == 1:
            raise LookupError("down there")
        return {"path": ["mended"]}

    inner = chain(Path, x=says(scene, "x"), fails=fails)
    graph = chain(Path, scene.saver, before=says(scene, "before"), inner=inner)
    scene.invoke(graph, {"path": []}, raises=LookupError)
    scene.invoke(graph, None)


@scenario()
def play_leaving_a_graph_for_its_parent(scene: Scene) -> None:
    def leaves(state: Path) -> Command[Any]:
        return Command(graph=Command.PARENT, goto="other", update={"path": ["handed up"]})

    inner = chain(Path, x=says(scene, "x"), leaves=leaves)
    builder: Any = StateGraph(Path)
    builder.add_node("inner", inner, destinations=("other",))
    builder.add_node("other", says(scene, "other"))
    builder.add_edge(START, "inner")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"path": []})
