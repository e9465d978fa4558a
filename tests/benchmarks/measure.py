"""Interleaved rounds and their ratios.

Machines are noisy and get slower and faster while one measures. So nothing is compared across runs: the two
sides take turns, each round gives one ratio, and the median of the ratios is reported with its spread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Timed = Callable[[], float]
"""Do some work and return how many seconds it took."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the report."""

    name: str
    ratio: float
    low: float
    high: float
    goal: str
    note: str = ""


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def speed(name: str, ours: Timed, theirs: Timed, *, rounds: int, goal: str, note: str = "") -> Result:
    """Compare speeds: 2 means that ours takes half of their time."""
    return compare(name, theirs, ours, rounds=rounds, goal=goal, note=note)


def compare(name: str, over: Timed, under: Timed, *, rounds: int, goal: str, note: str = "") -> Result:
    """Divide the time of one side by the time of the other, round by round."""
    times = interleaved({"over": over, "under": under}, rounds)
    return ratio(name, times["over"], times["under"], goal, note)


def interleaved(sides: Mapping[str, Timed], rounds: int) -> dict[str, list[float]]:
    """Time several sides in turns; return the seconds that each took, round by round."""
    names = list(sides)
    times: dict[str, list[float]] = {name: [] for name in names}
    for side in sides.values():
        side()  # the first call pays for what later ones find ready
    for number in range(rounds):
        # Each side is first in its turn, so that none profits from its place.
        begin = number % len(names)
        for name in names[begin:] + names[:begin]:
            times[name].append(sides[name]())
    return times


def ratio(name: str, over: Sequence[float], under: Sequence[float], goal: str, note: str = "") -> Result:
    """Divide the times of one side by those of the other, round by round."""
    return summary(name, [above / below for above, below in zip(over, under, strict=True)], goal, note)


def summary(name: str, ratios: Sequence[float], goal: str, note: str = "") -> Result:
    """Reduce the ratios of the rounds to the median and the quartiles."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return Result(name, middle, low, high, goal, note)
