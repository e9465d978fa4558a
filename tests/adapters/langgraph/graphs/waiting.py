"""Graphs that stop for people: interrupts in nodes, before and after them, and how they are answered."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.errors import UnknownInterruptError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from tests.adapters.langgraph.graphs.plain import row
from tests.adapters.langgraph.graphs.scenarios import STEPWISE, scenario
from tests.adapters.langgraph.graphs.scenes import Scene


class Asked(TypedDict, total=False):
    """What was answered."""

    answers: Annotated[list[Any], operator.add]
    items: list[str]


def asking(scene: Scene, name: str, *questions: Any) -> Any:
    """Return a node that asks questions, one after the other."""

    def node(state: Asked) -> Asked:
        scene.done.append(f"{name} begins")
        return {"answers": [[name, interrupt(question)] for question in questions]}

    return node


def graph_of(scene: Scene, **nodes: Any) -> Any:
    builder: Any = StateGraph(Asked)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=scene.saver)


@scenario()
def play_one_question(scene: Scene) -> None:
    graph = graph_of(
        scene, before=lambda _: {"answers": ["before"]}, asks=asking(scene, "asks", {"pay": 100})
    )
    waiting = scene.invoke(graph, {"answers": []})
    assert waiting["__interrupt__"][0].value == {"pay": 100}
    scene.invoke(graph, None)
    assert scene.invoke(graph, Command(resume={"yes": True}))["answers"][-1] == ["asks", {"yes": True}]
    scene.invoke(graph, {"answers": ["anew"]})
    scene.invoke(graph, {"answers": ["and anew, unanswered"]})
    scene.invoke(graph, Command(resume="late", update={"answers": ["by command"]}))


@scenario()
def play_several_questions_of_one_node(scene: Scene) -> None:
    graph = graph_of(scene, asks=asking(scene, "asks", "one", "two", "three"))
    scene.invoke(graph, {"answers": []})
    for answer in (1, False, [3]):
        last = scene.invoke(graph, Command(resume=answer))
    assert last["answers"] == [["asks", 1], ["asks", False], ["asks", [3]]]


@scenario()
def play_questions_of_branches_answered_by_id(scene: Scene) -> None:
    builder: Any = StateGraph(Asked)
    for name in ("left", "middle", "right"):
        builder.add_node(name, asking(scene, name, f"from {name}"))
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"answers": []}, ordered=False)
    ids = {one.value: one.id for one in scene.state(graph).interrupts}
    scene.invoke(graph, Command(resume="which?"), raises=(RuntimeError, UnknownInterruptError))
    scene.invoke(graph, Command(resume={ids["from left"]: "L"}), ordered=False)
    scene.invoke(graph, Command(resume={ids["from right"]: "R", ids["from middle"]: "M"}))
    assert scene.state(graph).values["answers"] == [["left", "L"], ["middle", "M"], ["right", "R"]]


@scenario()
def play_questions_of_sent_tasks(scene: Scene) -> None:
    def ask_each(state: Any) -> Any:
        return {"answers": [[state, interrupt(f"about {state}")]]}

    builder: Any = StateGraph(Asked)
    builder.add_node("each", ask_each)
    builder.add_conditional_edges(
        START, lambda state: [Send("each", item) for item in state["items"]], ["each"]
    )
    builder.add_edge("each", END)
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"items": ["a", "b", "c"], "answers": []}, ordered=False)
    resume = {one.id: one.value.upper() for one in scene.state(graph).interrupts}
    for id, answer in resume.items():
        scene.invoke(graph, Command(resume={id: answer}), ordered=False)
    assert not scene.state(graph).next


@scenario()
def play_stops_before_and_after_nodes(scene: Scene) -> None:
    graph = row(scene, "a", "b", "c", "d").compile(
        checkpointer=scene.saver, interrupt_before=["b"], interrupt_after=["c"]
    )
    scene.invoke(graph, {"steps": ["in"]})
    scene.invoke(graph, None)
    scene.invoke(graph, None)
    assert scene.state(graph).values["steps"] == ["in", "a", "b", "c", "d"]
    scene.stream(graph, {"steps": ["in"]}, ["updates", "values"])
    scene.update(graph, {"note": "changed while it waits"})
    scene.stream(graph, None, ["updates", "values", "checkpoints"], interrupt_before="*")
    scene.stream(graph, None, ["updates"])


@scenario(durabilities=STEPWISE)
def play_an_answer_while_a_sibling_failed(scene: Scene) -> None:
    def fails(state: Asked) -> Any:
        scene.done.append("fails begins")
        if scene.done.count("fails begins") == 1:
            raise ValueError("once")
        return {"answers": ["mended"]}

    def plain(state: Asked) -> Any:
        scene.done.append("plain")
        return {"answers": ["plain"]}

    builder: Any = StateGraph(Asked)
    builder.add_node("asks", asking(scene, "asks", "?"))
    builder.add_node("plain", plain)
    builder.add_edge(START, "asks")
    builder.add_edge(START, "plain")
    builder.add_node("fails", fails)
    builder.add_edge("plain", "fails")
    builder.add_edge("asks", "fails")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, {"answers": []})
    scene.invoke(graph, Command(resume="!"), raises=ValueError)
    scene.invoke(graph, None)
    assert scene.done.count("plain") == 1
