"""The store contract: what an append is, what comes back, and the verbs every store has.

A store keeps records as bytes and never looks inside them, except for the event id when it decides
whether an append is a repeat. All places are counted per stream: `position` 1, 2, 3, … without a gap.
A stream is a run, a source stream (`$source:…`) or the tenant's own `$ledger`; names that start with
`$` are the ledger's, so that no run can take them.

The values are named tuples, which cost an append a third of what frozen dataclasses do.

Source of the shape: eventsourcing's `dcb/api.py` (a store as a few values and verbs).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ledger.errors import InvalidInput
from ledger.record import ZERO_HASH, Row
from ledger.stores.commit import Group
from ledger.stores.contents import BlobPlace, BlobRow, Moved, Restore, StreamRow
from ledger.stores.leases import Lease, Leased
from ledger.stores.read_models import Projected

__all__ = [
    "ZERO_HASH",
    "Append",
    "Appended",
    "Blob",
    "BlobPlace",
    "BlobRow",
    "FullStore",
    "Guard",
    "Lease",
    "Leased",
    "Link",
    "Loaded",
    "Maintained",
    "Moved",
    "Restore",
    "Row",
    "SnapshotRow",
    "Store",
    "StoredRow",
    "StreamAppend",
    "StreamHead",
    "StreamRow",
    "check",
    "one_digest",
    "positions",
    "size",
]


class StoredRow(NamedTuple):
    """One event as it is stored."""

    gid: int
    """Global position: opaque, rising, sparse."""
    tenant: str
    stream: str
    position: int
    hash: bytes
    key: bytes | None
    act: bytes | None
    claim: bytes | None
    record: bytes


class StreamAppend(NamedTuple):
    """Events for one stream, in order, on top of the event that the writer saw last."""

    stream: str
    expected: int
    """Position of the last event the writer saw; 0 where there is none."""
    prev: bytes
    """Hash of that event; `ZERO_HASH` at 0."""
    rows: tuple[Row, ...]
    """At least one; positions expected+1, expected+2, …"""
    is_source: bool = False
    """A source stream: its head moves with it, which fails the guards that relied on the old one."""


class Guard(NamedTuple):
    """A source stream must still stand at `expected` when the append commits."""

    stream: str
    expected: int


class Blob(NamedTuple):
    """Bytes too large or too binary for a record, addressed by their SHA-256."""

    digest: bytes
    kind: str
    """Class of the content, for retention: `message`, `result`, …"""
    content: bytes
    expires_at: str | None = None
    """Until when the content is kept whatever is asked, as the ledger writes times; None: it may be dropped
    as soon as somebody asks for it."""


class Fresh(NamedTuple):
    """An act that nobody may have intended unseen: what the writer decided on is all there is of it.

    Two appends that both say so of one act are decided one after the other wherever they are in flight.
    """

    act: bytes
    known: int = 0
    """How many stored events with this `act` the writer has seen; there may be no more of them."""


class Append(NamedTuple):
    """One all-or-nothing append of one tenant: one or several streams, guards and blobs.

    Every stream stands at most once in it. A source stream is appended alone.
    """

    tenant: str
    streams: tuple[StreamAppend, ...]
    guards: tuple[Guard, ...] = ()
    blobs: tuple[Blob, ...] = ()
    fresh: tuple[Fresh, ...] = ()
    """Acts of which no more events of the tenant may be stored than are known; those of this append do not
    count.
    """


class Appended(NamedTuple):
    """The append is durable. `gids` hold the global positions, in the order of `streams` and their rows."""

    gids: tuple[int, ...]
    repeated: bool = False
    """The same events were stored by an earlier call; nothing was added."""


class SnapshotRow(NamedTuple):
    """A saved fold of a run; it may be deleted at any time."""

    position: int
    hash: bytes
    """Hash of the event at `position`: binds the snapshot to the chain."""
    fold: str
    """Version of the fold that made it."""
    state: bytes


class Link(NamedTuple):
    """One event of a stream, as folding needs it: what else is stored is derived from the record."""

    position: int
    hash: bytes
    record: bytes


class Loaded(NamedTuple):
    """A snapshot (or None) and the records after it, as of one moment."""

    snapshot: SnapshotRow | None
    tail: list[Link]


class StreamHead(NamedTuple):
    """The last event of a stream."""

    stream: str
    position: int
    gid: int
    hash: bytes
    record: bytes


class Store(Protocol):
    """Append and read records.

    Every verb may be called from any thread and may raise StoreUnavailable, a closed store always does.
    What a read returns is as of one moment.
    """

    def append(self, append: Append) -> Appended:
        """Store all of it durably, or nothing.

        Decided in this order: repeat, position, guard, claim, act. A *repeat* has the same streams, expected
        positions and event ids as what is stored there: it is answered with the stored positions.

        Raises:
            PositionConflict: a stream does not stand at `expected` with hash `prev`. Where `actual` equals
                `expected`, another event stands there than the writer saw: read from the start.
            GuardMoved: a source stream stands elsewhere or has no head.
            IdInUse: the same event ids stand there with other content.
            EffectInFlight: a claim is taken by another event; `key` is that row's `key` in hex, `run` and
                `position` say where it stands.
            ActKnown: more events than are known have an act that was to be fresh; `act` names it, `run` and
                `position` say where the newest event with it stands.
            InvalidInput: the append contradicts itself, or holds what the database cannot.
            StoreBusy: too many appends wait, or another process keeps the file; nothing was stored.
            StoreUnavailable: the fate is not known; repeat the same append as it is.
        """

    def admit(self, append: Append) -> Group[Append, Appended]:
        """Check an append, and return the group whose commits it has to join.

        `append` joins it in the caller's thread. Who must not wait there enters a request of its own.

        Raises:
            InvalidInput: the append contradicts itself, or is larger than what the database takes.
        """

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        """Read records of a stream by position: after < position ≤ upto, at most `limit`, ascending."""

    def load(self, tenant: str, stream: str, fold: str, *, upto: int | None = None) -> Loaded:
        """Read the nearest snapshot at or before `upto` made by this `fold`, and the records after it.

        One round trip. A snapshot whose hash is not the hash stored at its position is passed over.
        """

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> list[StoredRow]:
        """Read the global order: committed records with gid > after, ascending, of all tenants or one.

        What a later call returns is never before what an earlier one returned: nothing is skipped.
        """

    def end(self, *, newest: bool = False) -> int:
        """Return the gid up to which `tail` shows everything there will ever be; 0 in an empty store.

        With `newest` it is that of the last record that is stored, which `tail` may not show yet: where
        several write at once, one that was begun earlier may still come before it.

        A follower of one tenant asks first and then reads a page: one that is not full lets its cursor move
        to what was answered here, past the records of the others.
        """

    def find(
        self,
        tenant: str,
        *,
        key: bytes | None = None,
        act: bytes | None = None,
        claim: bytes | None = None,
        limit: int = 100,
    ) -> list[StoredRow]:
        """Find records by exactly one of the digest columns, in global order, the newest `limit` of them."""

    def find_all(self, tenant: str, *, keys: Iterable[bytes], each: int = 8) -> list[StoredRow]:
        """Find records by several keys at once, in global order: of each key the newest `each` of them."""

    def heads(self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500) -> list[StreamHead]:
        """List streams by name (byte order), after a name, with their last event, a page at a time."""


class Maintained(Protocol):
    """What a store offers beside events: blobs, snapshots, source heads, waking, self-description."""

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read the content of blobs by digest; those that are gone are left out."""

    def open_head(self, tenant: str, stream: str) -> int:
        """Create the head of a source stream at 0 unless it exists; return where it stands."""

    def source_heads(self, tenant: str) -> dict[str, int]:
        """List the heads of source streams with their positions."""

    def put_snapshot(
        self, tenant: str, stream: str, snapshot: SnapshotRow, *, keep_every: int = 1000
    ) -> None:
        """Save a snapshot; of those before it keep the last in each stretch of `keep_every` positions.

        It may be lost in a crash, unlike an event. A second snapshot at the same position replaces the first.
        """

    def snapshots(self, tenant: str, stream: str) -> list[SnapshotRow]:
        """List the snapshots of a stream, ascending."""

    def drop_snapshots(self, tenant: str | None = None) -> int:
        """Delete all snapshots, of one tenant or of all; return how many."""

    def wait(self, after: int, timeout: float) -> bool:
        """Wait until a record with gid > after exists, at most `timeout` seconds; return whether one does.

        It is also True when the store was closed meanwhile, so that the next read says so.

        Raises:
            StoreBusy: records are stored and cannot be shown, because somebody has kept a transaction open
                for long; `reason` is `held_back`, `holders` names who.
        """

    def describe(self) -> dict[str, str | int | bool]:
        """Say what the store is, its schema version and its durability settings."""


