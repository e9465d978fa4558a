"""How far a follower in another process lags behind writers that do not pause."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection

from ledger import Ledger, open_ledger
from ledger.application.statements import Stated
from tests.benchmarks.crowd import in_threads
from tests.benchmarks.measure import Result, summary
from tests.benchmarks.workload import ACTOR, moves

_WRITERS = 8
_TIMES = 150
_ROUNDS = 7
_MARK = "mark"
"""Run whose events tell the follower where a round begins and ends."""

Moments = dict[tuple[str, int], float]
"""When something happened to the event at a position of a run, by the clock that all processes share."""


def measure(url: str) -> list[Result]:
    """Measure the time from the writer's acknowledgement to the follower, in times of one append."""
    middle: list[float] = []
    late: list[float] = []
    with open_ledger(url, actor=ACTOR) as ledger, _follower(url) as follower:
        runs = [moves(ledger.open_run(f"run-{n}", "goal"), count()) for n in range(_WRITERS)]
        mark = moves(ledger.open_run(_MARK, "goal"), count())
        # The first round pays for what later ones find ready.
        rounds = [_round(ledger, runs, mark, follower) for _ in range(_ROUNDS + 1)]
    for one, lags in rounds[1:]:
        middle.append(statistics.median(lags) / one)
        late.append(statistics.quantiles(lags, n=100)[98] / one)
    took = statistics.median(one for one, _ in rounds[1:])
    note = f"{_WRITERS} writers; an append took {took * 1e3:.1f} ms"
    return [
        summary("a follower's lag / an append under the same load, median", middle, "a few", note),
        summary("the same, 99th percentile", late, "none", note),
    ]


def _round(
    ledger: Ledger,
    runs: list[Callable[[], Stated]],
    mark: Callable[[], Stated],
    follower: Connection,
) -> tuple[float, list[float]]:
    """Return how long an append took, and how far the follower lagged behind each."""
    follower.send(ledger.store.end(newest=True))
    mark()
    follower.recv()
    acknowledged: Moments = {}
    took: list[float] = []
    in_threads([_timed(step, n, acknowledged, took) for n, step in enumerate(runs)], _TIMES)
    mark()
    seen: Moments = follower.recv()
    lags = [max(seen[event] - moment, 0.0) for event, moment in acknowledged.items()]
    return statistics.median(took), lags


def _timed(
    step: Callable[[], Stated], number: int, acknowledged: Moments, took: list[float]
) -> Callable[[], None]:
    def timed() -> None:
        begin = time.monotonic()
        position = step().position
        end = time.monotonic()
        acknowledged[f"run-{number}", position] = end
        took.append(end - begin)

    return timed


@contextmanager
def _follower(url: str) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_follow, args=(url, there))
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join()


def _follow(url: str, parent: Connection) -> None:
    """Follow from where the parent says, and tell it when the round began and when each event came."""
    with open_ledger(url, actor=ACTOR) as ledger:
        while True:
            try:
                after = parent.recv()
            except EOFError:
                return
            seen: Moments = {}
            begun = False
            for record in ledger.follow(after, live=True):
                seen[record.run, record.position] = time.monotonic()
                if record.run == _MARK and begun:
                    parent.send(seen)
                    break
                if record.run == _MARK:
                    begun = True
                    parent.send(None)
