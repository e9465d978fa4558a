"""Which statement stores an append, or a batch of them, and with which values.

A few shapes, each as plain as it can be, cost a common append a third of what one statement for everything
would. What is too large for one statement is begun by it and continued by others, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import NamedTuple

from ledger.errors import InvalidInput
from ledger.stores.base import Append, Blob, Row, StreamAppend
from ledger.stores.postgres.wire import Value, byte_strings, number, numbers, text, texts

ORDINALS = 1 << 20
"""Events that a transaction has room for in the global order."""
CHUNK_BYTES = 8 * 1024 * 1024
LARGEST_BYTES = 256 * 1024 * 1024
"""A single record or content. PostgreSQL ends at 1 GB, and holds each several times while it stores it."""


class Statement(NamedTuple):
    """A statement by name, with its values in PostgreSQL's binary form."""

    name: str
    values: list[Value]


class Plan(NamedTuple):
    """How a batch is stored: one statement that decides, and what follows where it stored something."""

    first: Statement
    more: list[Statement]
    offsets: list[int]
    """The first ordinal of each append; one more at the end. An event's ordinal is its place in the batch."""
    contents_left: bool
    """There are contents that none of these stores."""

    def stored(self, gids: Iterable[int]) -> list[tuple[int, ...] | None]:
        """Return the gids of each append that the first statement stored, None for one that it did not."""
        found = list(gids)
        if not found:
            return [None] * (len(self.offsets) - 1)
        base = found[0] & -ORDINALS
        ordinals = {gid - base for gid in found}
        return [
            tuple(range(base + start, base + end)) if start in ordinals else None
            for start, end in zip(self.offsets, self.offsets[1:], strict=False)
        ]


def check_size(append: Append) -> None:
    """Refuse what no transaction here can hold.

    Raises:
        InvalidInput: more than 2^20 events, or a record or content of more than 256 MiB.
    """
    events = 0
    for part in append.streams:
        events += len(part.rows)
    if events > ORDINALS:
        reason = f"more than {ORDINALS} events"
        raise InvalidInput(f"one append has {reason}: split it", path="append", reason=reason)
    for part in append.streams:
        for row in part.rows:
            if len(row.record) > LARGEST_BYTES:
                raise _too_large("record", len(row.record))
    for blob in append.blobs:
        if len(blob.content) > LARGEST_BYTES:
            raise _too_large("content", len(blob.content))


def is_large(append: Append) -> bool:
    """Tell whether an append needs more than one statement for its records."""
    size = 0
    for part in append.streams:
        for row in part.rows:
            size += len(row.record)
    return size > CHUNK_BYTES


def plan_one(append: Append) -> Statement | None:
    """Return the one statement that stores a small append to one stream; None where there is more to do."""
    parts = append.streams
    if len(parts) != 1:
        return None
    part = parts[0]
    if part.is_source:
        return None
    rows = part.rows
    if len(rows) == 1 and len(append.blobs) < 2 and not append.guards and not append.fresh:
        return _one(append.tenant, part, rows[0], append.blobs)
    if append.blobs or is_large(append):
        return None
    return _of_one_stream(append, part, rows)


def plan(appends: Sequence[Append]) -> Plan:
    """Plan a batch; no stream stands in two of its appends, and a large append is alone in it."""
    counts = [sum(len(part.rows) for part in append.streams) for append in appends]
    offsets = [0, *accumulate(counts)]
    if len(appends) == 1:
        alone = plan_one(appends[0])
        if alone is not None:
            return Plan(alone, [], offsets, False)
    first, *rest = _chunks(_placed(appends))
    if len(appends) == 1 and len(appends[0].streams) == 1:
        part = appends[0].streams[0]
        statement = _of_one_stream(appends[0], part, [placed.row for placed in first])
    else:
        statement = _batch(appends, first)
    more = [Statement("append_more", _rows(chunk)) for chunk in rest]
    return Plan(statement, more, offsets, any(append.blobs for append in appends))


