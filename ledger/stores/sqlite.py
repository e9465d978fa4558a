"""The SQLite store: one file, any number of threads and processes, nothing to run beside it.

Writers of one process share commits through a `Group`; between processes the file's own lock decides. Readers
have connections of their own and are never blocked by a writer.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ledger.errors import InvalidInput
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
    size,
)
from ledger.stores.commit import Group
from ledger.stores.leases import checked, renewed
from ledger.stores.scripts import queries
from ledger.stores.sqlite_contents import SQLiteContents
from ledger.stores.sqlite_errors import unavailable
from ledger.stores.sqlite_file import Connect, SQLiteFile, connect
from ledger.stores.sqlite_read_models import SQLiteReadModels
from ledger.stores.sqlite_readers import Readers
from ledger.stores.sqlite_schema import recognise
from ledger.stores.sqlite_writer import Writer
from ledger.stores.stamps import system_clock
from ledger.stores.wakeup import Wakeup
from ledger.values.times import read_time, write_time

_NO_LIMIT = -1
_SYNCHRONOUS = ("off", "normal", "full", "extra")
_LAST_PLACE = 2**63 - 1


class SQLiteStore(SQLiteContents):
    """Keeps the ledger in a SQLite file.

    `busy_seconds` is how long an append waits for another process, `poll_seconds` how soon `wait` notices
    what another process appended. A store that is open while its process forks works on in both.

    Raises:
        StoreUnavailable: the file cannot be used; `reason` says why, as a stable word.
        SchemaMismatch: a newer program has migrated it.
        UnsafeStore: an acknowledged append could be lost there, and `unsafe` is not set.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        unsafe: bool = False,
        busy_seconds: float = 10.0,
        poll_seconds: float = 0.05,
        max_waiting: int = 8192,
        connect: Connect = connect,
    ) -> None:
        if os.fspath(path) in {"", ":memory:"}:
            raise InvalidInput(
                "a SQLite store needs a file; MemoryStore needs none", path="path", reason="empty"
            )
        self._file = SQLiteFile(Path(path).absolute(), busy_seconds, unsafe, connect)
        self._poll_seconds = poll_seconds
        self._max_waiting = max_waiting
        self._sql = queries("sqlite")
        self._in_use = self._writer_paused = False
        self._file.prepare(create=create)
        self._start()
        forks.watch(self)

    @property
    def path(self) -> Path:
        """The file, absolute."""
        return self._file.path

    def append(self, append: Append) -> Appended:
        return self.admit(append).submit(append)

    def admit(self, append: Append) -> Group[Append, Appended]:
        check(append)
        return self._group

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        rows = self._readers.fetch(
            self._sql["read"],
            {
                "tenant": tenant,
                "stream": stream,
                "after": _within(after),
                "upto": _LAST_PLACE if upto is None else _within(upto),
                "limit": _NO_LIMIT if limit is None else _within(limit),
            },
        )
        return list(map(StoredRow._make, rows))

    def load(self, tenant: str, stream: str, fold: str, *, upto: int | None = None) -> Loaded:
        place: dict[str, object] = {
            "tenant": tenant,
            "stream": stream,
            "fold": fold,
            "upto": _LAST_PLACE if upto is None else _within(upto),
        }

        def step(connection: sqlite3.Connection) -> Loaded:
            found = connection.execute(self._sql["nearest_snapshot"], place).fetchone()
            snapshot = None if found is None else SnapshotRow(*found)
            place["after"] = snapshot.position if snapshot else 0
            rows = connection.execute(self._sql["read_links"], place)
            return Loaded(snapshot, list(map(Link._make, rows)))

        return self._readers.fetch_as_of_one_moment(step)

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> list[StoredRow]:
        query = self._sql["tail" if tenant is None else "tail_of_tenant"]
        place = {"after": _within(after), "limit": _within(limit), "tenant": tenant}
        return list(map(StoredRow._make, self._readers.fetch(query, place)))

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
        place = {"tenant": tenant, "digest": digest, "limit": _within(limit)}
        newest_first = self._readers.fetch(self._sql[f"find_{column}"], place)
        return list(map(StoredRow._make, reversed(newest_first)))

    def find_all(self, tenant: str, *, keys: Iterable[bytes], each: int = 8) -> list[StoredRow]:
        found = self._fetch_among("find_all", "(?), ", dict.fromkeys(keys), (tenant, max(each, 1)))
        # The gid comes first in a row.
        return sorted(map(StoredRow._make, found))

    def heads(self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500) -> list[StreamHead]:
        place = {"tenant": tenant, "after": after, "prefix": prefix, "limit": _within(limit)}
        return list(map(StreamHead._make, self._readers.fetch(self._sql["stream_heads"], place)))

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        return dict(self._fetch_among("blobs", "?, ", digests, (tenant,)))

    def open_head(self, tenant: str, stream: str) -> int:
        place = tenant, stream
        found = self._readers.fetch(self._sql["head"], place)
        if not found:

            def step(cursor: sqlite3.Cursor) -> list[tuple[int]]:
                cursor.execute(self._sql["open_head"], place)
                return cursor.execute(self._sql["head"], place).fetchall()

            found = self._writer.run(step)
        position: int = found[0][0]
        return position

    def source_heads(self, tenant: str) -> dict[str, int]:
        return dict(self._readers.fetch(self._sql["source_heads"], (tenant,)))

    def put_snapshot(
        self, tenant: str, stream: str, snapshot: SnapshotRow, *, keep_every: int = 1000
    ) -> None:
        place = {
            "tenant": tenant,
            "stream": stream,
            "position": snapshot.position,
            "hash": snapshot.hash,
            "fold": snapshot.fold,
            "state": snapshot.state,
            "keep_every": keep_every,
        }

        def step(cursor: sqlite3.Cursor) -> None:
            cursor.execute(self._sql["put_snapshot"], place)
            cursor.execute(self._sql["thin_snapshots"], place)

        self._writer.run(step, durable=False)

    def snapshots(self, tenant: str, stream: str) -> list[SnapshotRow]:
        return [SnapshotRow(*row) for row in self._readers.fetch(self._sql["snapshots"], (tenant, stream))]

    def drop_snapshots(self, tenant: str | None = None) -> int:
        def step(cursor: sqlite3.Cursor) -> int:
            if tenant is None:
                return cursor.execute(self._sql["drop_snapshots"]).rowcount
            return cursor.execute(self._sql["drop_snapshots_of_tenant"], (tenant,)).rowcount

        return self._writer.run(step)

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
        first_until, now = checked(attempt, first_until, until_seconds, now)
        place = tenant, key, attempt

        def step(cursor: sqlite3.Cursor) -> tuple[datetime, datetime] | None:
            held = _lease(cursor.execute(self._sql["lease"], place).fetchall())
            lease = renewed(
                held,
                worker=worker,
                first_until=first_until,
                until_seconds=until_seconds,
                now=system_clock() if now is None else now,
                progress=progress,
            )
            if lease is None:
                return None
            values = *place, worker, write_time(lease.until), lease.progress
            cursor.execute(self._sql["put_lease"], values)
            return first_until if held is None else held.until, lease.until

        ends = self._writer.run(step, durable=False)
        # Until the commit others saw the earlier end. If it has passed since, they may rely on that, whatever
        # was stored.
        if ends is None or (now is None and system_clock() >= ends[0]):
            return None
        return ends[1]

    def lease(self, tenant: str, key: bytes, attempt: int) -> Lease | None:
        return _lease(self._readers.fetch(self._sql["lease"], (tenant, key, attempt)))

    def release(self, tenant: str, key: bytes) -> None:
        self._writer.run(
            lambda cursor: cursor.execute(self._sql["release_leases"], (tenant, key)).rowcount, durable=False
        )

    def lease_offset(self) -> timedelta:
        return self._readers.read(lambda connection: timedelta(0))

    def read_models(self) -> SQLiteReadModels:
        return SQLiteReadModels(self._writer, self._readers)

    def end(self, *, newest: bool = False) -> int:
        gid: int = self._readers.fetch(self._sql["end"])[0][0]
        return gid

    def wait(self, after: int, timeout: float) -> bool:
        return self._wakeup.wait(lambda: self._readers.closed or self.end() > after, timeout)

    def describe(self) -> dict[str, str | int | bool]:
        path, unsafe = self._file.path, self._file.unsafe
        # A setting of the connection that writes, not of the file.
        synchronous = _SYNCHRONOUS[self._writer.synchronous()]

        def step(connection: sqlite3.Connection) -> dict[str, str | int | bool]:
            return {
                "store": "sqlite",
                "path": str(path),
                "schema": recognise(connection, path),
                "journal_mode": connection.execute("PRAGMA journal_mode").fetchone()[0],
                "synchronous": synchronous,
                "file_system": self._file.kind_of_file_system(),
                "unsafe": unsafe,
                "busy_seconds": str(self._file.busy_seconds),
                "sqlite": sqlite3.sqlite_version,
            }

        return self._readers.read(step)

    def close(self) -> None:
        self._writer.close()
        self._readers.close()
        self._wakeup.announce()

    # --- forks ---------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close every connection; they are opened again when they are needed."""
        seconds = self._file.busy_seconds
        self._writer_paused = self._writer.pause(seconds)
        self._in_use = not (self._readers.pause(seconds) and self._writer_paused)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._readers.resume()
        if self._writer_paused:
            self._writer.resume()

    def after_fork_in_child(self) -> None:
        """Start with nothing open, or refuse to start where something was."""
        if self._in_use:
            # Kept for ever: closing them here is as harmful as using them.
            _abandoned.append((self._writer, self._readers))
            self._file = replace(self._file, connect=_refuse(self._file.path))
        closed = self._readers.closed
        self._start()
        if closed:
            self.close()

    def _start(self) -> None:
        self._writer = Writer(self._file)
        self._readers = Readers(self._file)
        self._wakeup = Wakeup(self._poll_seconds)
        self._group: Group[Append, Appended] = Group(self._commit, size, max_waiting=self._max_waiting)

    def _commit(self, batch: list[Append]) -> list[Appended | Exception]:
        outcomes = self._writer.commit(batch)
        self._wakeup.announce()
        return outcomes


def _lease(found: Sequence[tuple[Any, ...]]) -> Lease | None:
    if not found:
        return None
    worker, until, progress = found[0]
    return Lease(worker, read_time(until), progress)


def _within(number: int) -> int:
    """Bring a place or a limit into what SQLite counts with, where there is nothing beyond."""
    return min(max(number, 0), _LAST_PLACE)


_abandoned: list[tuple[Writer, Readers]] = []


def _refuse(path: Path) -> Connect:
    def refuse(uri: str) -> sqlite3.Connection:
        raise unavailable(
            path, "forked", "the process was forked in the middle of a call: start a new one instead"
        )

    return refuse
