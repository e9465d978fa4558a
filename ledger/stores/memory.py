"""The store that forgets: the same promises as the others while the process lives, and none afterwards."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from threading import Lock

from ledger.errors import LedgerError, StoreUnavailable
from ledger.stores import forks
from ledger.stores.base import (
    Append,
    Appended,
    Blob,
    BlobPlace,
    BlobRow,
    Lease,
    Link,
    Loaded,
    Restore,
    Row,
    SnapshotRow,
    StoredRow,
    StreamHead,
    check,
    one_digest,
    size,
)
from ledger.stores.commit import Group
from ledger.stores.contents import sources_of
from ledger.stores.leases import checked, renewed
from ledger.stores.memory_contents import MemoryContents
from ledger.stores.memory_read_models import MemoryReadModels
from ledger.stores.probe import NOTHING, Place, Stored, decide
from ledger.stores.stamps import system_clock
from ledger.stores.wakeup import Wakeup


class MemoryStore(MemoryContents):
    """Keeps the ledger in this process; after a fork parent and child each go on with their own copy.

    Raises:
        StoreUnavailable: after `close`, by every verb; `reason` is `closed`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tables = _Tables()
        self._wakeup = Wakeup(poll_seconds=60.0)
        self._closed = False
        self._models = MemoryReadModels(self._events)
        forks.watch(self)

    def append(self, append: Append) -> Appended:
        check(append)
        outcome = self._settle(append)
        if not isinstance(outcome, Appended):
            raise outcome
        return outcome

    def admit(self, append: Append) -> Group[Append, Appended]:
        check(append)
        # Nothing is shared by committing together here, so nobody has to wait for anybody.
        return Group(lambda batch: [self._settle(one) for one in batch], size)

    def _settle(self, append: Append) -> Appended | LedgerError:
        try:
            with self._lock:
                tables = self._held()
                outcome = decide(append, tables) or tables.store(append)
        except StoreUnavailable as closed:
            return closed
        self._wakeup.announce()
        return outcome

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        with self._lock:
            tables = self._held()
            rows = tables.stream(tenant, stream)[max(after, 0) : None if upto is None else max(upto, 0)]
        return rows if limit is None else rows[: max(limit, 0)]

    def load(self, tenant: str, stream: str, fold: str, *, upto: int | None = None) -> Loaded:
        with self._lock:
            tables = self._held()
            rows = tables.stream(tenant, stream)[: None if upto is None else max(upto, 0)]
            snapshots = tables.snapshots.get((tenant, stream), {})
            nearest = None
            for position in sorted(snapshots, reverse=True):
                snapshot = snapshots[position]
                on_chain = position <= len(rows) and rows[position - 1].hash == snapshot.hash
                if on_chain and snapshot.fold == fold:
                    nearest = snapshot
                    break
        tail = rows[nearest.position :] if nearest else rows
        return Loaded(nearest, [Link(row.position, row.hash, row.record) for row in tail])

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> list[StoredRow]:
        with self._lock:
            tables = self._held()
            # The gid is the index plus one.
            start, limit = max(after, 0), max(limit, 0)
            if tenant is None:
                return tables.events[start : start + limit]
            later = (tables.events[index] for index in range(start, len(tables.events)))
            return list(islice((row for row in later if row.tenant == tenant), limit))

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
        with self._lock:
            tables = self._held()
            rows = tables.digests.get((tenant, column, digest), [])
            return rows[max(len(rows) - limit, 0) :] if limit > 0 else []

    def find_all(self, tenant: str, *, keys: Iterable[bytes], each: int = 8) -> list[StoredRow]:
        with self._lock:
            tables = self._held()
            found = [tables.digests.get((tenant, "key", key), [])[-max(each, 1) :] for key in set(keys)]
        return sorted(row for rows in found for row in rows)

    def heads(self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500) -> list[StreamHead]:
        found: list[StreamHead] = []
        with self._lock:
            tables = self._held()
            names = tables.names.get(tenant, [])
            # Text compares by code point here and by UTF-8 bytes in a database, which is the same order.
            for name in names[bisect_right(names, after) :]:
                if len(found) >= limit or (name > prefix and not name.startswith(prefix)):
                    break
                if name.startswith(prefix):
                    row = tables.stream(tenant, name)[-1]
                    found.append(StreamHead(name, row.position, row.gid, row.hash, row.record))
        return found

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        with self._lock:
            tables = self._held()
            found = {digest: tables.blobs.get((tenant, digest)) for digest in digests}
        return {digest: next(iter(kinds.values())).content for digest, kinds in found.items() if kinds}

    def open_head(self, tenant: str, stream: str) -> int:
        with self._lock:
            tables = self._held()
            return tables.heads[tenant].setdefault(stream, 0)

    def source_heads(self, tenant: str) -> dict[str, int]:
        with self._lock:
            tables = self._held()
            return dict(sorted(tables.heads.get(tenant, {}).items()))

    def put_snapshot(
        self, tenant: str, stream: str, snapshot: SnapshotRow, *, keep_every: int = 1000
    ) -> None:
        start = snapshot.position - snapshot.position % keep_every
        with self._lock:
            tables = self._held()
            kept = tables.snapshots[tenant, stream]
            for position in [position for position in kept if start <= position < snapshot.position]:
                del kept[position]
            kept[snapshot.position] = snapshot

    def snapshots(self, tenant: str, stream: str) -> list[SnapshotRow]:
        with self._lock:
            tables = self._held()
            return [snapshot for _, snapshot in sorted(tables.snapshots.get((tenant, stream), {}).items())]

    def drop_snapshots(self, tenant: str | None = None) -> int:
        with self._lock:
            tables = self._held()
            dropped = [place for place in tables.snapshots if tenant in {None, place[0]}]
            return sum(len(tables.snapshots.pop(place)) for place in dropped)

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
        with self._lock:
            tables = self._held()
            leases = tables.leases[tenant, key]
            lease = renewed(
                leases.get(attempt),
                worker=worker,
                first_until=first_until,
                until_seconds=until_seconds,
                now=system_clock() if now is None else now,
                progress=progress,
            )
            if lease is None:
                return None
            leases[attempt] = lease
        return lease.until

    def lease(self, tenant: str, key: bytes, attempt: int) -> Lease | None:
        with self._lock:
            tables = self._held()
            return tables.leases.get((tenant, key), {}).get(attempt)

    def release(self, tenant: str, key: bytes) -> None:
        with self._lock:
            tables = self._held()
            tables.leases.pop((tenant, key), None)

    def lease_offset(self) -> timedelta:
        with self._lock:
            self._held()
            return timedelta(0)

    def read_models(self) -> MemoryReadModels:
        return self._models

    def end(self, *, newest: bool = False) -> int:
        with self._lock:
            tables = self._held()
            return len(tables.events)

    def wait(self, after: int, timeout: float) -> bool:
        return self._wakeup.wait(lambda: self._closed or self.end() > after, timeout)

    def describe(self) -> dict[str, str | int | bool]:
        with self._lock:
            self._held()
            return {"store": "memory", "schema": 0, "durable": False}

    def close(self) -> None:
        self._closed = True
        self._wakeup.announce()

    def before_fork(self) -> None:
        """Let no thread be in the middle of a call."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Go on with what was there at the fork, without the threads that waited."""
        self._lock = Lock()
        self._wakeup = Wakeup(poll_seconds=60.0)

    @contextmanager
    def _events(self) -> Iterator[list[StoredRow]]:
        with self._lock:
            tables = self._held()
            yield tables.events

    def _held(self) -> _Tables:
        """Return the tables, for who holds the lock.

        The lock is taken by `with` itself, not by a generator in between: one that an interrupt leaves, and
        a traceback keeps, would hold it for ever.
        """
        if self._closed:
            raise StoreUnavailable("this ledger was closed, and what it held is gone", reason="closed")
        return self._tables


