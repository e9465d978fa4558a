"""The work of one projection: take it, handle page after page, stop where a record cannot be handled.

A page is computed first and then stored in one short transaction, rows and cursor together, under the number
that this worker was given when it took the projection. Whatever goes wrong, what was computed is thrown away
and read again from the cursor that is stored.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.canonical import invalid
from ledger.errors import InvalidInput, LeaseLost, LedgerError, StoreBusy, StoreUnavailable
from ledger.stores.base import StoredRow
from ledger.stores.builds import Build, Parked
from ledger.stores.read_model_sql import all_columns
from ledger.stores.read_models import (
    Advance,
    Changes,
    Cursor,
    Look,
    Mark,
    Reached,
    ReadModels,
    Stop,
)
from projections.base import Projection
from projections.cursors import again, changed, check_mark, hash_at, is_seen, stop_error
from projections.errors import ProjectionStopped
from projections.handling import Decoded, Hands, Here, stored_rows, words
from projections.history import counted, find_counted, is_lost
from projections.parking import Aside, set_aside
from projections.reading import PageSize, Read, Reader
from projections.serving import find_cursor, find_served, slot_of

TRY_SECONDS = 0.2
"""How soon who stands by looks again whether it may take over."""
LARGE = 1_000
"""From so many records on a database is to learn how large tables are once they are built: until it knows,
questions are planned as if they were empty."""
NOTE_SECONDS = 0.5
"""How often a cursor that only gets past records of other tenants is stored."""


class Manner(NamedTuple):
    """How a runner works."""

    holder: str
    page: int
    page_bytes: int
    lease_seconds: float
    park: bool = False
    """Set streams aside also where the projection would stop."""


class Work:
    """One projection as one runner works on it: on a build, or on the one that is served of its version."""

    def __init__(
        self,
        projection: Projection,
        edge: Edge,
        reader: Reader,
        manner: Manner,
        *,
        build: Build | None = None,
        hands: Hands | None = None,
    ) -> None:
        self.projection = projection
        self.model = projection.model if build is None else projection.model._replace(slot=build.slot)
        """The build that was worked on last."""
        self.error: LedgerError | None = None
        """Why it is not worked on any more."""
        self._edge = edge
        self._reader = reader
        self._manner = manner
        self._follows = build is None
        self._parks = manner.park or projection.on_poison == "park"
        if self._parks and not projection.by_run:
            raise invalid("park", f"rows of {projection.name} come from several streams: none is set aside")
        self._size = PageSize(manner.page, manner.page_bytes)
        self._replay_size = PageSize(manner.page, manner.page_bytes)
        self._hands = hands or Here(projection, stored_rows(edge), reader.decode)
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
            return self._go_on()
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
            return self._held.reached.position >= target and self._held.aside.next() is None
        found = self._cursor()
        return found is not None and (found.reached.stop is not None or found.reached.position >= target)

    def is_served(self) -> bool:
        """Tell whether the build is read, and was whole once; or stands at a record, or cannot go on."""
        if self.error is not None:
            return True
        served = find_served(self._models.served(self._edge.tenant), self.model)
        is_mine = served is not None and served.build == self.model.build
        if self._held is not None:
            return is_mine and self._held.reached.built
        found = self._cursor()
        return found is not None and (found.reached.stop is not None or (is_mine and found.reached.built))

    def stopped(self) -> ProjectionStopped | None:
        """Return the error of a projection that stands at a record it cannot handle."""
        found = None if self._held is not None else self._cursor()
        return None if found is None else stop_error(found)

    def close(self) -> None:
        """Store how far it has come, and let others work on it at once."""
        held, self._held = self._held, None
        # A runner that is run once more need not wait for itself.
        self._try_at = 0.0
        if held is None:
            return
        try:
            if held.is_unstored:
                self._store(held, held.reached, {})
            self._models.release(self._edge.tenant, self.model, held.fence)
        except (LeaseLost, StoreUnavailable, StoreBusy):
            # Whoever comes next waits for the end of the lease, and reads a little once more.
            return

    # --- beginning -------------------------------------------------------------------------------

    def _begin(self) -> bool:
        if time.monotonic() < self._try_at:
            return False
        self._try_at = time.monotonic() + TRY_SECONDS
        models, tenant = self._models, self._edge.tenant
        cursors = models.cursors(tenant)
        if self._follows:
            served = find_served(models.served(tenant), self.model)
            self.model = self.model._replace(slot=slot_of(self.model, served, cursors))
        found = find_cursor(cursors, self.model)
        if found is not None and found.is_going:
            # Somebody is deleting it, or was interrupted in that.
            models.forget(tenant, self.model)
            found = None
        self._check_tables(found)
        if (
            found is not None
            and found.reached.stop is not None
            and found.reached.stop.gid == self._stopped_at
        ):
            # It stopped there under this runner, with this code; `resume_projection` lets it try again.
            return False
        seconds = self._manner.lease_seconds
        taken = models.take(tenant, self.model, holder=self._manner.holder, seconds=seconds, now=self._now())
        if taken is None:
            return False
        if not self._follows:
            # Also where somebody has deleted it since it was chosen.
            models.plan(tenant, self.model, now=self._now())
        served = find_served(models.served(tenant), self.model)
        is_next = served is not None and served.next == self.model.build
        self._held = _Held(taken, Aside(models.parked(tenant, self.model)), is_next=is_next)
        self._hands.begin()
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
        return reached if is_seen(self._edge, reached) else reached._replace(seen=reached.gid, seen_hash=None)

    # --- a page ----------------------------------------------------------------------------------

    def _go_on(self) -> bool:
        held = self._held
        assert held is not None
        if held.aside.is_due:
            held.aside.look(self._models.parked(self._edge.tenant, self.model))
        waiting = held.aside.next()
        if waiting is not None:
            self._try_again(held, waiting)
            return True
        more = self._page(held)
        return self._serve(held) or more

    def _page(self, held: _Held) -> bool:
        read = self._reader.page(held.reached.position, self._size.now)
        all_rows = read.rows[: self._size.fit(read.rows)]
        rows, aside = held.aside.divide(all_rows)
        handled = self._hands.handled(self.model, rows)
        count, error, was_built = handled.fine, handled.error, held.reached.built
        if error is None:
            try:
                reached = self._after(held.reached, read, all_rows, handled.at or held.reached.at)
                if all_rows or held.is_due(reached, self._manner.lease_seconds):
                    self._store(held, reached, handled.changes, aside)
                else:
                    held.reached = reached
                self._learn(built=reached.built and not was_built)
            except InvalidInput as refused:
                # One of the rows; which one is found out by storing fewer at once.
                count, error = len(rows) // 2, refused
            else:
                self._size.learn(all_rows)
                return read.full or len(all_rows) < len(read.rows)
        wrong = rows[0] if len(rows) == 1 or not count else rows[count]
        before = next(number for number, row in enumerate(all_rows) if row.gid == wrong.gid)
        self._hands.begin()
        if before:
            # What comes before it is handled once more, by a handler that knows nothing of it, and kept.
            self._size.narrow(before)
            return True
        if self._parks and not held.aside.is_full:
            reached = self._after(held.reached, read, all_rows[:1], held.reached.at)
            self._store(held, reached, {}, {wrong.stream: set_aside(wrong, error)})
            return True
        self._stop(held, wrong, error)
        return False

    def _learn(self, *, built: bool) -> None:
        """Let the database know how large the tables of a build have become, before it is asked."""
        held = self._held
        if built and held is not None and held.reached.events >= LARGE:
            # It learns by itself, too, only later.
            with suppress(StoreBusy):
                self._models.analyze(self.model)

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
        stop = Stop(row.gid, row.stream, row.position, words(error))
        self._store(held, held.reached._replace(stop=stop), {})
        self._stopped_at = row.gid
        self._held = None
        self._models.release(self._edge.tenant, self.model, held.fence)

    def _try_again(self, held: _Held, parked: Parked) -> None:
        """Handle a page of a stream that was set aside, from there on, by a handler of its own."""
        size, run = self._replay_size, parked.run
        found = self._edge.store.read(self._edge.tenant, run, after=parked.position - 1, limit=size.now + 1)
        there = [row for row in found if row.gid <= held.reached.gid]
        rows = there[: min(size.fit(there), size.now)]
        handled = Here(self.projection, stored_rows(self._edge), Decoded).handled(self.model, rows)
        count, error = handled.fine, handled.error
        if error is None:
            left = None
            if len(there) > len(rows):
                ahead, events = there[len(rows)], max(parked.events - len(rows), 1)
                left = parked._replace(gid=ahead.gid, position=ahead.position, events=events, again=True)
            try:
                self._store(held, held.reached, handled.changes, {run: left})
            except InvalidInput as refused:
                count, error = len(rows) // 2, refused
            else:
                self._hands.begin()
                size.learn(rows)
                return
        if len(rows) == 1 or not count:
            self._store(held, held.reached, {}, {run: set_aside(rows[0], error, parked.events)})
            held.aside.tried(run)
        else:
            size.narrow(count)

    def _store(
        self,
        held: _Held,
        reached: Reached,
        changes: Changes,
        parked: Mapping[str, Parked | None] | None = None,
    ) -> None:
        if reached.seen_hash is None and reached.seen:
            reached = reached._replace(seen_hash=hash_at(self._edge, reached.seen, reached.mark))
        aside = parked or {}
        page = Advance(held.fence, held.stored.gid, reached, changes, self._manner.lease_seconds, aside)
        self._models.advance(self._edge.tenant, self.model, page, now=self._now())
        held.aside.keep(aside)
        held.reached = held.stored = reached
        held.stored_at = time.monotonic()

    def _serve(self, held: _Held) -> bool:
        """Put what has caught up into the place of what is served; return whether to try it again at once."""
        if not held.is_next or self._held is not held or not held.reached.built:
            return False
        if held.is_unstored:
            self._store(held, held.reached, {})
        models, tenant = self._models, self._edge.tenant
        lost = models.look(tenant, lambda look: self._says_too_much(look, held.reached.position))
        done = models.serve(tenant, self.model, fence=held.fence, even_behind=lost, now=self._now())
        held.is_next = not done
        return not done

    def _says_too_much(self, look: Look, position: int) -> bool:
        """Tell whether what is served stands in no way at this position: its cursor is of another history."""
        served = find_served(look.served(), self.model)
        old = served and find_cursor(look.cursors(), self.model, served.build)
        if not old:
            return False
        counts = counted(look, old)
        return is_lost(look, old) or (counts is not old and counts.reached.position <= position)

    # --- the store -------------------------------------------------------------------------------

    @property
    def _models(self) -> ReadModels:
        return self._edge.store.read_models()

    def _cursor(self) -> Cursor | None:
        return find_counted(self._edge, self.model)

    def _now(self) -> datetime | None:
        return self._edge.now() if self._edge.has_own_clock else None


class _Held:
    """A projection that this runner works on."""

    def __init__(self, taken: Cursor, aside: Aside, *, is_next: bool) -> None:
        self.fence = taken.fence
        self.aside = aside
        self.is_next = is_next
        """Whether it is to be served once it has caught up."""
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
