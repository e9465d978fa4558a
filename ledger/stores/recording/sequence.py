"""The application sequence of a recorder: its share of the ledger's global order.

Notification ids are global positions: rising, with gaps where the share of others is. A page says how far it
read, not only what it found, so that a follower gets past what is not for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from eventsourcing.persistence import Notification

from ledger.stores.base import FullStore, StoredRow

PAGE = 500


class Page(NamedTuple):
    """A stretch of the sequence."""

    notifications: list[Notification]
    reached: int
    """Nothing up to this id is left out but what was not asked for."""
    at_end: bool
    """There was nothing more when it was read."""


class ApplicationSequence:
    """What a tenant's streams hold of one kind, in the global order."""

    def __init__(
        self,
        store: FullStore,
        tenant: str,
        holds: Callable[[str], bool],
        notification: Callable[[StoredRow], Notification],
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._holds = holds
        """Tells whether a stream belongs to the sequence."""
        self._notification = notification

    def page(self, after: int, topics: Collection[str] = (), *, size: int = PAGE) -> Page:
        """Read `size` records of the tenant behind an id, and keep those of the sequence and the topics."""
        end = self._store.end()
        rows = self._store.tail(after=after, limit=size, tenant=self._tenant)
        found = [self._notification(row) for row in rows if self._holds(row.stream)]
        if topics:
            found = [notification for notification in found if notification.topic in topics]
        reached = rows[-1].gid if rows else after
        if len(rows) == size:
            return Page(found, reached, at_end=False)
        return Page(found, max(reached, end), at_end=True)

    def select(
        self, after: int, upto: int | None, limit: int, topics: Collection[str] = ()
    ) -> list[Notification]:
        """Read the first `limit` notifications with after < id ≤ upto."""
        found: list[Notification] = []
        size = min(max(limit, 1), PAGE)
        while len(found) < limit and (upto is None or after < upto):
            page = self.page(after, topics, size=size)
            found += page.notifications
            after = page.reached
            if page.at_end:
                break
            # Few of the records may be for this sequence: read more of them at once from now on.
            size = min(2 * size, PAGE)
        if upto is not None:
            found = [notification for notification in found if notification.id <= upto]
        return found[:limit]

    def last(self) -> int | None:
        """Find the highest notification id, looking back from the end in ever longer strides."""
        if not self._store.heads(self._tenant, limit=1):
            return None
        after = self._store.end()
        stride = 1
        while after > 0:
            after = max(after - stride, 0)
            last = self._last_behind(after)
            if last is not None:
                return last
            stride *= 8
        return None

    def wait(self, after: int, timeout: float) -> None:
        """Wait for a record behind an id, whosever it is, at most `timeout` seconds."""
        self._store.wait(after, timeout)

    def _last_behind(self, after: int) -> int | None:
        last = None
        while True:
            rows = self._store.tail(after=after, limit=PAGE, tenant=self._tenant)
            last = next((row.gid for row in reversed(rows) if self._holds(row.stream)), last)
            if len(rows) < PAGE:
                return last
            after = rows[-1].gid
