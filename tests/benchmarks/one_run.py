"""Commands in flight on one run: those that wait are decided together and appended once."""

from __future__ import annotations

from itertools import count

from tests.benchmarks.crowd import tasks
from tests.benchmarks.measure import Result, speed
from tests.benchmarks.workload import moves

_IN_FLIGHT = 32
_EVENTS = 320
_ROUNDS = 9


def measure(url: str) -> list[Result]:
    """Measure a run that many tasks write to against one with a single command in flight."""
    with tasks(url) as loop:
        many = moves(loop.open_run("many"), count())
        single = moves(loop.open_run("single"), count())
        return [
            speed(
                f"{_IN_FLIGHT} commands in flight on one run / one in flight, asyncio",
                lambda: loop.time([many] * _IN_FLIGHT, _EVENTS // _IN_FLIGHT),
                lambda: loop.time([single], _EVENTS),
                rounds=_ROUNDS,
                goal=">= 3",
            )
        ]
