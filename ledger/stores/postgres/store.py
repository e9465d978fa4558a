"""The PostgreSQL store: any number of processes and machines, one global order, no lock that all share.

Writers of one process share commits through `Lanes`; between processes the unique places of events decide.
Readers have connections of their own and are never blocked by a writer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ledger.canonical import invalid
from ledger.errors import IntegrityError, StoreBusy, StoreUnavailable
from ledger.stores import forks
from ledger.stores.base import (
    Append,
    Appended,
    Lease,
    Link,
    Loaded,
    SnapshotRow,
    StoredRow,
    StreamHead,
    check,
    one_digest,
)
from ledger.stores.postgres.address import check_schema, parse
from ledger.stores.postgres.contents import PostgresContents
from ledger.stores.postgres.errors import named, unavailable
from ledger.stores.postgres.holders import holders_of_transaction, lock_holders
from ledger.stores.postgres.lanes import Lane, Lanes
from ledger.stores.postgres.leases import Leases
from ledger.stores.postgres.plans import check_size
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.read_models import PostgresReadModels
from ledger.stores.postgres.reads import Reads
from ledger.stores.postgres.server import Connect, Origin, Server
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.stall import Progress, Stall
from ledger.stores.postgres.storage import PostgresStorage
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from ledger.stores.postgres.wire import number, text
from ledger.stores.wakeup import Wakeup

_LAST_PLACE = 2**63 - 1
_SIDE_CONNECTIONS = 2


class PostgresStore(PostgresContents):
    """Keeps the ledger in a schema of a PostgreSQL database.

    The URL is one of libpq's; `schema` and `prepare_threshold` may stand in its query and count first, and
    `replica_url` only there.

    `busy_seconds` is how long an append waits for a lock that somebody holds, and any call for a server that
    is away. `poll_seconds` is how soon `wait` notices what another process appended, `stall_seconds` after
    which time it reports a transaction that holds followers back. `max_readers` connections read at most.
    Behind a pooler in transaction mode give `prepare_threshold=None`: sessions then keep neither prepared
    statements nor settings, which the role must have instead (its `lock_timeout`, `statement_timeout`).

    With `tenant` it is for that tenant alone, and refused to a role to which it is not open.

    With `replica_url`, the URL of one streaming replica, followers, listings and what stood at an earlier
    position are read there; user, password and database are those of `url` where it names none. What decides
    is read on the primary, and so is everything else until the replica shows what this store has written and
    shown before: no read sees less than an earlier one. `end` is how far the replica is.

    Raises:
        InvalidInput: the address is malformed, or no connection is left to read with.
        StoreUnavailable: the server cannot be reached or used; `reason` says why, as a stable word.
        SchemaMismatch: a newer program has migrated it.
        UnsafeStore: an acknowledged append could be lost there, and `unsafe` is not set.
    """

    def __init__(  # noqa: PLR0913 - each is an option
        self,
        url: str,
        *,
        schema: str = DEFAULT_SCHEMA,
        create: bool = True,
        unsafe: bool = False,
        busy_seconds: float = 10.0,
        poll_seconds: float = 0.05,
        stall_seconds: float = 30.0,
        prepare_threshold: int | None = 0,
        max_readers: int = 8,
        max_waiting: int = 8192,
        tenant: str | None = None,
    ) -> None:
        if max_readers < 1:
            raise invalid("max_readers", "a store reads on at least one connection")
        address = parse(url)
        self._server = Server(
            address.parameters,
            check_schema(address.options.get("schema", schema)),
            unsafe,
            busy_seconds,
            prepares=address.options.get("prepare_threshold", prepare_threshold) is not None,
            tenant=tenant,
        )
        replica = address.options.get("replica_url")
        self._replica = None if replica is None else self._server.beside(parse(replica).parameters)
        self._poll_seconds = poll_seconds
        self._stall_seconds = stall_seconds
        self._max_readers = max_readers
        self._max_waiting = max_waiting
        self._in_use = False
        self._paused: list[Pool | Lanes] = []
        self._server.prepare(create=create)
        self._origin: Origin = 0, 0
        self._start()
        if self._replica is not None:
            self._origin = self._fetch("identity")[0]
        forks.watch(self)

    def append(self, append: Append) -> Appended:
        return self.admit(append).submit(append)

    def admit(self, append: Append) -> Lane:
        check(append)
        check_size(append)
        return self._lanes.of(append)

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        return self._rows("read", tenant, stream, _within(after), _upto(upto), _upto(limit))

    def load(self, tenant: str, stream: str, fold: str, *, upto: int | None = None) -> Loaded:
        values = tenant, stream, fold, _upto(upto), _LAST_PLACE
        found: list[Any] = []
        if self._replica is not None and upto is not None:
            found = self._reads.fetch("load", *values)
            if max((position for _, position, _, _ in found), default=0) < upto:
                # The replica has not come so far, or nothing has.
                found = []
        if not found:
            found = self._fetch("load", *values)
        snapshot: SnapshotRow | None = None
        tail: list[Link] = []
        for is_snapshot, position, digest, content in found:
            if is_snapshot:
                snapshot = SnapshotRow(position, digest, fold, content)
            else:
                tail.append(Link(position, digest, content))
        # A UNION has no order of its own; sorting what is sorted costs next to nothing.
        tail.sort()
        return Loaded(snapshot, tail)

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> list[StoredRow]:
        if tenant is None:
            found = self._reads.fetch("tail", _within(after), _within(limit))
        else:
            found = self._reads.fetch("tail_of_tenant", _within(after), _within(limit), tenant)
        return list(map(StoredRow._make, found))

    def find(
        self,
        tenant: str,
        *,
        key: bytes | None = None,
        act: bytes | None = None,
        claim: bytes | None = None,
        limit: int = 100,
    ) -> list[StoredRow]:
        column, digest = one_digest(key, act, claim)
        newest_first = self._rows(f"find_{column}", tenant, digest, _within(limit))
        return newest_first[::-1]

    def find_all(self, tenant: str, *, keys: Iterable[bytes], each: int = 8) -> list[StoredRow]:
        return self._rows("find_all", tenant, list(dict.fromkeys(keys)), max(each, 1))

    def heads(self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500) -> list[StreamHead]:
        found = self._reads.fetch("stream_heads", tenant, after, prefix, _within(limit))
        return list(map(StreamHead._make, found))

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        return dict(self._fetch("blobs", tenant, list(dict.fromkeys(digests))))

    def open_head(self, tenant: str, stream: str) -> int:
        found = self._fetch("head", tenant, stream)
        if not found:

            def step(session: Session) -> list[Any]:
                session.execute("open_head", tenant, stream)
                return session.fetch("head", tenant, stream)

            found = self._side.use(step)
            self._reads.wrote()
        position: int = found[0][0]
        return position

    def source_heads(self, tenant: str) -> dict[str, int]:
        return dict(self._fetch("source_heads", tenant))

    def put_snapshot(
        self, tenant: str, stream: str, snapshot: SnapshotRow, *, keep_every: int = 1000
    ) -> None:
        position, digest, fold, state = snapshot
        values = [text(tenant), text(stream), number(position), digest, text(fold), state, number(keep_every)]
        # Every sixteenth append writes one, so it takes the short way, as appends do.
        self._side.use(lambda session: session.run("put_snapshot", values))

    def snapshots(self, tenant: str, stream: str) -> list[SnapshotRow]:
        return list(map(SnapshotRow._make, self._fetch("snapshots", tenant, stream)))

    def drop_snapshots(self, tenant: str | None = None) -> int:
        def step(session: Session) -> int:
            if tenant is None:
                found = session.fetch("drop_snapshots")
            else:
                found = session.fetch("drop_snapshots_of_tenant", tenant)
            dropped: int = found[0][0]
            return dropped

        return self._side.use(step)

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
        return self._leases.renew(
            tenant,
            key,
            attempt,
            worker=worker,
            first_until=first_until,
            until_seconds=until_seconds,
            now=now,
            progress=progress,
        )

    def lease(self, tenant: str, key: bytes, attempt: int) -> Lease | None:
        return self._leases.lease(tenant, key, attempt)

    def release(self, tenant: str, key: bytes) -> None:
        self._leases.release(tenant, key)

    def lease_offset(self) -> timedelta:
        return self._leases.offset()

    @property
    def schema(self) -> str:
        """Name of the schema it is in."""
        return self._server.schema

    def read_models(self) -> PostgresReadModels:
        return PostgresReadModels(self._readers, self._side, self._server.schema, self._server.where)

    def end(self, *, newest: bool = False) -> int:
        if newest:
            return self._progressed(self._fetch("progress")).newest
        return self._progress().end

    def wait(self, after: int, timeout: float) -> bool:
        return self._wakeup.wait(lambda: self._arrived(after), timeout)

    def describe(self) -> dict[str, str | int | bool]:
        server = self._server

        def step(session: Session) -> dict[str, str | int | bool]:
            version, _, fsync, full_page_writes, synchronous_commit, in_recovery = session.fetch("server")[0]
            return {
                "store": "postgresql",
                "url": server.where,
                "schema": session.fetch("schema_version")[0][0],
                "fsync": fsync,
                "full_page_writes": full_page_writes,
                "synchronous_commit": synchronous_commit,
                "replica": in_recovery,
                "unsafe": server.unsafe,
                "busy_seconds": str(server.busy_seconds),
                "postgresql": f"{version // 10_000}.{version % 10_000}",
            }

        return self._readers.use(step)

    def storage(self) -> PostgresStorage:
        """Return what this store can say of itself to a verification that begins now."""
        # What is listed is held against what the primary says: a replica must have come as far first.
        self._reads.wrote()
        return PostgresStorage(self._readers, self._server.schema)

    def close(self) -> None:
        self._lanes.close()
        for pool in self._pools:
            pool.close()
        self._wakeup.announce()

    def _rows(self, name: str, *values: object) -> list[StoredRow]:
        return list(map(StoredRow._make, self._fetch(name, *values)))

    def _progress(self) -> Progress:
        return self._progressed(self._reads.fetch("progress", marks=True))

    def _progressed(self, found: list[Any]) -> Progress:
        if len(found) != 1:
            raise IntegrityError(
                f"{self._server.where}: the row of `epoch`, on which the global order rests, is gone",
                reason="no_epoch",
                where=self._server.where,
            )
        return Progress._make(found[0])

    def _arrived(self, after: int) -> bool:
        """Look whether a follower has something to read, and whether somebody keeps it from coming.

        Raises:
            StoreBusy: a transaction has held followers back for `stall_seconds`; `holders` names it.
        """
        try:
            progress = self._progress()
        except StoreUnavailable as error:
            if error.data["reason"] == "closed":
                return True
            raise
        if progress.end > after:
            return True
        if self._stall.noticed(progress, time.monotonic()):
            holders = self._readers.use(lambda session: holders_of_transaction(session, progress.oldest))
            raise StoreBusy(
                f"{self._server.where}: for {self._stall_seconds:g} s followers have not been shown what was "
                f"appended, because a transaction is open: {named(holders)}; end it",
                reason="held_back",
                where=self._server.where,
                holders=holders,
            )
        return False

    # --- forks ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close every connection; they are opened again when they are needed."""
        parts: list[Pool | Lanes] = [self._lanes, *self._pools]
        self._paused = [part for part in parts if part.pause(self._server.busy_seconds)]
        self._in_use = len(self._paused) < len(parts)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        for pool in self._pools:
            pool.resume()
        if self._lanes in self._paused:
            self._lanes.resume()

    def after_fork_in_child(self) -> None:
        """Start with nothing open, or refuse to start where something was."""
        was_closed = self._readers.closed
        if self._in_use:
            # Kept for ever: closing them here would tell the server to end the parent's sessions.
            _abandoned.append((self._lanes, *self._pools))
            self._server = replace(self._server, connector=_refuse(self._server.where))
            self._replica = None
        self._start()
        if was_closed:
            self.close()

    def _start(self) -> None:
        server = self._server
        patience = server.busy_seconds
        holders = partial(lock_holders, schema=server.schema, seconds=patience / 2)
        lend = partial(Pool, patience_seconds=patience, holders=holders)
        self._readers = lend(server.reader, server.where, limit=self._max_readers)
        # Heads and snapshots are written beside the appends, not between them.
        self._side = lend(server.writer, server.where, limit=_SIDE_CONNECTIONS)
        replica = None
        if self._replica is not None:
            # Without patience: the primary can answer as well.
            where, limit = self._replica.where, self._max_readers
            beside = self._replica
            replica = Pool(lambda: beside.replica(self._origin), where, limit=limit, patience_seconds=0)
        self._pools = [pool for pool in (self._readers, self._side, replica) if pool is not None]
        self._reads = Reads(self._readers, replica)
        self._leases = Leases(self._readers, self._side)
        self._wakeup = Wakeup(self._poll_seconds)
        self._stall = Stall(self._stall_seconds)
        self._lanes = Lanes(server, self._committed, max_waiting=self._max_waiting)
        self._writer = self._lanes.writer

    def _committed(self) -> None:
        self._reads.wrote()
        self._wakeup.announce()


def _within(number: int) -> int:
    """Bring a place or a limit into what PostgreSQL counts with, where there is nothing beyond."""
    return min(max(number, 0), _LAST_PLACE)


def _upto(number: int | None) -> int:
    return _LAST_PLACE if number is None else _within(number)


_abandoned: list[tuple[Lanes | Pool, ...]] = []


def _refuse(where: str) -> Connect:
    def refuse(parameters: object) -> Any:
        raise unavailable(
            where, "forked", "the process was forked in the middle of a call: start a new one instead"
        )

    return refuse
