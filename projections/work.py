"""The work of one projection: take it, handle page after page, stop where a record cannot be handled.

A page is computed first and then stored in one short transaction, rows and cursor together, under the number
that this worker was given when it took the projection. Whatever goes wrong, what was computed is thrown away
and read again from the cursor that is stored.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ledger.application.edge import Edge
from ledger.errors import InvalidInput, LeaseLost, LedgerError, StoreBusy, StoreUnavailable, UnknownEventName
from ledger.record import Record
from ledger.stores.base import StoredRow
from ledger.stores.read_model_sql import all_columns
from ledger.stores.read_models import Advance, Cursor, Key, Mark, Reached, ReadModels, Row, Stop
from projections.base import Handler, Projection
from projections.cursors import again, changed, check_mark, cursor_of, stop_error
from projections.errors import ProjectionStopped
from projections.reading import PageSize, Read, Reader
from projections.rows import Rows

TRY_SECONDS = 0.2
"""How soon who stands by looks again whether it may take over."""
NOTE_SECONDS = 0.5
"""How often a cursor that only gets past records of other tenants is stored."""

_MOST_WORDS = 500


class Work:
    """One projection as one runner works on it."""

    def __init__(
        self,
        projection: Projection,
        edge: Edge,
        reader: Reader,
        holder: str,
        size: PageSize,
        lease_seconds: float,
    ) -> None:
        self.projection = projection
        self.model = projection.model
        self.error: LedgerError | None = None
        """Why it is not worked on any more."""
        self._edge = edge
        self._reader = reader
        self._holder = holder
        self._size = size
        self._lease_seconds = lease_seconds
        self._held: _Held | None = None
        self._stopped_at: int | None = None
        self._try_at = 0.0

    @property
    def is_working(self) -> bool:
        """Whether it is held by this runner."""
        return self._held is not None

    @property
    def position(self) -> int:
        """Global position up to which everything was handled here; 0 while another works on it."""
        return 0 if self._held is None else self._held.reached.position

    @property
    def events(self) -> int:
        """How many records were handled, as far as this runner knows."""
        return 0 if self._held is None else self._held.reached.events

    def step(self) -> bool:
        """Handle a page, if this runner may; return whether there may be more at once.

        Raises:
            StoreUnavailable, StoreBusy: it is begun again from the stored cursor with the next step.
        """
        if self.error is not None:
            return False
        try:
            if self._held is None and not self._begin():
                return False
            return self._page()
        except LeaseLost:
            self._held = None
            return False
        except (StoreUnavailable, StoreBusy) as error:
            # What was stored of it is not known.
            self._held = None
            if error.retryable or error.data.get("reason") == "closed":
                raise
            self.error = error
            return False
        except LedgerError as error:
            self.error = error
            self.close()
            return False

    def is_done(self, target: int) -> bool:
        """Tell whether everything up to a global position is handled, by whoever it is, or cannot be."""
        if self.error is not None:
            return True
        if self._held is not None:
            return self._held.reached.position >= target
        found = self._cursor()
        return found is not None and (found.reached.stop is not None or found.reached.position >= target)

    def stopped(self) -> ProjectionStopped | None:
        """Return the error of a projection that stands at a record it cannot handle."""
        found = None if self._held is not None else self._cursor()
        return None if found is None else stop_error(found)

    def close(self) -> None:
        """Store how far it has come, and let others work on it at once."""
        held, self._held = self._held, None
        if held is None:
            return
        try:
            if held.is_unstored:
                self._store(held, held.reached, Rows(self.model, self._read))
            self._models.release(self._edge.tenant, self.model, held.fence)
        except (LeaseLost, StoreUnavailable, StoreBusy):
            # Whoever comes next waits for the end of the lease, and reads a little once more.
            return

    # --- beginning -------------------------------------------------------------------------------

    def _begin(self) -> bool:
        if time.monotonic() < self._try_at:
            return False
        self._try_at = time.monotonic() + TRY_SECONDS
        found = self._cursor()
        self._check_tables(found)
        if (
            found is not None
            and found.reached.stop is not None
            and found.reached.stop.gid == self._stopped_at
        ):
            # It stopped there under this runner, with this code; `resume_projection` lets it try again.
            return False
        taken = self._models.take(
            self._edge.tenant, self.model, holder=self._holder, seconds=self._lease_seconds, now=self._now()
        )
        if taken is None:
            return False
        self._held = _Held(taken, self.projection.begin())
        check_mark(self._edge, taken)
        self._held.reached = self._begun(taken.reached)
        return True

    def _check_tables(self, found: Cursor | None) -> None:
        """Make the tables, unless there were some."""
        model, there = self.model, self._models.columns(self.model)
        tables = {table.name: all_columns(table) for table in model.tables}
        other = any(tables[name] != columns for name, columns in there.items())
        if other or (found is not None and found.shape != model.shape):
            raise changed(model, "was begun with other tables than it has now: give it a new version")
        missing = tables.keys() - there.keys()
        if missing and found is not None and found.reached.events:
            handled = f"has handled {found.reached.events:,} events, and its tables are gone"
            raise changed(model, f"{handled} ({', '.join(sorted(missing))}): {again(model)}")
        if missing:
            self._models.create(model)

    def _begun(self, reached: Reached) -> Reached:
        """Return from where to go on: the far end of records of others, where that is still what it was."""
        reached = reached._replace(stop=None)
        if (
            reached.seen_hash is not None
            and self._reader.hash_at(reached.seen, reached.mark) == reached.seen_hash
        ):
            return reached
        return reached._replace(seen=reached.gid, seen_hash=None)

    # --- a page ----------------------------------------------------------------------------------

    def _page(self) -> bool:
        held = self._held
        assert held is not None
        read = self._reader.page(held.reached.position, self._size.now)
        rows = read.rows[: self._size.fit(read.rows)]
        count, at, pending, error = self._handled(held, rows)
        if error is None:
            try:
                reached = self._after(held.reached, read, rows, at)
                if rows or held.is_due(reached, self._lease_seconds):
                    self._store(held, reached, pending)
                else:
                    held.reached = reached
            except InvalidInput as refused:
                # One of the rows; which one is found out by storing fewer at once.
                count, error = len(rows) // 2, refused
            else:
                self._size.learn(rows)
                return read.full or len(rows) < len(read.rows)
        if len(rows) == 1 or not count:
            self._stop(held, rows[0], error)
            return False
        # What comes before it is handled once more, by a handler that knows nothing of it, and kept.
        self._size.narrow(count)
        held.handler = self.projection.begin()
        return True

    def _handled(
        self, held: _Held, rows: Sequence[StoredRow]
    ) -> tuple[int, datetime | None, Rows, Exception | None]:
        """Handle rows; return how many are fine, the time of the last, what to store, and what went wrong."""
        pending = Rows(self.model, self._read)
        if not rows:
            return 0, held.reached.at, pending, None
        at, done = held.reached.at, 0
        try:
            for row in rows:
                record = self._record(row)
                if record is not None:
                    at = record.at
                    if self.projection.wants_event(record.event):
                        held.handler.handle(record, pending)
                done += 1
            # Whose record it was is not known from here on: half of them are tried.
            done //= 2
            held.handler.finish(pending)
        except (StoreUnavailable, StoreBusy):
            raise
        except Exception as error:  # noqa: BLE001 - a projection's own code may raise anything
            return done, at, pending, error
        return len(rows), at, pending, None

    def _record(self, row: StoredRow) -> Record | None:
        """Decode a row; None where it is an event that is not known here and that was never wanted."""
        try:
            return self._reader.record(row)
        except UnknownEventName as error:
            if self.projection.wants_name(error.name):
                raise
            return None

    def _after(self, reached: Reached, read: Read, rows: Sequence[StoredRow], at: datetime | None) -> Reached:
        mark = reached.mark
        if rows:
            last = rows[-1]
            mark = Mark(last.gid, last.stream, last.position, last.hash)
        gid = 0 if mark is None else mark.gid
        whole = len(rows) == len(read.rows)
        seen = max(read.seen, reached.seen) if whole else gid
        return Reached(
            mark=mark,
            seen=seen,
            seen_hash=reached.seen_hash if seen == reached.seen else None,
            events=reached.events + len(rows),
            at=at,
            built=reached.built or (whole and not read.full),
        )

    def _stop(self, held: _Held, row: StoredRow, error: Exception | None) -> None:
        stop = Stop(row.gid, row.stream, row.position, _words(error))
        self._store(held, held.reached._replace(stop=stop), Rows(self.model, self._read))
        self._stopped_at = row.gid
        self._held = None
        self._models.release(self._edge.tenant, self.model, held.fence)

    def _store(self, held: _Held, reached: Reached, rows: Rows) -> None:
        if reached.seen_hash is None and reached.seen:
            reached = reached._replace(seen_hash=self._reader.hash_at(reached.seen, reached.mark))
        page = Advance(held.fence, held.stored.gid, reached, rows.changes, self._lease_seconds)
        self._models.advance(self._edge.tenant, self.model, page, now=self._now())
        held.reached = held.stored = reached
        held.stored_at = time.monotonic()

    # --- the store -------------------------------------------------------------------------------

    @property
    def _models(self) -> ReadModels:
        return self._edge.store.read_models()

    def _read(self, table: str, keys: Iterable[Key]) -> Mapping[Key, Row]:
        return self._models.rows(self._edge.tenant, self.model, table, keys)

    def _cursor(self) -> Cursor | None:
        return cursor_of(self._edge, self.model)

    def _now(self) -> datetime | None:
        return self._edge.now() if self._edge.has_own_clock else None


class _Held:
    """A projection that this runner works on."""

    def __init__(self, taken: Cursor, handler: Handler) -> None:
        self.fence = taken.fence
        self.handler = handler
        self.stored = self.reached = taken.reached
        """What the stored cursor says; how far it has come, which may be past more records of others."""
        self.stored_at = time.monotonic()

    @property
    def is_unstored(self) -> bool:
        return self.reached != self.stored

    def is_due(self, reached: Reached, lease_seconds: float) -> bool:
        """Tell whether to store that it has come past records of others, or that it is still alive."""
        idle = time.monotonic() - self.stored_at
        moved = reached.built != self.stored.built or (reached != self.stored and idle >= NOTE_SECONDS)
        return moved or idle >= lease_seconds / 3


def _words(error: Exception | None) -> str:
    """Say what went wrong, in text that every database keeps."""
    said = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return said.replace("\0", "\\0")[:_MOST_WORDS]
