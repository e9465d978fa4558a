"""What a node wrote and the checkpoint after it are stored side by side, whichever comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.langgraph.crashes.nursery import Nursery, nursery
from tests.adapters.langgraph.crashes.worlds import CONFIG, GRAPHS, Telling, Trace, go_on
from tests.effects.hooked import hooked

__all__ = ["nursery"]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("first", ["writes", "checkpoint"])
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_kill_around_a_nodes_writes_comes_to_the_same(
    durability: str, first: str, both: bool, nursery: Nursery, tmp_path: Path
) -> None:
    place, trace = tmp_path / "runs.db", Trace(tmp_path / "trace.txt")
    assert nursery.run("interleave", str(place), str(trace.path), durability, first, both) == -9
    with hooked(place)[0] as ledger:
        graph = GRAPHS["branches"](trace).compile(checkpointer=Telling(ledger, trace))
        latest = graph.checkpointer.get_tuple(CONFIG)
        checkpoint_is_stored = both or first == "checkpoint"
        assert latest.checkpoint["channel_values"]["steps"] == (
            ["in", "a"] if checkpoint_is_stored else ["in"]
        )
        assert go_on(graph)["steps"] == ["in", "a", "b1", "b2", "c"]
    assert trace.lines().count("ran a") == 1
