"""Leases: until when a claimed attempt at an effect is taken to be under way.

The end that was granted first stands in the record, with the claim. What is kept here are renewals:
coordination between workers, and no fact, so it is a side row and no event. A row only ever moves the end of
a lease later. Where rows are lost, leases end where the record says, which is earlier: an effect may then be
taken for unknown too soon, and never for under way too long.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from ledger.canonical import invalid
from ledger.values.times import utc

LONGEST_SECONDS = 366 * 86_400.0
"""For how long a lease may be renewed at once."""


class Lease(NamedTuple):
    """What was last renewed of an attempt."""

    worker: str
    until: datetime
    """In UTC; from this moment on the lease has lapsed."""
    progress: str | None


class Leased(Protocol):
    """What a store offers to workers that hold attempts, and to those who ask whether they still do.

    A lease is judged by one clock, that of the store: PostgreSQL's own, so that workers on several machines
    agree, else the machine's. Who has another clock for everything, as a test has, gives its `now` each time.

    Who asks whether a lease has lapsed reads the clock first and the lease then: one that has lapsed by that
    time is not renewed any more. Who is told of a renewal only after the end that it knew before, as where a
    connection broke and the call was tried again, must take the lease for lost.
    """

    def renew(
        self,
        tenant: str,
        key: bytes,
        attempt: int,
        *,
        worker: str,
        first_until: datetime,
        until_seconds: float,
        now: datetime | None = None,
        progress: str | None = None,
    ) -> datetime | None:
        """Extend a lease to so many seconds from now and return where it ends, in UTC; never shorten it.

        `key` is the digest of the `key` column, `first_until` the end that stands in the record, which counts
        while nothing was renewed. `progress` is a few words on how far the work has come; None keeps the
        last. `now` is the time it is judged by; None: the clock of the store.

        None: the lease has lapsed, or the attempt is another worker's. A lapsed lease is never renewed, so
        that whoever saw it lapsed may rely on it.

        It is one atomic step. On PostgreSQL it outlives a crash; on SQLite a crash of the machine may lose
        it, and stops the worker too.

        Raises:
            InvalidInput: a time has no time zone, `until_seconds` is not above 0 and at most a year, or
                `attempt` is not from 1.
            StoreBusy, StoreUnavailable: as an append; whether it was renewed is not known.
        """

    def lease(self, tenant: str, key: bytes, attempt: int) -> Lease | None:
        """Read what was last renewed of an attempt, lapsed or not; None: nothing was, or it was released.

        Then the lease ends where the record says.
        """

    def release(self, tenant: str, key: bytes) -> None:
        """Forget what was renewed under a key, once its effect is settled and nobody asks any more.

        A release that is lost in a crash leaves a row that ends when it would have ended.
        """

    def lease_offset(self) -> timedelta:
        """Return how far the clock that leases are judged by is ahead of this process's clock in UTC.

        Zero where it is the same clock. On PostgreSQL it is measured once for each connection and anew after
        two minutes, or when this machine's clock was set. It may be off by half a round trip, which who acts
        on a lapse allows for.
        """


def checked(
    attempt: int, first_until: datetime, until_seconds: float, now: datetime | None
) -> tuple[datetime, datetime | None]:
    """Return both times in UTC.

    Raises:
        InvalidInput: see `Leased.renew`.
    """
    if attempt < 1:
        raise invalid("attempt", f"attempts are counted from 1, this is {attempt}")
    if not 0 < until_seconds <= LONGEST_SECONDS:
        raise invalid("until_seconds", f"a lease is renewed for up to {LONGEST_SECONDS:.0f} s")
    return _utc("first_until", first_until), None if now is None else _utc("now", now)


def renewed(
    held: Lease | None,
    *,
    worker: str,
    first_until: datetime,
    until_seconds: float,
    now: datetime,
    progress: str | None,
) -> Lease | None:
    """Return the lease as a renewal leaves it; None where it has lapsed or is another worker's."""
    end = first_until if held is None else held.until
    if end <= now or (held is not None and held.worker != worker):
        return None
    if progress is None and held is not None:
        progress = held.progress
    return Lease(worker, max(end, now + timedelta(seconds=until_seconds)), progress)


def _utc(name: str, moment: datetime) -> datetime:
    try:
        return utc(moment)
    except ValueError as error:
        raise invalid(name, str(error)) from error
