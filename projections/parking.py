"""Streams that are set aside: what cannot be handled waits, with all that follows in its stream.

The others go on. Nothing is left out for good: from the record where it was set aside a stream is handled
again, in order, up to where the cursor stands, and then it is one of the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from ledger.stores.base import StoredRow
from ledger.stores.builds import Parked
from projections.handling import words

MOST_PARKED = 1_000
"""How many streams a build sets aside. At the next one it stops: that is no matter of single records."""

LOOK_SECONDS = 0.2
"""How often a worker looks whether somebody has said that streams can be handled now."""


class Aside:
    """The streams that a build has set aside, as its worker knows them."""

    def __init__(self, parked: Iterable[Parked]) -> None:
        self._parked = {one.run: one for one in parked}
        self._again: dict[str, None] = {}
        self.look(self._parked.values())

    @property
    def is_full(self) -> bool:
        """Whether no further stream is set aside."""
        return len(self._parked) >= MOST_PARKED

    @property
    def is_due(self) -> bool:
        """Whether to look at what is stored of them."""
        return bool(self._parked) and time.monotonic() - self._looked_at >= LOOK_SECONDS

    def divide(self, rows: Sequence[StoredRow]) -> tuple[Sequence[StoredRow], dict[str, Parked | None]]:
        """Return the rows of other streams, and what becomes of those that are set aside."""
        if not self._parked:
            return rows, {}
        others: list[StoredRow] = []
        waiting: dict[str, int] = {}
        for row in rows:
            if row.stream in self._parked:
                waiting[row.stream] = waiting.get(row.stream, 0) + 1
            else:
                others.append(row)
        return others, {run: self._more(run, count) for run, count in waiting.items()}

    def keep(self, changes: Mapping[str, Parked | None]) -> None:
        """Note what was stored."""
        for run, parked in changes.items():
            if parked is None:
                self._parked.pop(run, None)
                self._again.pop(run, None)
            else:
                self._parked[run] = parked

    def look(self, stored: Iterable[Parked]) -> None:
        """Note what somebody has said since."""
        self._looked_at = time.monotonic()
        self._again.update(dict.fromkeys(one.run for one in stored if one.again and one.run in self._parked))

    def next(self) -> Parked | None:
        """Return a stream that is to be tried again."""
        return next((self._parked[run] for run in self._again), None)

    def tried(self, run: str) -> None:
        """Note that a stream cannot be handled yet."""
        self._again.pop(run, None)

    def _more(self, run: str, count: int) -> Parked:
        one = self._parked[run]
        return one._replace(events=one.events + count, again=True)


def set_aside(row: StoredRow, error: Exception | None, events: int = 1) -> Parked:
    """Describe a stream that is set aside from a record on."""
    return Parked(row.stream, row.gid, row.position, words(error), events)
