"""What projections add to reading, beside a peer, and what a rebuild gains from several processes.

The yard is `Store.tail` in pages of the same size, which yields the raw bytes. On SQLite
it and what is compared with it are timed by the CPU time of this process, which does all of it; everything
else by the clock.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ledger import Ledger, open_ledger
from ledger.events import RunOpened
from ledger.record import Record
from projections.base import Column, Projection, Rows, Table
from projections.built_in import BUILT_IN
from projections.rebuilding import rebuild
from projections.runner import Runner
from projections.standing import forget
from tests.benchmarks import desk, projecting_peer
from tests.benchmarks.loading import mixed
from tests.benchmarks.measure import Result, Timed, interleaved, ratio, seconds
from tests.benchmarks.workload import ACTOR

_RUNS, _EACH, _IMPORTED = 40, 500, 20
_PAGE = 500
_ROUNDS = 7

MODELS = ("runs", "constraints", "effects")
"""Contracts, constraints and effects: the three that are caught up together."""
_MANY = 200_000
_REBUILT = 50_000
_FEW_ROUNDS = 3
_PEER_EVENTS = 1_000


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
        _fill(ledger)
        results = _small(ledger, cpu_seconds)
    desk.fill(folder / "many.db", desk.runs_of(_MANY))
    with (
        open_ledger(folder / "many.db", actor=ACTOR) as ledger,
        projecting_peer.on_sqlite(folder, _PEER_EVENTS) as peer,
    ):
        results += _many(ledger, peer)
    path = folder / "rebuilt.db"
    desk.fill(path, desk.runs_of(_REBUILT))
    with open_ledger(path, actor=ACTOR) as ledger:
        return [*results, _rebuilt(ledger, str(path))]


def measure_postgres(url: str) -> list[Result]:
    """Measure it on PostgreSQL."""
    with open_ledger(url, actor=ACTOR) as ledger:
        _fill(ledger)
        results = _small(ledger, seconds)
        models = [BUILT_IN[name] for name in MODELS]
        with projecting_peer.on_postgres(url, _PEER_EVENTS) as peer:
            return [*results, _against(peer, lambda: _caught_up(ledger, models, seconds), _RUNS * _EACH)]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that a call takes in this process."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


# --- each by itself ----------------------------------------------------------------------------------


def _small(ledger: Ledger, timed: Callable[[Callable[[], object]], float]) -> list[Result]:
    events = _RUNS * _EACH
    sides: dict[str, Timed] = {
        "raw": lambda: timed(lambda: _read(ledger)),
        "last": lambda: _caught_up(ledger, [Last()], timed),
        "runs": lambda: _caught_up(ledger, [BUILT_IN["runs"]], timed),
        "all": lambda: _caught_up(ledger, list(BUILT_IN.values()), timed),
    }
    times = interleaved(sides, _ROUNDS)
    lines = {
        "last": ("catching up with a small handler / reading raw bytes", "> 0.1"),
        "runs": ("catching up with contracts / reading raw bytes", "none"),
        "all": (f"catching up with all {len(BUILT_IN)} / reading raw bytes", "none"),
    }
    found = []
    for side, (name, goal) in lines.items():
        rate = events / sorted(times[side])[_ROUNDS // 2]
        found.append(ratio(name, times["raw"], times[side], goal, f"{rate:,.0f} events/s, pages of {_PAGE}"))
    return found


def _fill(ledger: Ledger) -> None:
    """Let many runs live at the same time, as they do."""
    for number in range(_RUNS):
        ledger.import_events(f"run-{number}", [RunOpened(goal="goal 0")], expected=0)
    for at in range(1, _EACH, _IMPORTED):
        size = min(_IMPORTED, _EACH - at)
        for number in range(_RUNS):
            ledger.import_events(f"run-{number}", [mixed(at + n) for n in range(size)], expected=at)


def _read(ledger: Ledger) -> int:
    after = events = 0
    while rows := ledger.store.tail(after=after, limit=_PAGE, tenant=ledger.tenant):
        after = rows[-1].gid
        events += len(rows)
    return events


def _caught_up(
    ledger: Ledger, projections: Sequence[Projection], timed: Callable[[Callable[[], object]], float]
) -> float:
    for one in projections:
        forget(ledger, one)
    return timed(lambda: Runner(ledger, projections, page=_PAGE).run(until_current=True))


# --- three together, many events ---------------------------------------------------------------------


def _many(ledger: Ledger, peer: Timed) -> list[Result]:
    models, events = [BUILT_IN[name] for name in MODELS], _read(ledger)
    sides: dict[str, Timed] = {
        "raw": lambda: cpu_seconds(lambda: _read(ledger)),
        "models": lambda: _caught_up(ledger, models, cpu_seconds),
    }
    times = interleaved(sides, _FEW_ROUNDS)
    rate = events / sorted(times["models"])[_FEW_ROUNDS // 2]
    title = f"catching up with {', '.join(MODELS)}: {events:,} events"
    return [
        ratio(f"{title} / raw bytes", times["raw"], times["models"], ">= 0.25", f"{rate:,.0f} events/s"),
        _against(peer, lambda: _caught_up(ledger, models, seconds), events),
    ]


def _against(peer: Timed, ours: Timed, events: int) -> Result:
    """Compare rates by the clock: the peer waits for its disk at each event."""
    times = interleaved({"peer": peer, "ours": ours}, _FEW_ROUNDS)
    over = [taken / _PEER_EVENTS for taken in times["peer"]]
    under = [taken / events for taken in times["ours"]]
    rate = 1 / sorted(over)[_FEW_ROUNDS // 2]
    return ratio(
        "the same / eventsourcing, an event at a time", over, under, ">= 50", f"theirs {rate:,.0f} events/s"
    )


# --- rebuilding --------------------------------------------------------------------------------------


def _rebuilt(ledger: Ledger, url: str) -> Result:
    everything = list(BUILT_IN.values())
    workers = max(2, multiprocessing.cpu_count())
    sides: dict[str, Timed] = {
        "one": lambda: seconds(lambda: rebuild(ledger, everything)),
        "several": lambda: seconds(lambda: rebuild(ledger, everything, workers=workers, url=url)),
    }
    times = interleaved(sides, _FEW_ROUNDS)
    return ratio(
        f"rebuild of all {len(everything)} in {workers} processes more / in one",
        times["one"],
        times["several"],
        "none",
    )
