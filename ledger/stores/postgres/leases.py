"""Leases on PostgreSQL: renewed beside the appends, and judged by the server's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic

from ledger.stores.leases import Lease, checked
from ledger.stores.postgres.clock import measure
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.session import Session


class Leases:
    """See `ledger.stores.leases.Leased`."""

    def __init__(self, readers: Pool, side: Pool) -> None:
        self._readers = readers
        self._side = side

    def renew(
        self,
        tenant: str,
        key: bytes,
        attempt: int,
        *,
        worker: str,
        first_until: datetime,
        until_seconds: float,
        now: datetime | None,
        progress: str | None,
    ) -> datetime | None:
        first_until, now = checked(attempt, first_until, until_seconds, now)
        place = tenant, key, attempt
        values = *place, worker, first_until, float(until_seconds), now, progress

        def step(session: Session) -> datetime | None:
            began = monotonic()
            found = session.fetch("renew_lease", *values)
            if not found:
                return None
            until, left_seconds = found[0]
            # Until the commit others saw the earlier end. If it has passed since the server looked at it,
            # they may rely on that, whatever was stored.
            if now is None and monotonic() - began >= left_seconds:
                return None
            end: datetime = until.astimezone(UTC)
            return end

        return self._side.use(step)

    def lease(self, tenant: str, key: bytes, attempt: int) -> Lease | None:
        found = self._readers.use(lambda session: session.fetch("lease", tenant, key, attempt))
        if not found:
            return None
        worker, until, progress = found[0]
        return Lease(worker, until.astimezone(UTC), progress)

    def release(self, tenant: str, key: bytes) -> None:
        self._side.use(lambda session: session.execute("release_leases", tenant, key))

    def offset(self) -> timedelta:
        """Return how far the server's clock is ahead, as it was measured on a connection of this store."""

        def step(session: Session) -> timedelta:
            known = session.offset
            if known is None or not known.holds():
                known = session.offset = measure(lambda: session.fetch("clock")[0][0])
            return known.ahead

        return self._readers.use(step)
