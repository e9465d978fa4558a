"""What a ledger takes: bytes on disk beside the bytes of its records, and the time to import it."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path

from ledger import open_ledger
from tests.benchmarks.measure import Result, compare, seconds
from tests.benchmarks.workload import ACTOR, moves

_RUNS, _EVENTS = 20, 500
_BASELINE = (
    "import pydantic\nclass Model(pydantic.BaseModel):\n    id: str\n    count: int = 0\nModel(id='x')"
)


def measure(folder: Path) -> list[Result]:
    """Measure size on disk and import time."""
    return [
        _disk(folder),
        _imports("import ledger", "<= 1.5"),
        _imports("from ledger import open_ledger", "none"),
    ]


def _disk(folder: Path) -> Result:
    path = folder / "size.db"
    records = 0
    with open_ledger(path, actor=ACTOR) as ledger:
        for number in range(_RUNS):
            step = moves(ledger.open_run(f"run-{number:03}", "goal"), count())
            for _ in range(_EVENTS):
                step()
        for row in ledger.store.tail(limit=_RUNS * (_EVENTS + 1)):
            records += len(row.record)
    # Closing the ledger folds the write-ahead log into the file.
    ratio = sum(file.stat().st_size for file in folder.glob("size.db*")) / records
    return Result(
        "bytes on disk / bytes of records",
        ratio,
        ratio,
        ratio,
        "<= 1.5",
        f"{_RUNS * _EVENTS:,} events, all tables",
    )


def _imports(statement: str, goal: str) -> Result:
    def run(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return compare(
        f"{statement} / import pydantic and define a model",
        lambda: run(statement),
        lambda: run(_BASELINE),
        rounds=15,
        goal=goal,
    )