class _Tables:
    """What the store holds. The lock of the store is held around every access."""

    def __init__(self) -> None:
        self.events: list[StoredRow] = []
        self.names: defaultdict[str, list[str]] = defaultdict(list)
        self.digests: defaultdict[tuple[str, str, bytes], list[StoredRow]] = defaultdict(list)
        self.heads: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self.snapshots: defaultdict[tuple[str, str], dict[int, SnapshotRow]] = defaultdict(dict)
        self.blobs: defaultdict[tuple[str, bytes], dict[str, Blob]] = defaultdict(dict)
        self.leases: defaultdict[tuple[str, bytes], dict[int, Lease]] = defaultdict(dict)
        self._streams: dict[tuple[str, str], list[StoredRow]] = {}

    def stream(self, tenant: str, stream: str) -> list[StoredRow]:
        return self._streams.get((tenant, stream), [])

    # --- as the decision sees it ---------------------------------------------------------------

    def last(self, tenant: str, stream: str) -> tuple[int, bytes]:
        rows = self.stream(tenant, stream)
        return (rows[-1].position, rows[-1].hash) if rows else NOTHING

    def stored(self, tenant: str, stream: str, after: int, upto: int) -> Sequence[Stored]:
        return [Stored(row.gid, row.hash, row.record) for row in self.stream(tenant, stream)[after:upto]]

    def head(self, tenant: str, stream: str) -> int | None:
        return self.heads.get(tenant, {}).get(stream)

    def holder(self, tenant: str, claim: bytes) -> Place | None:
        held = self.digests.get((tenant, "claim", claim))
        return Place(held[0].stream, held[0].position) if held else None

    def intended(self, tenant: str, act: bytes, known: int) -> Place | None:
        rows = self.digests.get((tenant, "act", act), [])
        return Place(rows[-1].stream, rows[-1].position) if len(rows) > known else None

    # --- storing ---------------------------------------------------------------------------------

    def store(self, append: Append) -> Appended:
        """Store what was decided to be storable."""
        tenant = append.tenant
        for blob in append.blobs:
            self._put_blob(tenant, blob)
        first = len(self.events)
        for part in append.streams:
            for row in part.rows:
                self._put(tenant, part.stream, row)
            if part.is_source:
                self.heads[tenant][part.stream] = part.rows[-1].position
        return Appended(tuple(range(first + 1, len(self.events) + 1)))

    def restore(self, restore: Restore) -> tuple[int, ...]:
        """Store rows that nothing stands in the way of."""
        for blob in restore.blobs:
            self._put_blob(restore.tenant, blob)
        first = len(self.events)
        for one in restore.rows:
            self._put(restore.tenant, one.stream, one.row)
        self.heads[restore.tenant].update(sources_of(restore))
        return tuple(range(first + 1, len(self.events) + 1))

    def blob_places(self, tenant: str, digests: set[bytes] | None = None) -> Iterator[BlobPlace]:
        wanted = self.blobs if digests is None else [(tenant, digest) for digest in digests]
        for owner, digest in wanted:
            if owner == tenant:
                yield from (BlobPlace(digest, kind) for kind in self.blobs.get((tenant, digest), ()))

    def blob_row(self, tenant: str, place: BlobPlace) -> BlobRow:
        blob = self.blobs[tenant, place.digest][place.kind]
        return BlobRow(place.digest, place.kind, len(blob.content), blob.expires_at)

    def _put(self, tenant: str, stream: str, row: Row) -> None:
        if row.position == 1:
            insort(self.names[tenant], stream)
        gid = len(self.events) + 1
        stored = StoredRow(
            gid, tenant, stream, row.position, row.hash, row.key, row.act, row.claim, row.record
        )
        self._streams.setdefault((tenant, stream), []).append(stored)
        self.events.append(stored)
        for column, digest in (("key", row.key), ("act", row.act), ("claim", row.claim)):
            if digest is not None:
                self.digests[tenant, column, digest].append(stored)

    def _put_blob(self, tenant: str, blob: Blob) -> None:
        kinds = self.blobs[tenant, blob.digest]
        earlier = kinds.get(blob.kind)
        if earlier is None or (
            earlier.expires_at is not None
            and (blob.expires_at is None or earlier.expires_at < blob.expires_at)
        ):
            kinds[blob.kind] = blob
