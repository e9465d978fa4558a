"""How far a notifier has told: a cursor in the ledger's database, that one at a time holds."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from ledger.application.edge import Edge
from ledger.canonical import invalid
from ledger.errors import LeaseLost, StoreBusy, StoreUnavailable
from ledger.stores.base import StoredRow
from ledger.stores.read_models import Advance, Cursor, Mark, Model, Reached, ReadModels
from projections.cursors import hash_at, is_ahead, is_seen
from projections.errors import ProjectionAhead
from projections.handling import time_of
from projections.history import find_counted

_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
_PREFIX = "notify_"


class Place:
    """The place of one notifier. It keeps no rows: it is a projection whose result is that people know.

    Args:
        edge: the ledger of a tenant.
        name: of the notifier.
        holder: who works here, as no other at work is called.
        seconds: after which time without a sign of life another may take over.

    Raises:
        InvalidInput: it is no name.
    """

    def __init__(self, edge: Edge, name: str, holder: str, seconds: float) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise invalid("name", f"{name!r:.50} is no name: lower-case letters, digits and _, at most 31")
        self.model = Model(_PREFIX + name, 1, ())
        self._edge = edge
        self._holder = holder
        self._seconds = seconds
        self._held: Cursor | None = None
        self._stored = 0
        """`gid` of what the stored cursor says."""
        self._renewed_at = 0.0

    @property
    def is_held(self) -> bool:
        """Whether this one tells, and no other."""
        return self._held is not None

    @property
    def position(self) -> int:
        """Global position behind which to go on."""
        assert self._held is not None
        return self._held.reached.position

    def take(self) -> bool:
        """Begin to tell, or stand by while another does.

        Raises:
            ProjectionAhead: what was told of last is not in this ledger.
        """
        found = self._models.take(
            self._edge.tenant, self.model, holder=self._holder, seconds=self._seconds, now=self._now()
        )
        if found is None:
            return False
        reached = found.reached
        self._held, self._stored = found, reached.gid
        if is_ahead(self._edge, found):
            self.release()
            raise ProjectionAhead(
                f"notifier {self.model.projection.removeprefix(_PREFIX)!r} has told of global position "
                f"{reached.gid}, which is not in this ledger: it was restored from a backup; begin anew, and "
                "what still waits is told once more: intent-ledger notify --anew",
                projection=self.model.projection,
                version=1,
                gid=reached.gid,
                run="" if reached.mark is None else reached.mark.run,
                position=0 if reached.mark is None else reached.mark.position,
            )
        if not is_seen(self._edge, reached):
            self._held = found._replace(reached=reached._replace(seen=reached.gid, seen_hash=None))
        self._renewed_at = time.monotonic()
        return True

    def told(self, rows: Sequence[StoredRow]) -> None:
        """Store that everything up to the last of these records was told; they follow on what was stored.

        Raises:
            LeaseLost: another has taken over.
        """
        held = self._held
        assert held is not None
        self._store(held, self._after(held.reached, rows, None, whole=False))

    def passed(self, rows: Sequence[StoredRow], *, seen: int | None = None, whole: bool) -> None:
        """Store that there is nothing to tell in records, nor behind them up to `seen`.

        `whole`: it has caught up with the ledger.

        Raises:
            LeaseLost: another has taken over.
        """
        held = self._held
        assert held is not None
        reached = self._after(held.reached, rows, seen, whole=whole)
        moved = reached.gid != held.reached.gid or reached.built != held.reached.built
        if moved or self._is_due():
            self._store(held, reached)
        else:
            # Where only records of others were passed, it is not worth a write each time.
            self._held = held._replace(reached=reached)

    def renew(self) -> None:
        """Go on holding it, where that is due.

        Raises:
            LeaseLost: another has taken over.
        """
        held = self._held
        if held is not None and self._is_due():
            self._store(held, held.reached)

    def has_told(self, target: int) -> bool:
        """Tell whether everything up to a global position was told, by whoever it was."""
        found = self._held or find_counted(self._edge, self.model)
        return target <= 0 or (found is not None and found.reached.position >= target)

    def held_by(self) -> Cursor | None:
        """Return the place as another holds it; None: nobody does."""
        found = find_counted(self._edge, self.model)
        return None if found is None or found.holder is None or found.until is None else found

    def release(self) -> None:
        """Let another begin at once."""
        held, self._held = self._held, None
        if held is not None:
            # Else whoever comes next waits for the end of the lease.
            with suppress(LeaseLost, StoreUnavailable, StoreBusy):
                self._models.release(self._edge.tenant, self.model, held.fence)

    def lose(self) -> None:
        """Forget that it was held: another has it, or what was stored is not known."""
        self._held = None

    def forget(self) -> None:
        """Begin anew: what still waits is told once more."""
        self._models.forget(self._edge.tenant, self.model)

    # --- the store -------------------------------------------------------------------------------

    def _after(self, old: Reached, rows: Sequence[StoredRow], seen: int | None, *, whole: bool) -> Reached:
        mark = old.mark
        if rows:
            last = rows[-1]
            mark = Mark(last.gid, last.stream, last.position, last.hash)
        gid = 0 if mark is None else mark.gid
        return Reached(
            mark=mark,
            seen=max(gid, old.seen, seen or 0),
            seen_hash=None,
            events=old.events + len(rows),
            at=time_of(rows[-1:]) or old.at,
            built=old.built or whole,
        )

    def _store(self, held: Cursor, reached: Reached) -> None:
        if reached.seen:
            reached = reached._replace(seen_hash=hash_at(self._edge, reached.seen, reached.mark))
        page = Advance(held.fence, self._stored, reached, {}, self._seconds)
        self._models.advance(self._edge.tenant, self.model, page, now=self._now())
        self._held, self._stored = held._replace(reached=reached), reached.gid
        self._renewed_at = time.monotonic()

    def _is_due(self) -> bool:
        return time.monotonic() - self._renewed_at >= self._seconds / 3

    @property
    def _models(self) -> ReadModels:
        return self._edge.store.read_models()

    def _now(self) -> datetime | None:
        return self._edge.now() if self._edge.has_own_clock else None
