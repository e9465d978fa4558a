"""What runs held under the ids of constraints, along their positions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from projections.questions.base import Asked, Row

_RUNS = 500

# One table at a time: whatever is stored, and however a database chooses its plans, it finds the rows of some
# runs by index.
_ACCEPTED = """
    SELECT a.gid, a.run, a.position, a.at, a.id, a.text, a.rule, a.source, a.item, a.valid_from,
        a.valid_until, a.accepted_by, a.actor, a.change
    FROM {constraints.acceptances} AS a WHERE a.run IN :runs
"""
_WITHDRAWN = """
    SELECT w.gid, w.run, w.position, w.at, w.id, w.by, w.actor, w.reason
    FROM {constraints.withdrawals} AS w WHERE w.run IN :runs
"""


class Accepted(NamedTuple):
    """An acceptance."""

    gid: int
    run: str
    position: int
    at: str
    id: str
    text: str
    rule: str | None
    source: str | None
    item: str | None
    valid_from: str | None
    valid_until: str | None
    accepted_by: str
    actor: str
    change: str | None

    @property
    def words(self) -> tuple[str, str | None]:
        """What it says, to people and to machines."""
        return self.text, self.rule

    @property
    def said(self) -> tuple[str | None, ...]:
        """All that binds, and from where."""
        return (*self.words, self.source, self.item, self.valid_from, self.valid_until)


class Withdrawn(NamedTuple):
    """A withdrawal in a run, maybe of what was not in force."""

    gid: int
    run: str
    position: int
    at: str
    id: str
    by: str
    actor: str
    reason: str


Life = Sequence[Accepted | Withdrawn]
_place = attrgetter("position")


class Held:
    """What some runs accepted and withdrew, by run and id, in order."""

    def __init__(self, asked: Asked, runs: Iterable[str]) -> None:
        self.lives: dict[tuple[str, str], list[Accepted | Withdrawn]] = {}
        wanted = sorted(set(runs))
        for first in range(0, len(wanted), _RUNS):
            some = tuple(wanted[first : first + _RUNS])
            found: list[Accepted | Withdrawn] = [Accepted(*row) for row in asked.select(_ACCEPTED, runs=some)]
            found += (Withdrawn(*row) for row in asked.select(_WITHDRAWN, runs=some))
            for one in sorted(found, key=_place):
                self.lives.setdefault((one.run, one.id), []).append(one)

    def before(self, run: str, id: str, position: int) -> Accepted | None:
        """Return the acceptance that was in force before a position; None: none was."""
        life = self.lives.get((run, id), [])
        place = bisect_left(life, position, key=_place)
        last = life[place - 1] if place else None
        return last if isinstance(last, Accepted) else None

    def end_of(self, accepted: Accepted) -> Accepted | Withdrawn | None:
        """Return what ended an acceptance; None: it is in force."""
        life = self.lives[accepted.run, accepted.id]
        place = bisect_left(life, accepted.position + 1, key=_place)
        return life[place] if place < len(life) else None

    def told(self, run: str, id: str, position: int) -> Row:
        """Return whether something was in force before a position, as 1 or 0, and its words."""
        accepted = self.before(run, id, position)
        return (0, None) if accepted is None else (1, accepted.text)
