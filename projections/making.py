"""Making the rows of a projection once more, where nobody reads them, to compare them with what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.errors import InvalidInput
from ledger.stores.base import StoredRow
from ledger.stores.builds import Parked
from ledger.stores.read_models import Key, Model, Row
from ledger.stores.scratch import Scratch
from projections.base import Projection
from projections.handling import Decoded, Here
from projections.reading import PageSize
from projections.rows import Read


class Left(NamedTuple):
    """The first record of a stream that was left out, with all that follow in it."""

    gid: int
    position: int


class Making:
    """The rows of one projection, as they come from the records up to a place.

    Args:
        projection: whose.
        edge: the ledger.
        scratch: where the rows are.
        size: makes what says how many records are handled at once.
        decode: turns rows into records.
    """

    def __init__(
        self,
        projection: Projection,
        edge: Edge,
        scratch: Scratch,
        size: Callable[[], PageSize],
        decode: Callable[[Sequence[StoredRow]], Decoded],
    ) -> None:
        self.projection = projection
        # Rows do not depend on the slot.
        self.model = projection.model._replace(slot=0)
        self.gid = 0
        """Global position up to which records were handled, apart from those that were left out."""
        self.events = 0
        """How many there were."""
        self.error: Exception | None = None
        """Why its rows cannot be made."""
        self._edge = edge
        self._scratch = scratch
        self._size = size
        self._decode = decode
        self._hands = Here(projection, self._stored, decode)
        self._left: dict[str, Left] = {}
        scratch.begin(self.model)

    def take(self, rows: Sequence[StoredRow], upto: int, parked: Mapping[str, Parked]) -> None:
        """Handle the next records of the tenant, up to a place, without those that are set aside."""
        if self.error is not None or not rows or self.gid >= upto:
            return
        if rows[-1].gid > upto:
            rows = [row for row in rows if row.gid <= upto]
        mine = rows
        if parked or self._left:
            mine = [row for row in rows if not self._leaves(row, parked)]
        if self._handle(self._hands, mine) and rows:
            self.gid, self.events = rows[-1].gid, self.events + len(rows)

    def catch_up(self, upto: int, parked: Mapping[str, Parked]) -> None:
        """Handle what is missing up to a place, given what is set aside now."""
        if not self.fits(upto, parked):
            self._begin()
        for run, left in list(self._left.items()):
            self._take_up(run, left, upto, parked.get(run))
        if self._left:
            # What they know of these streams is not what is so now.
            self._hands.begin()
        size = self._size()
        after = self.gid
        while after < upto and self.error is None:
            found = self._edge.store.tail(after=after, limit=size.now, tenant=self._edge.tenant)
            rows = found[: size.fit(found)]
            if not rows:
                break
            self.take(rows, upto, parked)
            size.learn(rows)
            after = rows[-1].gid
        self._left = {run: left for run, left in self._left.items() if run in parked}

    def fits(self, upto: int, parked: Mapping[str, Parked]) -> bool:
        """Tell whether nothing was handled that is not to be, as where another build is read than before."""
        if self.gid > upto:
            return False
        return all(one.gid >= self._end_of(run) for run, one in parked.items())

    def page(self, table: str, *, after: Key | None, limit: int) -> list[Row]:
        """Read the rows that were made, in the order of their keys."""
        return self._scratch.page(self.model, table, after=after, limit=limit)

    def _end_of(self, run: str) -> int:
        """Return the global position before which the records of a stream were handled."""
        left = self._left.get(run)
        return self.gid + 1 if left is None else left.gid

    def _begin(self) -> None:
        self._scratch.begin(self.model)
        self._hands.begin()
        self._left.clear()
        self.gid, self.events, self.error = 0, 0, None

    def _leaves(self, row: StoredRow, parked: Mapping[str, Parked]) -> bool:
        if row.stream in self._left:
            return True
        aside = parked.get(row.stream)
        if aside is None or row.gid < aside.gid:
            return False
        self._left[row.stream] = Left(row.gid, row.position)
        return True

    def _take_up(self, run: str, left: Left, upto: int, parked: Parked | None) -> None:
        """Handle a stream from where it was left, up to where it is set aside now."""
        end = upto if parked is None else min(parked.gid - 1, upto)
        size = self._size()
        while self.error is None:
            found = self._edge.store.read(self._edge.tenant, run, after=left.position - 1, limit=size.now)
            rows = found[: size.fit(found)]
            mine = [row for row in rows if row.gid <= end]
            # By hands of its own, as whoever keeps the rows does it.
            if not mine or not self._handle(Here(self.projection, self._stored, Decoded), mine):
                break
            left = Left(mine[-1].gid + 1, mine[-1].position + 1)
            size.learn(rows)
        self._left[run] = left

    def _handle(self, hands: Here, rows: Sequence[StoredRow]) -> bool:
        handled = hands.handled(self.model, rows)
        error = handled.error
        if error is None:
            try:
                self._scratch.write(self.model, handled.changes)
            except InvalidInput as refused:
                error = refused
        if error is not None:
            self.error = error
        return error is None

    def _stored(self, model: Model) -> Read:
        def read(table: str, keys: Iterable[Key]) -> Mapping[Key, Row]:
            return self._scratch.rows(model, table, keys)

        return read
