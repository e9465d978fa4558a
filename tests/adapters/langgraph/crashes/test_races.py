"""Two processes that go on with one thread at once: one does, the other is told, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.crashes.nursery import Nursery, nursery
from tests.adapters.langgraph.crashes.worlds import CONFIG, Trace
from tests.servers.cluster import Cluster

__all__ = ["nursery"]


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    cluster: Cluster = request.getfixturevalue("postgres")
    return cluster.fresh_database()


@pytest.fixture
def race(url: str, nursery: Nursery, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that lets processes meet once each loaded the thread, and says what came of it."""

    def meet(*names: str, durability: str, gate: Any) -> list[str]:
        pipes = []
        processes = []
        trace = Trace(tmp_path / "trace.txt")
        for name in names:
            ready, go = tmp_path / f"{name}-ready", tmp_path / f"{name}-go"
            os.mkfifo(ready)
            os.mkfifo(go)
            asked = url, str(trace.path), name, durability, gate, str(ready), str(go)
            processes.append(nursery.begin("race", *asked))
            ready.read_text()
            pipes.append(go)
        for go in pipes:
            go.write_text("")
        assert [nursery.wait(process) for process in processes] == [0] * len(names)
        return trace.lines()

    return meet


def steps(url: str) -> list[str]:
    config: Any = CONFIG
    with open_ledger(url) as ledger:
        latest = LedgerSaver(ledger).get_tuple(config)
        assert latest is not None
        found: list[str] = latest.checkpoint["channel_values"]["steps"]
        return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "durability", "gate", "told"),
    [
        ("sqlite", "sync", "off", {"StateMoved"}),
        ("sqlite", "async", "off", {"StateMoved"}),
        ("sqlite", "exit", "off", {"StateMoved"}),
        ("sqlite", "sync", None, {"StateMoved", "Superseded"}),
        ("sqlite", "exit", None, {"StateMoved", "Superseded"}),
        ("postgres", "async", "off", {"StateMoved"}),
        ("postgres", "sync", None, {"StateMoved", "Superseded"}),
    ],
    indirect=["url"],
)
def test_of_two_processes_on_one_thread_one_goes_on_and_the_other_is_told(
    url: str, durability: str, gate: Any, told: set[str], race: Callable[..., list[str]]
) -> None:
    known: list[str] = []
    # The first time nobody has begun the thread.
    for names in (("a", "b"), ("c", "d")):
        ended = dict(line.split() for line in race(*names, durability=durability, gate=gate))
        won = [name for name in names if ended[name] == "ended"]
        assert len(won) == 1
        assert {ended[name] for name in names if name not in won} <= told
        known += [won[0], f"{won[0]} done"]
        assert steps(url) == known