def plan_locks(schema: str, appends: Iterable[Append], seconds: float) -> Statement | None:
    """Lock the acts that have to be fresh, before it is looked whether they are; None where none has to be.

    Locks of this kind are of the whole database, so that of an act says in which schema it is. That two acts
    have one number does no harm: one of them waits. All take them in one order, so nobody waits in a circle.
    `seconds` is how long to wait for one at most.
    """
    wanted = {(append.tenant, fresh.act) for append in appends for fresh in append.fresh}
    if not wanted:
        return None
    locks = sorted(_lock(schema, tenant, act) for tenant, act in wanted)
    return Statement("lock_acts", [numbers(locks), text(str(max(int(seconds * 1000), 1)))])


def _lock(schema: str, tenant: str, act: bytes) -> int:
    # Cut so that no name of a schema and a tenant is read as that of another two.
    name = b"%d %d " % (len(schema), len(tenant)) + f"{schema}{tenant}".encode() + act
    return int.from_bytes(sha256(name).digest()[:8], "big", signed=True)


def plan_blobs(appends: Iterable[Append]) -> Iterator[Statement]:
    """Store contents, each once, in the order of their places; a large one is stored alone."""
    wanted: dict[tuple[str, bytes, str], Blob] = {}
    for append in appends:
        for blob in append.blobs:
            place = append.tenant, blob.digest, blob.kind
            wanted[place] = _longer(wanted.get(place, blob), blob)
    chunk: list[tuple[str, Blob]] = []
    size = 0
    for (tenant, _, _), blob in sorted(wanted.items()):
        if chunk and size + len(blob.content) > CHUNK_BYTES:
            yield _blobs(chunk)
            chunk, size = [], 0
        chunk.append((tenant, blob))
        size += len(blob.content)
    if chunk:
        yield _blobs(chunk)


def more_rows(tenant: str, rows: Sequence[tuple[str, Row]]) -> Iterator[Statement]:
    """Store rows of several streams in their order, whatever stands before them, in the transaction that is
    open; nothing of it was stored before.
    """
    placed = [
        _Placed(tenant, stream, row.position, 0, number, row) for number, (stream, row) in enumerate(rows)
    ]
    for chunk in _chunks(placed):
        if chunk:
            yield Statement("append_more", _rows(chunk))


class _Placed(NamedTuple):
    """An event on its way to its place; tuples of it sort by place."""

    tenant: str
    stream: str
    position: int
    member: int
    ordinal: int
    row: Row


def _placed(appends: Sequence[Append]) -> list[_Placed]:
    """List the events of a batch by place, with their ordinals in the order in which they were given."""
    found: list[_Placed] = []
    for member, append in enumerate(appends):
        for part in append.streams:
            for row in part.rows:
                place = append.tenant, part.stream, row.position
                found.append(_Placed(*place, member, len(found), row))
    found.sort()
    return found


def _chunks(placed: list[_Placed]) -> list[list[_Placed]]:
    chunks: list[list[_Placed]] = [[]]
    size = 0
    for event in placed:
        if chunks[-1] and size + len(event.row.record) > CHUNK_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(event)
        size += len(event.row.record)
    return chunks


def _one(tenant: str, part: StreamAppend, row: Row, contents: Sequence[Blob]) -> Statement:
    values: list[Value] = [
        text(tenant),
        text(part.stream),
        number(part.expected),
        part.prev,
        row.hash,
        row.record,
    ]
    if contents:
        keys = row.key, row.act, row.claim
        return Statement("append_one_with_content", [*values, *keys, *_content(contents[0])])
    if row.key is None and row.act is None and row.claim is None:
        return Statement("append_one", values)
    return Statement("append_one_keyed", [*values, row.key, row.act, row.claim])


