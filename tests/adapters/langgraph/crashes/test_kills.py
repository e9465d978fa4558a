"""A graph whose process is killed at each boundary: another goes on, and nobody can see that it happened."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.crashes.nursery import Nursery, nursery
from tests.adapters.langgraph.crashes.worlds import CONFIG, GRAPHS, Trace, go_on
from tests.effects.hooked import hooked

__all__ = ["nursery"]

KILLED = -9
EXPECTED = {
    "branches": ["in", "a", "b1", "b2", "c"],
    "nested": ["in", "a", "in", "a", "x", "y", "z"],
    "asking": ["in", "a", "asks go on", "beside", "z"],
}
WAYS = [
    ("branches", "sync", False, "before"),
    ("branches", "sync", False, "after"),
    ("branches", "async", False, "before"),
    ("branches", "async", True, "after"),
    ("nested", "sync", False, "before"),
    ("nested", "async", True, "after"),
    ("asking", "sync", False, "after"),
    ("asking", "sync", True, "before"),
]


def finished(state: Any) -> set[str]:
    """Return the nodes that a state knows to have run: in its values, or as tasks whose writes are kept."""
    names = {step.split()[0] for step in state.values.get("steps", ())}
    for task in state.tasks:
        if task.result is not None:
            names.add(task.name)
        if hasattr(task.state, "tasks"):
            names |= finished(task.state)
    return names


def ran(lines: list[str]) -> Counter[str]:
    return Counter(line.removeprefix("ran ") for line in lines if line.startswith("ran "))


def kept(lines: list[str]) -> set[str]:
    """Return the nodes whose writes were acknowledged, after a checkpoint that was so as well.

    Where a graph does not wait for its checkpoints, what a node wrote may be stored before the checkpoint
    that it follows. If that never is, it belongs to nothing.
    """
    saved = {line.removeprefix("saved ") for line in lines if line.startswith("saved ")}
    told = [line.split() for line in lines if line.startswith("kept ")]
    return {node for _, checkpoint, node in told if checkpoint in saved} - {"__start__", "inner"}


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "durability", "asynchronous", "moment"), WAYS)
def test_a_killed_graph_goes_on_where_it_was(
    graph: str, durability: str, asynchronous: bool, moment: str, nursery: Nursery, tmp_path: Path
) -> None:
    number = 0
    while True:
        number += 1
        place, trace = tmp_path / f"{number}.db", Trace(tmp_path / f"{number}.txt")
        asked = str(place), str(trace.path), graph, durability, asynchronous, number, moment
        ended = nursery.run("run_and_die", *asked)
        while ended == 0 and "asked asks" in trace.lines() and "ran z" not in trace.lines():
            # It was through with its first life, which ended with a question.
            ended = nursery.run("run_and_die", *asked[:5], number - trace.lines().count("stored"), moment)
        if ended == 0:
            break
        assert ended == KILLED
        check_what_follows(place, trace, graph, durability)
    assert number > 5


def check_what_follows(place: Path, trace: Trace, graph: str, durability: str) -> None:
    before = trace.lines()
    # By the same actor: another one is told that somebody is at work.
    with hooked(place)[0] as ledger:
        compiled = GRAPHS[graph](trace).compile(checkpointer=LedgerSaver(ledger))
        known = finished(compiled.get_state(CONFIG, subgraphs=True))
        # Nothing is lost that was acknowledged.
        assert kept(before) <= known
        ended = go_on(compiled)
        while "__interrupt__" in ended:
            ended = go_on(compiled)
        assert ended["steps"] == EXPECTED[graph]
        again = ran(trace.lines()[len(before) :])
        # What was kept never runs again, and what was not runs once more.
        assert not (known | kept(before)) & again.keys()
        assert set(again.values()) <= {1}
        if durability == "sync":
            assert known | again.keys() >= ran(before).keys()
        assert (ran(before) | again).keys() >= {step.split()[0] for step in EXPECTED[graph]} - {"in"}
