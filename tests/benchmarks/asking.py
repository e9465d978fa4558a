"""What a question costs in a ledger ten times as large, and what it costs to ask where nothing is new.

Questions are asked as people ask them: about a run, a key, a source, a party, a subject, a version or a
period, each of which concerns as many events in either ledger. Both are SQLite files with read models that
are up to date; it is timed by the CPU time of this process, which does all of it.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from ledger import Ledger, open_ledger
from projections.asking import ask
from projections.built_in import BUILT_IN
from projections.runner import Runner
from tests.benchmarks import desk, rebuilding
from tests.benchmarks.measure import Result, compare, ratio, seconds
from tests.benchmarks.projecting import cpu_seconds
from tests.benchmarks.ways import Given, asked
from tests.benchmarks.workload import ACTOR

_SMALL, _LARGE = 10_000, 100_000
_CALLS, _ROUNDS = 3, 9
_TIMES = 50


def measure(folder: Path) -> list[Result]:
    """Measure questions at 10,000 and 100,000 events."""
    return [*_compared(folder, _SMALL, _LARGE), *_warm(folder / f"{_LARGE}.db")]


def measure_large(folder: Path) -> list[Result]:
    """Measure questions at 100,000 and 1,000,000 events, and the memory of a rebuild: this takes long."""
    results = _compared(folder, 10 * _SMALL, 10 * _LARGE)
    path = folder / f"{10 * _LARGE}.db"
    return [*results, rebuilding.memory(path, workers=1), rebuilding.memory(path, workers=2)]


def _compared(folder: Path, small: int, large: int) -> list[Result]:
    ledgers = []
    for events in (small, large):
        path = folder / f"{events}.db"
        desk.fill(path, desk.runs_of(events))
        ledger = open_ledger(path, actor=ACTOR)
        Runner(ledger, list(BUILT_IN.values())).run(until_current=True)
        ledgers.append((ledger, desk.runs_of(events)))
    (few, few_runs), (many, many_runs) = ledgers
    found: dict[str, tuple[Result, str]] = {}
    for place, (question, given) in enumerate(asked(0)):
        one = _ratio(question, place, (many, many_runs), (few, few_runs))
        worst = found.get(question)
        if worst is None or worst[0].ratio < one.ratio:
            found[question] = one, "+".join(given)
    for ledger, _ in ledgers:
        ledger.close()
    return [replace(one, note=f"{one.note}, by {given}") for one, given in found.values()]


def _ratio(question: str, place: int, many: tuple[Ledger, int], few: tuple[Ledger, int]) -> Result:
    """Compare one way of asking in two ledgers, about other things in the middle each time."""
    numbers = count()
    times: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(_ROUNDS + 1):
        for side, (ledger, runs) in enumerate((many, few)):
            number = runs // 2 + 10 * (next(numbers) % (runs // 40))
            givens = [list(asked(number + 10 * call))[place][1] for call in range(_CALLS)]
            times[side].append(statistics.median(_cost(ledger, question, given) for given in givens))
    note = f"{statistics.median(times[0]) * 1e3:.1f} ms"
    return ratio(f"{question}, ten times as many events", times[0][1:], times[1][1:], "<= 1.5", note)


def _cost(ledger: Ledger, question: str, given: Given) -> float:
    return cpu_seconds(lambda: ask(ledger, question, **given))


def _warm(path: Path) -> list[Result]:
    """Compare asking, and reading a contract, with the least that a read of the file takes."""
    with open_ledger(path, actor=ACTOR) as ledger:
        run = desk.name(7)

        def many(step: Any) -> float:
            return seconds(lambda: [step() for _ in range(_TIMES)])

        def read() -> object:
            return ledger.store.read(ledger.tenant, run, limit=desk.EACH)

        took = many(lambda: ask(ledger, "obligations", run=run)) / _TIMES
        return [
            compare(
                "a question about a run, nothing new / reading the rows of the run",
                lambda: many(lambda: ask(ledger, "obligations", run=run)),
                lambda: many(read),
                rounds=_ROUNDS,
                goal="none",
                note=f"{took * 1e3:.1f} ms",
            )
        ]
