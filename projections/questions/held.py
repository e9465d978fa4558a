"""What runs held under the id of a constraint, along their positions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from projections.questions.base import Asked, Row

_RUNS = 500


class Words(NamedTuple):
    """What an acceptance says."""

    text: str
    rule: str | None


class Held:
    """Which words were in force under an id of a run as it stood before a position."""

    def __init__(self, asked: Asked, runs: Iterable[str], id: str | None = None) -> None:
        """Read it for some runs; `id` reads that of one constraint only."""
        self._lives: dict[tuple[str, str], list[tuple[int, Words | None]]] = {}
        wanted = sorted(set(runs))
        also = "" if id is None else " AND a.id = :id"
        accepted = f"""
            SELECT a.run, a.id, a.position, a.text, a.rule FROM {{constraints.acceptances}} AS a
            WHERE a.run IN :runs{also}
        """
        withdrawn = f"""
            SELECT a.run, a.id, a.position FROM {{constraints.withdrawals}} AS a WHERE a.run IN :runs{also}
        """
        for first in range(0, len(wanted), _RUNS):
            some = tuple(wanted[first : first + _RUNS])
            for run, name, position, text, rule in asked.select(accepted, runs=some, id=id):
                self._lives.setdefault((run, name), []).append((position, Words(text, rule)))
            for run, name, position in asked.select(withdrawn, runs=some, id=id):
                self._lives.setdefault((run, name), []).append((position, None))
        for life in self._lives.values():
            life.sort(key=lambda one: one[0])

    def knows(self, run: str, id: str) -> bool:
        """Tell whether the run ever accepted or withdrew it."""
        return (run, id) in self._lives

    def before(self, run: str, id: str, position: int) -> Words | None:
        """Return the words that were in force before a position; None: none were."""
        life = self._lives.get((run, id), [])
        place = bisect_left(life, position, key=lambda one: one[0])
        return life[place - 1][1] if place else None

    def told(self, run: str, id: str, position: int) -> Row:
        """Return whether something was in force then, as 1 or 0, and its words."""
        words = self.before(run, id, position)
        return (0, None) if words is None else (1, words.text)
