"""Going back: calling from an older checkpoint, forks, and changes made by hand."""

from __future__ import annotations

from typing import Any

from langgraph.types import Command, StateUpdate

from tests.adapters.langgraph.graphs.plain import row
from tests.adapters.langgraph.graphs.scenarios import STEPWISE, scenario
from tests.adapters.langgraph.graphs.scenes import Scene
from tests.adapters.langgraph.graphs.waiting import asking, graph_of


def at_next(scene: Scene, graph: Any, name: str) -> Any:
    """Return the config of the newest state after which a node would run."""
    return next(one.config for one in scene.history(graph) if one.next == (name,))


@scenario(durabilities=STEPWISE)
def play_calling_from_an_older_checkpoint(scene: Scene) -> None:
    graph = row(scene, "a", "b", "c").compile(checkpointer=scene.saver)
    scene.invoke(graph, {"steps": ["in"]})
    old = at_next(scene, graph, "b")
    scene.invoke(graph, None, old)
    scene.invoke(graph, {"steps": ["other"]}, old)
    scene.invoke(graph, {"steps": ["newest"]})
    scene.note("old", scene.normal.snapshot(scene.state(graph, old)))
    scene.stream(graph, None, ["values", "updates", "checkpoints"], config=at_next(scene, graph, "c"))


@scenario(durabilities=STEPWISE)
def play_changes_by_hand(scene: Scene) -> None:
    graph = row(scene, "a", "b", "c").compile(checkpointer=scene.saver)
    scene.update(graph, {"steps": ["before all"]}, "__start__")
    scene.invoke(graph, {"steps": ["in"]})
    scene.update(graph, {"steps": ["by hand"], "count": 40}, "a")
    scene.invoke(graph, None)
    fork = scene.update(graph, {"count": -1}, "b", at_next(scene, graph, "b"))
    scene.invoke(graph, None, fork)
    scene.update(graph, None, "a")
    scene.update(graph, {"count": 0})
    scene.update(graph, None, "__end__")
    scene.update(graph, None, "__copy__")
    scene.invoke(graph, {"steps": ["goes on"]})


@scenario(durabilities=STEPWISE)
def play_many_changes_by_hand(scene: Scene) -> None:
    graph = row(scene, "a", "b").compile(checkpointer=scene.saver)
    scene.update_many(
        graph,
        [
            [StateUpdate({"steps": ["in"]}, "__start__")],
            [StateUpdate({"steps": ["x"], "count": 1}, "a"), StateUpdate({"steps": ["y"]}, "b")],
            [StateUpdate({"steps": ["z"]}, "a")],
        ],
    )
    scene.invoke(graph, None)
    scene.update_many(
        graph, [[StateUpdate({"steps": ["fork"]}, "a")], [StateUpdate(None, "b")]], at_next(scene, graph, "b")
    )


@scenario(durabilities=STEPWISE)
def play_going_back_before_an_answer(scene: Scene) -> None:
    graph = graph_of(
        scene,
        first=asking(scene, "first", "1?"),
        second=asking(scene, "second", "2?", "3?"),
        last=lambda _: {},
    )
    scene.invoke(graph, {"answers": []})
    for answer in "abc":
        scene.invoke(graph, Command(resume=answer))
    before = at_next(scene, graph, "second")
    scene.invoke(graph, None, before)
    scene.invoke(graph, Command(resume="other"))
    scene.invoke(graph, Command(resume="than before"))
    asked = scene.history(graph)
    scene.invoke(graph, Command(resume="addressed"), at_next(scene, graph, "first"))
    scene.invoke(graph, Command(resume="d"), asked[-1].config)
    scene.update(graph, {"answers": ["by hand"]}, "first", before)
    scene.invoke(graph, None)
    scene.invoke(graph, Command(resume="e", goto="last"))
