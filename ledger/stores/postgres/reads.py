"""Where followers and listings read: on a replica, unless it is behind what this store has written or shown.

A replica shows what its primary had committed a moment ago. Whatever is decided rests on the primary, and so
does whatever comes before a replica has caught up: the first read after a write goes to the primary and notes
how far its log had got; the replica is asked again once it has replayed that far.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import Any

from ledger.errors import StoreBusy, StoreUnavailable
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.session import Session

log = logging.getLogger("ledger")

REST_SECONDS = 5.0
"""How long a replica that failed is left alone."""


class Reads:
    """Reads on a replica where there is one, and never sees less than it has seen before."""

    def __init__(self, primary: Pool, replica: Pool | None) -> None:
        self._primary = primary
        self._replica = replica
        self._lock = Lock()
        self._write = object()
        """Stands for the last write of this store."""
        self._noted = self._write, 0
        """Which write a read on the primary came after, and how far the log had got by then."""
        self._rests_until = 0.0
        self._told: object = None
        """The reason that was logged for reading nothing on the replica; None once it has answered."""

    def wrote(self) -> None:
        """Note that this store has written, or was told of what others have."""
        self._write = object()

    def fetch(self, name: str, *values: object, marks: bool = False) -> list[Any]:
        """Run a statement by name; with `marks`, no later read sees less than this one did."""
        if self._replica is None:
            return self._primary.use(lambda session: session.fetch(name, *values))
        write = self._write
        noted, position = self._noted
        if noted is write and time.monotonic() >= self._rests_until:
            found = self._fetch_on_replica(self._replica, write, position, marks, name, values)
            if found is not None:
                return found
        return self._fetch_on_primary(write, name, values)

    def _fetch_on_replica(
        self,
        replica: Pool,
        write: object,
        position: int,
        marks: bool,
        name: str,
        values: tuple[object, ...],
    ) -> list[Any] | None:
        """Read on the replica; None where it is behind a position in the log, or away."""

        def step(session: Session) -> tuple[list[Any], int] | None:
            if session.replayed < position:
                session.replayed = session.fetch("replayed")[0][0]
                if session.replayed < position:
                    return None
            rows = session.fetch(name, *values)
            if marks:
                session.replayed = session.fetch("replayed")[0][0]
            return rows, session.replayed

        try:
            found = replica.use(step)
        except StoreUnavailable as error:
            self._rests_until = time.monotonic() + REST_SECONDS
            self._tell(error)
            return None
        except StoreBusy:
            # All its connections are in use, or what was read had to make way for what is replayed.
            return None
        if found is None:
            return None
        self._told = None
        rows, replayed = found
        if marks:
            self._note(write, replayed)
        return rows

    def _tell(self, error: StoreUnavailable) -> None:
        """Log once why the replica is of no use, so that one that never was is not paid for in vain."""
        with self._lock:
            reason = error.data["reason"]
            told, self._told = self._told, reason
        if reason not in {told, "closed"}:
            log.warning("the primary answers for the replica: %s", error)

    def _fetch_on_primary(self, write: object, name: str, values: tuple[object, ...]) -> list[Any]:
        def step(session: Session) -> tuple[list[Any], int]:
            rows = session.fetch(name, *values)
            return rows, session.fetch("log_position")[0][0]

        rows, position = self._primary.use(step)
        self._note(write, position)
        return rows

    def _note(self, write: object, position: int) -> None:
        with self._lock:
            # What was read before the last write says nothing about it.
            if write is self._write:
                self._noted = write, max(position, self._noted[1])
