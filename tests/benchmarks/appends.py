"""Appending: from a command to a durable event, against the raw INSERT of the same bytes."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from ledger import Actor, Ledger, Run, open_ledger
from ledger.record import Row
from tests.benchmarks import raw
from tests.benchmarks.measure import Result, seconds, speed

_EVENTS = 400
_THREADS = 8
_ROUNDS = 15


def events_of_600_bytes(run: Run, numbers: Iterator[int]) -> Callable[[], None]:
    """Return a step that moves the cursor of a run; its record has about 600 bytes."""

    def step() -> None:
        number = next(numbers)
        run.move(
            "refund",
            round=number,
            next=("tell-customer", "file-receipt"),
            budget_left={"EUR": "90.00", "tokens": "120000"},
            state=f"{number:064x}",
        )

    return step


def sample_row(ledger: Ledger) -> Row:
    """Return a row as those appends store it."""
    run = ledger.open_run("sample", "goal", actor=Actor("agent:refunds", session="s-1"))
    events_of_600_bytes(run, count())()
    stored = ledger.store.read("default", "sample", after=1)[0]
    return Row(stored.position, "", stored.hash, None, None, None, stored.record)


def measure(folder: Path) -> list[Result]:
    """Measure one caller, and eight threads on eight runs."""
    with open_ledger(folder / "ours.db", actor=Actor("agent:refunds", session="s-1")) as ledger:
        row = sample_row(ledger)
        note = f"record of {len(row.record)} bytes"
        return [_one_caller(ledger, folder, row, note), _eight_threads(ledger, folder, row, note)]


def _one_caller(ledger: Ledger, folder: Path, row: Row, note: str) -> Result:
    step = events_of_600_bytes(ledger.open_run("one", "goal"), count())
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
    steps = [
        events_of_600_bytes(ledger.open_run(f"thread-{number}", "goal"), count())
        for number in range(_THREADS)
    ]
    path = folder / "raw-threads.db"
    raw.create(path).close()
    connections = [raw.connect(path) for _ in range(_THREADS)]
    writers = [_raw_writer(connection, f"run-{n}", row) for n, connection in enumerate(connections)]
    result = speed(
        "8 threads, full path / raw INSERT in 8 threads",
        lambda: seconds(lambda: _together(steps)),
        lambda: seconds(lambda: _together(writers)),
        rounds=_ROUNDS,
        goal=">= 1.6",
        note=note,
    )
    for connection in connections:
        connection.close()
    return result


def _raw_writer(connection: sqlite3.Connection, run: str, row: Row) -> Callable[[], None]:
    places = count(1)
    return lambda: raw.insert(connection, run, row._replace(position=next(places)))


def _together(steps: list[Callable[[], None]]) -> None:
    def loop(step: Callable[[], None]) -> None:
        for _ in range(_EVENTS // _THREADS):
            step()

    threads = [threading.Thread(target=loop, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
