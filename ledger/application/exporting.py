"""Writing whole runs into a file that another ledger imports with their hashes intact.

It reads pages, checks every hash and chain on the way, and holds in memory one page, some megabytes of
contents and the last hash of each stream. What is appended meanwhile is not in the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

from ledger.application.adding_runs import comes_from
from ledger.application.edge import Edge
from ledger.application.expired import expired
from ledger.application.explained import Absent, absent_of, explained
from ledger.application.export_format import (
    End,
    Entry,
    Header,
    Shelf,
    blob_line,
    end_line,
    entry_line,
    header_line,
)
from ledger.application.keeping import shown
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM
from ledger.application.payloads import contents_named
from ledger.application.reading import records_of
from ledger.application.rows import decoded
from ledger.errors import IntegrityError, RunNotFound
from ledger.events import (
    ConstraintAccepted,
    EffectIntended,
    EffectStarted,
    RevisionAcknowledged,
)
from ledger.record import ZERO_HASH, Record, broken
from ledger.run.sources import PREFIX
from ledger.stores.base import BlobRow, StoredRow
from ledger.values import write_time

_PAGE = 500
_ROWS_AT_ONCE = 2_000
"""Rows held of all streams together that are read side by side."""
_CONTENT_BYTES = 4 * 1024 * 1024
"""Size of the contents that are read together; a larger one is read alone."""
_EXPLAINED_AT_ONCE = 20_000
"""Missing contents that are looked up together: what was dropped may be said in many events."""


class Exported(NamedTuple):
    """What was written."""

    streams: int
    records: int
    contents: int
    missing: int
    """Contents that the records name and that are not here, dropped on purpose or not."""
    bytes: int
    digest: str
    """SHA-256 of all lines but the last, which holds it."""
    dropped: int
    """Those of the missing contents of which an event says that they were dropped on purpose."""
    runs: tuple[str, ...]
    """Runs that are in the file, by id; with those that were named, the ones they come from."""
    sources: tuple[str, ...]
    """Sources that are in the file, by id."""
    own: bool
    """What the ledger says of itself is in the file, which explains what was dropped."""


class Progress(NamedTuple):
    """How far an export is."""

    records: int
    bytes: int


def export(
    ledger: Ledger,
    write: Callable[[bytes], object],
    *,
    runs: Sequence[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Exported:
    """Write runs of a tenant, line by line.

    With a run goes what it rests on: the runs it comes from, the sources that it has accepted from or acted
    under, whole; and the tenant's own stream where a content it names was dropped on purpose.

    Args:
        ledger: the ledger to read.
        write: takes each line, with its end.
        runs: ids of runs; None: everything of the tenant.
        progress: called after each page.

    Raises:
        RunNotFound: there is no such run.
        ChainBroken, IntegrityError: what is stored is not what was written, so nothing more is.
        StoreBusy: on PostgreSQL, somebody's open transaction has kept back for 30 s what was stored before
            this call; `holders` names who.
        StoreError: a record is of a newer program, or the store is away.
    """
    edge = edge_of(ledger)
    end = shown(edge)
    streams = None if runs is None else _with_what_they_rest_on(edge, runs)
    rows = _everything(edge, end) if streams is None else _together(edge, streams, end)
    out = _Out(write)
    out.put(header_line(Header(edge.tenant, streams), write_time(edge.now())))
    with closing(Shelf()) as shelf:
        work = _Work(edge, out, shelf)
        for page in rows:
            work.page(page)
            if progress is not None:
                progress(Progress(work.records, out.size))
        work.explain()
    digest = out.digest.hexdigest()
    out.put(end_line(End(work.records, len(work.last), work.contents, work.missing, digest, work.dropped)))
    names = sorted(work.last)
    return Exported(
        streams=len(names),
        records=work.records,
        contents=work.contents,
        missing=work.missing,
        bytes=out.size,
        digest=digest,
        dropped=work.dropped,
        runs=tuple(name for name in names if name != STREAM and not name.startswith(PREFIX)),
        sources=tuple(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)),
        own=STREAM in work.last,
    )


@dataclass(slots=True)
class _Out:
    """Where lines go, counted and digested."""

    write: Callable[[bytes], object]
    size: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def put(self, line: bytes) -> None:
        self.write(line)
        self.size += len(line)
        self.digest.update(line)


class _Work:
    """An export under way."""

    def __init__(self, edge: Edge, out: _Out, shelf: Shelf) -> None:
        self._edge = edge
        self._out = out
        self._shelf = shelf
        self.last: dict[str, tuple[int, bytes]] = {}
        self.records = self.contents = self.missing = self.dropped = 0
        self._unexplained: list[Absent] = []

    def page(self, rows: Sequence[StoredRow]) -> None:
        """Write some records, each behind the contents that it is the first to name."""
        records = [self._checked(row) for row in rows]
        kept = _rows_by_digest(self._edge, records)
        part: list[tuple[StoredRow, list[BlobRow]]] = []
        size = 0
        for row, record in zip(rows, records, strict=True):
            # What an event merely mentions is not its own: it may be another run's.
            digests = dict.fromkeys(contents_named(record))
            named = [one for digest in digests for one in kept.get(digest, ())]
            fresh = [one for one in named if self._shelf.add(one.place)]
            absent = [absent_of(record, digest) for digest in digests if digest not in kept]
            self.missing += len(absent)
            self._unexplained += absent
            if part and size + sum(one.size for one in fresh) > _CONTENT_BYTES:
                self._write(part)
                part, size = [], 0
            part.append((row, fresh))
            size += sum(one.size for one in fresh)
        self._write(part)
        if len(self._unexplained) >= _EXPLAINED_AT_ONCE:
            self.explain()

    def explain(self) -> None:
        """Count those of the missing contents of which an event says that they were dropped."""
        absent, self._unexplained = self._unexplained, []
        self.dropped += len(explained(self._edge, absent))

    def _checked(self, row: StoredRow) -> Record:
        record = decoded(row)
        position, hash = self.last.get(row.stream, (0, ZERO_HASH))
        if row.position != position + 1:
            raise broken(row.stream, position + 1, f"position {position + 1} is missing")
        if record.prev != hash:
            raise broken(row.stream, row.position, "the record does not follow the one before it")
        self.last[row.stream] = row.position, row.hash
        return record

    def _write(self, part: Sequence[tuple[StoredRow, list[BlobRow]]]) -> None:
        places = {one.place for _, fresh in part for one in fresh}
        blobs = self._edge.store.kept_blobs(self._edge.tenant, {place.digest for place in places})
        found = {(blob.digest, blob.kind): blob for blob in blobs}
        for row, fresh in part:
            for one in fresh:
                blob = found.get(one.place)
                if blob is None:
                    self.missing += 1  # it was dropped between the two reads
                    self._unexplained.append(absent_of(decoded(row), one.digest))
                    continue
                if hashlib.sha256(blob.content).digest() != blob.digest:
                    digest = blob.digest.hex()
                    raise IntegrityError(
                        f"the content with digest {digest} is not what was written", digest=digest
                    )
                self._out.put(blob_line(blob))
                self.contents += 1
            self._out.put(entry_line(Entry(row.stream, row.position, row.hash, row.record)))
            self.records += 1


def _rows_by_digest(edge: Edge, records: Iterable[Record]) -> dict[bytes, list[BlobRow]]:
    digests = {digest for record in records for digest in contents_named(record)}
    found: dict[bytes, list[BlobRow]] = {}
    for one in edge.store.blob_rows(edge.tenant, digests):
        found.setdefault(one.digest, []).append(one)
    return found


# --- what to read, in which order ---------------------------------------------------------------------


def _everything(edge: Edge, end: int) -> Iterator[list[StoredRow]]:
    after = 0
    while after < end:
        page = edge.store.tail(after=after, limit=_PAGE, tenant=edge.tenant)
        yield [row for row in page if row.gid <= end]
        if len(page) < _PAGE:
            return
        after = page[-1].gid


def _together(edge: Edge, streams: Sequence[str], end: int) -> Iterator[list[StoredRow]]:
    """Read several streams side by side, in the global order."""
    size = max(_ROWS_AT_ONCE // max(len(streams), 1), 10)
    page: list[StoredRow] = []
    for row in merge(*(_stream(edge, name, end, size) for name in streams), key=attrgetter("gid")):
        page.append(row)
        if len(page) == _PAGE:
            yield page
            page = []
    yield page


def _stream(edge: Edge, name: str, end: int, size: int) -> Iterator[StoredRow]:
    after = 0
    while rows := edge.store.read(edge.tenant, name, after=after, limit=size):
        for row in rows:
            if row.gid > end:
                return
            yield row
        after = rows[-1].position


def _with_what_they_rest_on(edge: Edge, runs: Sequence[str]) -> tuple[str, ...]:
    """List the streams to export, reading each run once."""
    found: set[str] = set()
    waiting = list(dict.fromkeys(runs))
    own = _OwnStream(edge)
    while waiting:
        run = waiting.pop()
        if run in found:
            continue
        if not edge.store.read(edge.tenant, run, limit=1):
            raise RunNotFound(f"no run {run!r} was opened", run=run)
        found.add(run)
        digests: set[bytes] = set()
        for record in records_of(edge, run):
            waiting += comes_from(record)
            found.update(PREFIX + source for source in _relies_on(record))
            digests.update(contents_named(record))
            if len(digests) >= _PAGE:
                own.note(digests)
                digests.clear()
        own.note(digests)
    if own.explains():
        found.add(STREAM)
    # A source that is only claimed has no stream.
    opened = edge.store.source_heads(edge.tenant)
    return tuple(sorted(name for name in found if not name.startswith(PREFIX) or name in opened))


class _OwnStream:
    """Whether the tenant's own stream says of a missing content that it was dropped.

    Each look reads all that is said of contents, so it is for many of them at once.
    """

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._absent: set[bytes] = set()
        self._explains = False

    def note(self, digests: set[bytes]) -> None:
        """Note contents that records name."""
        if self._explains:
            return
        there = {row.digest for row in self._edge.store.blob_rows(self._edge.tenant, digests)}
        self._absent |= digests - there
        if len(self._absent) >= _EXPLAINED_AT_ONCE:
            self.explains()

    def explains(self) -> bool:
        """Look, and tell whether it does."""
        self._explains = self._explains or bool(expired(self._edge, self._absent))
        self._absent.clear()
        return self._explains


def _relies_on(record: Record) -> Iterator[str]:
    event = record.event
    if isinstance(event, ConstraintAccepted | RevisionAcknowledged) and event.source is not None:
        yield event.source.stream
    elif isinstance(event, EffectIntended | EffectStarted):
        yield from event.source_positions or ()
