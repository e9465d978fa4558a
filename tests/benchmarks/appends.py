"""Appending: from a command to a durable event, against the raw INSERT of the same bytes."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from ledger import Ledger, open_ledger
from ledger.record import Row
from tests.benchmarks import raw
from tests.benchmarks.crowd import in_threads
from tests.benchmarks.measure import Result, seconds, speed
from tests.benchmarks.workload import ACTOR, moves, sample_row

_EVENTS = 400
_THREADS = 8
_ROUNDS = 15


def measure(folder: Path) -> list[Result]:
    """Measure one caller, and eight threads on eight runs."""
    with open_ledger(folder / "ours.db", actor=ACTOR) as ledger:
        row = sample_row(ledger)
        note = f"record of {len(row.record)} bytes"
        return [_one_caller(ledger, folder, row, note), _eight_threads(ledger, folder, row, note)]


def _one_caller(ledger: Ledger, folder: Path, row: Row, note: str) -> Result:
    step = moves(ledger.open_run("one", "goal"), count())
    connection, places = raw.create(folder / "raw.db"), count(1)

    def ours() -> None:
        for _ in range(_EVENTS):
            step()

    def theirs() -> None:
        for _ in range(_EVENTS):
            raw.insert(connection, "one", row._replace(position=next(places)))

    result = speed(
        "one append, full path / raw INSERT",
        lambda: seconds(ours),
        lambda: seconds(theirs),
        rounds=_ROUNDS,
        goal=">= 0.65",
        note=note,
    )
    connection.close()
    return result


def _eight_threads(ledger: Ledger, folder: Path, row: Row, note: str) -> Result:
    steps = [moves(ledger.open_run(f"thread-{number}", "goal"), count()) for number in range(_THREADS)]
    path = folder / "raw-threads.db"
    raw.create(path).close()
    connections = [raw.connect(path) for _ in range(_THREADS)]
    writers = [raw.writer(connection, f"run-{n}", row) for n, connection in enumerate(connections)]
    result = speed(
        "8 threads, full path / raw INSERT in 8 threads",
        lambda: in_threads(steps, _EVENTS // _THREADS),
        lambda: in_threads(writers, _EVENTS // _THREADS),
        rounds=_ROUNDS,
        goal=">= 1.6",
        note=note,
    )
    for connection in connections:
        connection.close()
    return result
