"""Following the global order: a page at a time, each record exactly once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.canonical import invalid
from ledger.errors import LedgerError, StoreUnavailable
from ledger.record import Record

PAGE = 500
"""Records of a page."""

WAIT_SECONDS = 1.0
"""How long a follower waits before it looks whether the ledger was closed."""


class Followed(NamedTuple):
    """A page of the global order."""

    records: list[Record]
    after: int
    """Where the next page begins: behind what was read, also of other tenants."""
    full: bool
    """There may be more at once."""
    broken: LedgerError | None
    """What is wrong with the record behind these; told after they were dealt with."""


def begin(edge: Edge, after: int) -> None:
    """Make sure that a follower may begin at a place.

    Raises:
        InvalidInput: the place lies behind the end. It was told by another ledger, or by a copy of this one
            that went further; what is appended from now on would be passed over up to there.
    """
    if type(after) is not int:
        raise invalid("after", f"a global position is a whole number, not {after!r:.50}")
    if after < 0:
        raise invalid("after", "global positions are above 0; 0 begins at the first record")
    if after > 0 and after > (end := edge.store.end(newest=True)):
        reason = f"the ledger ends at {end}, so {after} was told by another one, or before a restore"
        raise invalid("after", reason)


def page(edge: Edge, after: int) -> Followed:
    """Read what follows a place, at most `PAGE` records."""
    # Asked first: what is below this end and not in the page that is read now is never going to be.
    end = edge.store.end()
    rows = edge.store.tail(after=after, limit=PAGE, tenant=edge.tenant)
    full = len(rows) == PAGE
    reached = rows[-1].gid if rows else after
    records: list[Record] = []
    broken: LedgerError | None = None
    try:
        records.extend(map(decoded, rows))
    except LedgerError as error:
        broken = error
    return Followed(records, reached if full else max(reached, end), full, broken)


def follow(edge: Edge, after: int, *, live: bool, idle_seconds: float | None) -> Iterator[Record]:
    """Yield the global order from a place on, and with `live` what is appended meanwhile."""
    patience = Patience(idle_seconds)
    while True:
        try:
            found = page(edge, after)
        except StoreUnavailable as error:
            if live and error.data.get("reason") == "closed":
                return
            raise
        yield from found.records
        if found.broken is not None:
            raise found.broken
        after = found.after
        if found.records:
            patience.renew()
        if not found.full:
            if not live or (wait := patience.left()) <= 0:
                return
            edge.store.wait(after, wait)


class Patience:
    """How long a live follower still waits for more."""

    def __init__(self, idle_seconds: float | None) -> None:
        self._idle_seconds = idle_seconds
        self.renew()

    def renew(self) -> None:
        """Begin to count anew: something came."""
        self._since = time.monotonic()

    def left(self) -> float:
        """Return for how many seconds to wait now; nothing or less when it is over."""
        if self._idle_seconds is None:
            return WAIT_SECONDS
        return min(WAIT_SECONDS, self._idle_seconds - (time.monotonic() - self._since))