def _of_one_stream(append: Append, part: StreamAppend, rows: Sequence[Row]) -> Statement:
    claims: list[bytes | None] = [row.claim for row in rows if row.claim is not None]
    values: list[Value] = [
        text(append.tenant),
        text(part.stream),
        number(part.expected),
        part.prev,
        *_bytes(rows),
        _digests(claims),
        byte_strings([fresh.act for fresh in append.fresh]) if append.fresh else None,
        numbers(fresh.known for fresh in append.fresh) if append.fresh else None,
    ]
    if not append.guards:
        return Statement("append_several", values)
    guards = sorted(set(append.guards))
    names, positions = (guard.stream for guard in guards), (guard.expected for guard in guards)
    return Statement("append_guarded", [*values, texts(names), numbers(positions)])


def _batch(appends: Sequence[Append], placed: Sequence[_Placed]) -> Statement:
    parts = [
        (member, append.tenant, part) for member, append in enumerate(appends) for part in append.streams
    ]
    guards = [
        (member, append.tenant, guard) for member, append in enumerate(appends) for guard in append.guards
    ]
    heads = sorted({(tenant, guard.stream) for _, tenant, guard in guards})
    fresh = [(member, append.tenant, one) for member, append in enumerate(appends) for one in append.fresh]
    return Statement(
        "append_batch",
        [
            numbers(member for member, _, _ in parts),
            texts(tenant for _, tenant, _ in parts),
            texts(part.stream for _, _, part in parts),
            numbers(part.expected for _, _, part in parts),
            byte_strings([part.prev for _, _, part in parts]),
            numbers(member for member, _, _ in guards),
            texts(tenant for _, tenant, _ in guards),
            texts(guard.stream for _, _, guard in guards),
            numbers(guard.expected for _, _, guard in guards),
            texts(tenant for tenant, _ in heads),
            texts(stream for _, stream in heads),
            numbers(event.member for event in placed),
            *_rows(placed),
            numbers(member for member, _, _ in fresh),
            texts(tenant for _, tenant, _ in fresh),
            byte_strings([one.act for _, _, one in fresh]),
            numbers(one.known for _, _, one in fresh),
        ],
    )


def _rows(placed: Sequence[_Placed]) -> list[Value]:
    return [
        numbers(event.ordinal for event in placed),
        texts(event.tenant for event in placed),
        texts(event.stream for event in placed),
        numbers(event.position for event in placed),
        *_bytes([event.row for event in placed]),
    ]


def _bytes(rows: Sequence[Row]) -> list[Value]:
    return [
        byte_strings([row.hash for row in rows]),
        _digests([row.key for row in rows]),
        _digests([row.act for row in rows]),
        _digests([row.claim for row in rows]),
        byte_strings([row.record for row in rows]),
    ]


def _digests(column: list[bytes | None]) -> Value:
    """Encode a column that most events leave empty: where all do, no list reads as a list of nothing."""
    return None if column.count(None) == len(column) else byte_strings(column)


def _blobs(chunk: Sequence[tuple[str, Blob]]) -> Statement:
    if len(chunk) == 1:
        tenant, blob = chunk[0]
        return Statement("put_blob", [text(tenant), *_content(blob)])
    return Statement(
        "put_blobs",
        [
            texts(tenant for tenant, _ in chunk),
            byte_strings([blob.digest for _, blob in chunk]),
            texts(blob.kind for _, blob in chunk),
            byte_strings([blob.content for _, blob in chunk]),
            texts(blob.expires_at for _, blob in chunk),
        ],
    )


def _content(blob: Blob) -> list[Value]:
    expires_at = None if blob.expires_at is None else text(blob.expires_at)
    return [blob.digest, text(blob.kind), blob.content, expires_at]


def _longer(one: Blob, other: Blob) -> Blob:
    """Return the one of two equal contents that is kept longer."""
    if one.expires_at is None or (other.expires_at is not None and other.expires_at <= one.expires_at):
        return one
    return other


def _too_large(what: str, size: int) -> InvalidInput:
    reason = f"{size} bytes, at most {LARGEST_BYTES} are stored"
    return InvalidInput(f"a {what} has {reason}: keep it elsewhere", path=what, reason=reason)