class FullStore(Store, Maintained, Moved, Leased, Projected, Protocol):
    """A whole store, as the ledger uses it."""

    def close(self) -> None:
        """Release every connection and file; a second call does nothing."""


def positions(append: Append) -> Sequence[tuple[str, int]]:
    """List the places an append takes, in order."""
    return [(part.stream, row.position) for part in append.streams for row in part.rows]


def size(append: Append) -> int:
    """Return how many bytes of records and blobs an append holds."""
    total = 0
    for part in append.streams:
        for row in part.rows:
            total += len(row.record)
    for blob in append.blobs:
        total += len(blob.content)
    return total


def one_digest(key: bytes | None, act: bytes | None, claim: bytes | None) -> tuple[str, bytes]:
    """Return which column `find` was asked about, and the digest.

    Raises:
        InvalidInput: none was named, or several.
    """
    named = [
        (column, digest)
        for column, digest in (("key", key), ("act", act), ("claim", claim))
        if digest is not None
    ]
    if len(named) != 1:
        raise InvalidInput("find by exactly one of key, act and claim", path="find", reason="not one")
    return named[0]


def check(append: Append) -> None:
    """Refuse an append that contradicts itself, before it could leave a gap or half of itself behind.

    Raises:
        InvalidInput: no stream or no row, a stream stands twice, a source stream is not alone, positions do
            not follow `expected`, or `expected` is 0 with a `prev` or the other way round.
    """
    parts = append.streams
    for part in parts:
        position = part.expected
        if not part.rows:
            raise _contradiction(part, "has no rows")
        if (position == 0) != (part.prev == ZERO_HASH):
            raise _contradiction(part, f"expects position {position} with the hash {part.prev.hex()}")
        for row in part.rows:
            position += 1
            if row.position != position:
                raise _contradiction(part, f"holds position {row.position} where {position} is next")
    if len(parts) != 1:
        _check_parts(parts)


def _check_parts(parts: tuple[StreamAppend, ...]) -> None:
    if not parts:
        raise InvalidInput("an append holds at least one stream", path="streams", reason="empty")
    if len({part.stream for part in parts}) != len(parts):
        raise InvalidInput("a stream stands twice in one append", path="streams", reason="twice")
    for part in parts:
        if part.is_source:
            raise _contradiction(part, "is a source stream, which is appended alone")


def _contradiction(part: StreamAppend, reason: str) -> InvalidInput:
    return InvalidInput(f"the append to {part.stream!r} {reason}", path="streams", reason=reason)
