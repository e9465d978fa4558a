"""Many callers of an event loop on SQLite, against the raw driver in threads."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from ledger import open_ledger
from tests.benchmarks import raw
from tests.benchmarks.crowd import in_threads, tasks
from tests.benchmarks.measure import Result, speed
from tests.benchmarks.workload import ACTOR, sample_row

_THREADS, _TASKS = 8, 64
_EVENTS = 640
_ROUNDS = 15


def measure(folder: Path) -> list[Result]:
    """Measure as many events on both sides, each caller on a run of its own."""
    with open_ledger(folder / "ours.db", actor=ACTOR) as ledger:
        row = sample_row(ledger)
    path = folder / "raw.db"
    raw.create(path).close()
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(raw.connect(path))) for _ in range(_THREADS)]
        writers = [raw.writer(each, f"raw-{n}", row) for n, each in enumerate(connections)]
        loop = stack.enter_context(tasks(folder / "ours.db"))
        steps = loop.steps("task", _TASKS)
        return [
            speed(
                f"{_TASKS} asyncio callers, full path / raw INSERT in {_THREADS} threads",
                lambda: loop.time(steps, _EVENTS // _TASKS),
                lambda: in_threads(writers, _EVENTS // _THREADS),
                rounds=_ROUNDS,
                goal=">= 2.5",
            )
        ]
