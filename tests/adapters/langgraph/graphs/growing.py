"""Channels that keep only what is written to them, and are rebuilt from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Overwrite, Send, interrupt

from tests.adapters.langgraph.graphs.scenarios import STEPWISE, scenario
from tests.adapters.langgraph.graphs.scenes import Scene


def joined(state: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*state, *(item for write in writes for item in write)]


class Grown(TypedDict, total=False):
    """A state of delta channels, which are kept whole now and then."""

    often: Annotated[list[Any], DeltaChannel(joined, snapshot_frequency=3)]
    never: Annotated[list[Any], DeltaChannel(joined, snapshot_frequency=10_000)]
    turn: int


def turn(scene: Scene, end: int, question: int | None = None) -> Any:
    def node(state: Grown) -> Any:
        at = state.get("turn", 0)
        scene.done.append(f"turn {at}")
        told: dict[str, Any] = {"turn": at + 1, "never": [at]}
        if at % 2:
            told["often"] = [HumanMessage(f"said {at}", id=f"m{at}")]
        if at == question:
            told["never"] = [interrupt("?")]
        return told

    builder: Any = StateGraph(Grown)
    builder.add_node("turn", node)
    builder.add_edge(START, "turn")
    builder.add_conditional_edges("turn", lambda state: "turn" if state["turn"] % end else END, ["turn", END])
    return builder.compile(checkpointer=scene.saver)


@scenario()
def play_growing_channels(scene: Scene) -> None:
    graph = turn(scene, 6)
    scene.invoke(graph, {"never": ["in"], "often": [AIMessage("first", id="f")]})
    assert scene.invoke(graph, {"never": ["again"]})["never"][-1] == 11
    scene.invoke(graph, {"never": Overwrite(["anew"]), "often": [1, 2]})


@scenario()
def play_growing_channels_with_questions(scene: Scene) -> None:
    graph = turn(scene, 5, question=2)
    scene.invoke(graph, {"never": ["in"]})
    scene.invoke(graph, Command(resume="answer", update={"never": ["told"]}))
    scene.update(graph, {"never": ["by hand"], "often": ["by hand"]}, "turn")
    scene.invoke(graph, {"never": ["on"]})


@scenario(durabilities=STEPWISE)
def play_growing_channels_and_going_back(scene: Scene) -> None:
    graph = turn(scene, 4)
    scene.invoke(graph, {"never": ["in"], "often": ["in"]})
    for at in (1, 3, 2):
        old = scene.history(graph)[at].config
        scene.invoke(graph, None, old)
        scene.update(graph, {"never": [f"by hand at {at}"]}, "turn", old)
        scene.invoke(graph, {"often": [f"from {at}"]}, old)
    scene.update(graph, None, "__copy__")
    scene.invoke(graph, {"never": ["last"]})


@scenario()
def play_growing_channels_of_branches(scene: Scene) -> None:
    def fails(state: Any) -> Any:
        scene.done.append("fails")
        if scene.done.count("fails") == 1:
            raise ValueError("once")
        return {"never": ["mended"]}

    builder: Any = StateGraph(Grown)
    builder.add_node("each", lambda item: {"never": [item], "often": [item, item]})
    builder.add_node("fails", fails)
    builder.add_node("join", lambda state: {"never": [len(state["never"])]})
    builder.add_conditional_edges(
        START, lambda state: ["fails", *(Send("each", number) for number in range(12))], ["each", "fails"]
    )
    builder.add_edge("each", "join")
    graph = builder.compile(checkpointer=scene.saver)
    limited = {**scene.config, "max_concurrency": 1}
    scene.invoke(graph, {"never": ["in"]}, limited, raises=ValueError)
    scene.invoke(graph, None)
    scene.invoke(graph, {"often": ["in"]})
