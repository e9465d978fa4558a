"""An effect of ours and the durable step of each peer, against the same two raw INSERTs, in the same rounds.

A peer takes its turns in a process of its own, alone with ours: what another does in the background disturbs
nobody's turn. All of them write to one server, which waits for its disk at each commit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ledger import open_ledger
from tests.benchmarks import raw_postgres
from tests.benchmarks.effects import acts, in_turns, repeated, sample_rows
from tests.benchmarks.measure import Result, Timed, interleaved, ratio, seconds
from tests.benchmarks.peers.process import ROOT, Peer
from tests.benchmarks.workload import ACTOR

_TIMES = 40
_ROUNDS = 11
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
    results: list[Result] = []
    with open_ledger(url, actor=ACTOR) as ledger, closing(raw_postgres.connect(url)) as connection:
        claim, outcome = sample_rows(ledger)
        raw = in_turns(
            raw_postgres.writer(connection, "a", [claim]), raw_postgres.writer(connection, "b", [outcome])
        )
        ours = acts(ledger.open_run("effects", "goal"))
        sides = {"raw": _timed(raw), "ours": _timed(ours)}
        for entry in PEERS:
            if entry.python.exists():
                with Peer(entry.python, f"tests.benchmarks.peers.{entry.module}", url) as peer:
                    results += _against(entry, peer, sides)
    return results


def _against(entry: Entry, peer: Peer, sides: Mapping[str, Timed]) -> list[Result]:
    theirs: dict[str, Timed] = {side: _taken(peer, side) for side in peer.sides}
    times = interleaved({**sides, **theirs}, _ROUNDS)
    what = f"{entry.name} {peer.version}"
    results = []
    for side in theirs:
        note = f"{side}; {entry.commits} {'commit' if entry.commits == 1 else 'commits'}"
        results.append(ratio(f"{what} / two raw INSERTs", times["raw"], times[side], "none", note))
        results.append(ratio(f"an effect / {what}", times[side], times["ours"], "> 1", note))
    results.append(
        ratio("an effect in those rounds / two raw INSERTs", times["raw"], times["ours"], ">= 0.7")
    )
    return results


def _timed(step: Callable[[], object]) -> Timed:
    return lambda: seconds(repeated(step, _TIMES))


def _taken(peer: Peer, side: str) -> Timed:
    return lambda: peer.take(side, _TIMES)
