"""The same graphs on LangGraph's own saver in memory and on the ledger's: nobody can tell them apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters.langgraph.graphs import (
    agents,
    branching,
    growing,
    nested,
    plain,
    tasks,
    travelling,
    waiting,
)
from tests.adapters.langgraph.graphs.places import Places, places
from tests.adapters.langgraph.graphs.scenarios import SCENARIOS
from tests.adapters.langgraph.graphs.scenes import Scene, Way, differences

__all__ = ["agents", "branching", "growing", "nested", "places", "plain", "tasks", "travelling", "waiting"]

# Each way once, and each place in two ways.
PLAYED: Final = {
    "memory": (Way(False, "sync"), Way(True, "exit")),
    "sqlite": (Way(False, "exit"), Way(True, "async")),
    "postgres": (Way(False, "async"), Way(True, "sync")),
}
SAMPLE: Final = frozenset(
    {
        "an_agent_with_tools",
        "calling_from_an_older_checkpoint",
        "growing_channels_with_questions",
        "graphs_at_once",
        "graphs_two_deep",
        "many_sent_tasks",
        "questions_of_branches_answered_by_id",
        "tasks_at_once_and_a_question",
        "values_of_all_sorts",
    }
)
"""What is played on PostgreSQL."""

EACH: Final = [
    pytest.param(place, name, way, id=f"{place}-{name}-{way}")
    for place, ways in PLAYED.items()
    for name, told in SCENARIOS.items()
    for way in ways
    if way in told.ways and (place != "postgres" or name in SAMPLE)
]


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def play(name: str, way: Way, saver: Any, loop: asyncio.Runner) -> Scene:
    scene = Scene(saver, f"{name} {way}", way, loop)
    SCENARIOS[name].play(scene)
    scene.look_back()
    return scene


@pytest.mark.parametrize(("place", "name", "way"), EACH)
def test_a_graph_is_kept_as_in_memory(
    place: str, name: str, way: Way, places: Places, loop: asyncio.Runner
) -> None:
    expected = play(name, way, InMemorySaver(), loop)
    found = play(name, way, places.saver(place, SCENARIOS[name].types), loop)
    assert not differences(expected, found)
