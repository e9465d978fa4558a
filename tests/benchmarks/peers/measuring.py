"""An effect of ours and the durable step of each peer, against the same two raw INSERTs, in the same rounds.

Each peer has a process of its own. All of them write to one server, which waits for its disk at each commit,
and take turns there: while one is timed the others wait for their orders.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from ledger import open_ledger
from tests.benchmarks import raw_postgres
from tests.benchmarks.effects import acts, in_turns, repeated, sample_rows
from tests.benchmarks.measure import Result, Timed, interleaved, ratio, seconds
from tests.benchmarks.peers.process import ROOT, Peer
from tests.benchmarks.workload import ACTOR

_TIMES = 20
_ROUNDS = 25
"""Many short rounds: how long a disk takes to sync changes from one second to the next."""
_PYTHON = ROOT / ".venv-peers" / "bin" / "python"


class Entry(NamedTuple):
    """A peer that can be measured."""

    name: str
    module: str
    python: Path
    commits: int
    """How many commits one of its steps waits for; ours takes two."""


PEERS = (
    Entry("LangGraph PostgresSaver", "checkpoints", _PYTHON, 2),
    Entry("Absurd", "tasks", _PYTHON, 1),
    Entry("eventsourcing", "aggregate", Path(sys.executable), 2),
    Entry("DBOS", "workflows", _PYTHON, 1),
    Entry("Google ADK sessions", "sessions", _PYTHON, 2),
)


def absent() -> dict[str, str]:
    """Name the peers that cannot be measured here, and say why."""
    return {
        entry.name: "its environment is not there: make bench-peers"
        for entry in PEERS
        if not entry.python.exists()
    }


def measure(url: str) -> list[Result]:
    """Measure the peers that are there."""
    raw_postgres.create(url)
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(url, actor=ACTOR))
        connection = stack.enter_context(closing(raw_postgres.connect(url)))
        claim, outcome = sample_rows(ledger)
        raw = in_turns(
            raw_postgres.writer(connection, "a", [claim]), raw_postgres.writer(connection, "b", [outcome])
        )
        sides = {"raw": _timed(raw), "ours": _timed(acts(ledger.open_run("effects", "goal")))}
        steps: dict[str, tuple[str, str]] = {}
        for entry in PEERS:
            if entry.python.exists():
                peer = stack.enter_context(Peer(entry.python, f"tests.benchmarks.peers.{entry.module}", url))
                for side in peer.sides:
                    sides[f"{entry.name}, {side}"] = _taken(peer, side)
                    note = f"{side}; {entry.commits} {'commit' if entry.commits == 1 else 'commits'}"
                    steps[f"{entry.name}, {side}"] = f"{entry.name} {peer.version}", note
        times = interleaved(sides, _ROUNDS)
    # How much a ratio says of the code depends on what a commit waits for the disk.
    note = f"2 commits; two raw INSERTs took {statistics.median(times['raw']) / _TIMES * 1e3:.2f} ms"
    results = [ratio("an effect / two raw INSERTs", times["raw"], times["ours"], ">= 0.7", note)]
    for step, (name, note) in steps.items():
        results.append(ratio(f"{name} / two raw INSERTs", times["raw"], times[step], "none", note))
        results.append(ratio(f"an effect / {name}", times[step], times["ours"], "> 1", note))
    return results


def _timed(step: Callable[[], object]) -> Timed:
    return lambda: seconds(repeated(step, _TIMES))


def _taken(peer: Peer, side: str) -> Timed:
    return lambda: peer.take(side, _TIMES)
