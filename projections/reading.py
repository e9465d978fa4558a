"""Reading the records of a tenant in pages, for several projections at once.

Projections that stand at the same place, as all do that follow live, share what is read and decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.stores.base import StoredRow
from ledger.stores.read_models import Mark
from projections.handling import Decoder

PAGE = 500
"""Records of a page, where nothing else was asked for."""

PAGE_BYTES = 4 * 1024 * 1024
"""Bytes of records in a page, apart from the first of them."""

_FIRST = 64


class Read(NamedTuple):
    """A page of records behind a place."""

    rows: Sequence[StoredRow]
    reached: Mark | None
    """The last of them."""
    seen: int
    """Nothing of the tenant is left out up to here."""
    full: bool
    """There may be more at once."""


class Reader:
    """Reads the records of one tenant."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._asked: tuple[int, int] | None = None
        self._last: Read | None = None
        self.decode = Decoder()
        """What turns its rows into records, once for all projections."""

    def page(self, after: int, limit: int) -> Read:
        """Read at most `limit` records behind a global position; what was read last is not read again."""
        if self._last is not None and self._asked == (after, limit) and self._last.full:
            return self._last
        store = self._edge.store
        # Asked first: what is below this end and not in the page that is read now is never going to be.
        end = store.end()
        rows = store.tail(after=after, limit=limit, tenant=self._edge.tenant)
        full = len(rows) == limit
        last = rows[-1] if rows else None
        mark = None if last is None else Mark(last.gid, last.stream, last.position, last.hash)
        reached = after if last is None else last.gid
        read = Read(rows, mark, reached if full else max(reached, end), full)
        self._asked, self._last = (after, limit), read
        return read


class PageSize:
    """How many records to read at once: as many as fit the bytes, by what the last ones took."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self.now = min(most, _FIRST)

    def fit(self, rows: Sequence[StoredRow]) -> int:
        """Return how many of these to handle together: one at least."""
        size = 0
        for count, row in enumerate(rows):
            size += len(row.record)
            if count and size > self._most_bytes:
                return count
        return len(rows)

    def learn(self, rows: Sequence[StoredRow]) -> None:
        """Choose the size of the next page after one that was handled."""
        if rows:
            average = sum(len(row.record) for row in rows) // len(rows)
            self.now = max(1, min(self._most, 2 * self.now, self._most_bytes // max(average, 1)))

    def narrow(self, count: int) -> None:
        """Read fewer records at once: something in the last page could not be handled."""
        self.now = max(1, count)
