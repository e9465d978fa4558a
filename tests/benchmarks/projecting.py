"""What projections add to reading: a handler with next to nothing to do, and the contract of each run.

The yard is `Store.tail` in pages of the same size, which yields the raw bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ledger import Ledger, open_ledger
from ledger.events import RunOpened
from ledger.record import Record
from projections.base import Column, Projection, Rows, Table
from projections.runner import Runner
from projections.runs import Runs
from projections.standing import forget
from tests.benchmarks.loading import mixed
from tests.benchmarks.measure import Result, interleaved, ratio, seconds
from tests.benchmarks.workload import ACTOR

_RUNS, _EACH, _IMPORTED = 40, 500, 20
_PAGE = 500
_ROUNDS = 7


class Last(Projection):
    """The last event of each run."""

    name = "last"
    version = 1
    tables = (Table("last", (Column("run"), Column("name")), key=("run",)),)

    def handle(self, record: Record, rows: Rows) -> None:
        rows.put("last", {"run": record.run, "name": record.name}, record)


def measure(folder: Path) -> list[Result]:
    """Measure it on SQLite."""
    with open_ledger(folder / "projecting.db", actor=ACTOR) as ledger:
        return _measured(ledger)


def measure_postgres(url: str) -> list[Result]:
    """Measure it on PostgreSQL."""
    with open_ledger(url, actor=ACTOR) as ledger:
        return _measured(ledger)


def _measured(ledger: Ledger) -> list[Result]:
    _fill(ledger)
    events = _RUNS * _EACH
    last, runs = Last(), Runs()
    sides: dict[str, Callable[[], float]] = {
        "raw": lambda: seconds(lambda: _read(ledger)),
        "last": lambda: _caught_up(ledger, last),
        "runs": lambda: _caught_up(ledger, runs),
    }
    times = interleaved(sides, _ROUNDS)

    def note(side: str) -> str:
        return f"{events / sorted(times[side])[_ROUNDS // 2]:,.0f} events/s in pages of {_PAGE}"

    return [
        ratio(
            "catching up with a small handler / reading raw bytes",
            times["raw"],
            times["last"],
            "> 0.1",
            note("last"),
        ),
        ratio(
            "catching up with contracts / reading raw bytes",
            times["raw"],
            times["runs"],
            "none",
            note("runs"),
        ),
    ]


def _fill(ledger: Ledger) -> None:
    """Let many runs live at the same time, as they do."""
    for number in range(_RUNS):
        ledger.import_events(f"run-{number}", [RunOpened(goal="goal 0")], expected=0)
    for at in range(1, _EACH, _IMPORTED):
        size = min(_IMPORTED, _EACH - at)
        for number in range(_RUNS):
            ledger.import_events(f"run-{number}", [mixed(at + n) for n in range(size)], expected=at)


def _read(ledger: Ledger) -> None:
    after = 0
    while rows := ledger.store.tail(after=after, limit=_PAGE, tenant=ledger.tenant):
        after = rows[-1].gid


def _caught_up(ledger: Ledger, projection: Projection) -> float:
    forget(ledger, projection)
    return seconds(lambda: Runner(ledger, [projection], page=_PAGE).run(until_current=True))
