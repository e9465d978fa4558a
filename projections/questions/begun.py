"""When effects of runs were begun: what ran before and after something else.

An attempt was begun where its start stands. Of an imported effect, whose start the ledger was not there to
record, it is where its intent stands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from projections.questions.base import Asked

_RUNS = 500

_INTENTS = """
    SELECT i.run, i.position, i.gid, i.at, i.key, i.tool, i.step, i.witnessed FROM {effects.intents} AS i
    WHERE i.run IN :runs
"""
# COALESCE keeps SQLite, which knows no statistics, from looking at all starts there ever were.
_STARTS = """
    SELECT s.run, s.position, s.gid, s.at, s.key, s.attempt FROM {effects.steps} AS s
    WHERE s.run IN :runs AND COALESCE(s.what, '') = 'started'
"""


class Attempt(NamedTuple):
    """An attempt at an effect that was begun."""

    gid: int
    position: int
    at: str
    key: str
    attempt: int
    tool: str | None
    """None: nobody recorded what was intended under the key in this run."""
    step: str | None


class Begun:
    """The attempts of one run, in their order."""

    def __init__(self, attempts: Iterable[Attempt] = ()) -> None:
        self.all: Sequence[Attempt] = sorted(attempts)
        self._gids = [one.gid for one in self.all]
        self._positions = [one.position for one in self.all]
        self._effects = _effects_from(self.all)

    def after(self, gid: int) -> tuple[int, Attempt | None]:
        """Count the effects of which an attempt was begun behind a global position, and return the first."""
        place = bisect_right(self._gids, gid)
        return self._effects[place], self.all[place] if place < len(self.all) else None

    def before(self, position: int) -> Sequence[Attempt]:
        """Return those that were begun before a position of the run."""
        return self.all[: bisect_left(self._positions, position)]


def _effects_from(attempts: Sequence[Attempt]) -> list[int]:
    """Count the different effects from each place on; one more place stands for the end."""
    counts, seen = [0], set[str]()
    for one in reversed(attempts):
        seen.add(one.key)
        counts.append(len(seen))
    return counts[::-1]


def begun_in(asked: Asked, runs: Iterable[str]) -> Mapping[str, Begun]:
    """Read when effects of some runs were begun; every one of the runs has its own."""
    wanted = sorted(set(runs))
    found: dict[str, Begun] = {}
    for first in range(0, len(wanted), _RUNS):
        some = tuple(wanted[first : first + _RUNS])
        lives: dict[str, list[tuple[object, ...]]] = {run: [] for run in some}
        for row in (*asked.select(_INTENTS, runs=some), *asked.select(_STARTS, runs=some)):
            lives[row[0]].append(row[1:])
        found.update((run, Begun(_attempts(rows))) for run, rows in lives.items())
    return found


def _attempts(rows: list[tuple[object, ...]]) -> Iterable[Attempt]:
    """Put each start beside the intent before it; an unwitnessed intent without a start counts itself."""
    known: dict[object, tuple[object, object]] = {}
    unwitnessed: dict[object, Attempt] = {}
    for row in sorted(rows):
        position, gid, at, key, *rest = row
        if len(rest) == 1:
            unwitnessed.pop(key, None)
            yield Attempt(gid, position, at, key, rest[0], *known.get(key, (None, None)))  # type: ignore[arg-type]
        else:
            tool, step, witnessed = rest
            known[key] = tool, step
            earlier = unwitnessed.pop(key, None)
            if earlier is not None:
                yield earlier
            if not witnessed:
                unwitnessed[key] = Attempt(gid, position, at, key, 1, tool, step)  # type: ignore[arg-type]
    yield from unwitnessed.values()
