"""Verify a ledger: compare everything that is stored with the bytes that were hashed.

It reads through the verbs that every store has, works everything out anew, takes no lock and writes nothing.
Streams are looked at up to where they stood when they were listed, so that appends may go on meanwhile. Where
all of a tenant is verified, the global order is walked too: what followers read is held against the streams.

What it cannot see, it says: without a seal kept outside the database the last events of a run can be taken
away, and a whole history can be written anew, without a trace (`Report.anchored`).

Source of the idea: Tessera's fsck, which shares nothing with the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ledger.errors import RunNotFound
from ledger.integrity.beside import damage, left_behind, sight
from ledger.integrity.findings import WHOLE, Check, Finding, Notes, Report, Standing, StreamReport
from ledger.integrity.order import Order, Tally, Verified
from ledger.integrity.reader import Reader, Storage, readable
from ledger.integrity.streams import StreamCheck
from ledger.run.sources import PREFIX

__all__ = [
    "Check",
    "Finding",
    "Progress",
    "Reader",
    "Report",
    "Standing",
    "Storage",
    "StreamReport",
    "verify",
]

_STREAMS_AT_ONCE = 100


class Progress(NamedTuple):
    """How far a verification is."""

    events: int
    """Rows looked at."""
    known: int
    """Rows of the streams listed so far."""
    stream: str
    """Stream that is being looked at."""


def verify(
    reader: Reader,
    tenant: str,
    *,
    streams: Iterable[str] | None = None,
    storage: Storage | None = None,
    page: int = 500,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Verify streams of a tenant; if none is named all of them, the global order and what the store keeps.

    Memory holds one page, one contract, a digest of each event id of the stream that is being read, and for
    each stream its report and two tallies.

    Args:
        reader: where rows are read from.
        tenant: whose streams.
        streams: the streams to look at; None: all of them.
        storage: what the store can say of itself beyond its rows.
        page: rows that are read at once.
        progress: called after each page of a stream.

    Raises:
        RunNotFound: a stream that was named has left no trace at all.

    And whatever the reader raises when the store is away: then there is no verdict.
    """
    work = _Work(reader, tenant, storage, page, progress)
    work.look_at_storage(everything=streams is None)
    if streams is None:
        work.look_at_all()
    else:
        for stream in dict.fromkeys(streams):
            work.add({stream: work.last_of(stream)})
    return work.report()


class _Done(NamedTuple):
    report: StreamReport
    notes: Notes
    tally: Tally
    unordered: int


class _Work:
    """A verification under way."""

    def __init__(
        self,
        reader: Reader,
        tenant: str,
        storage: Storage | None,
        page: int,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._reader = reader
        self._tenant = tenant
        self._storage = storage
        self._page = page
        self._progress = progress
        self._checked = dict.fromkeys(Check, 0)
        self._whole = Notes(tenant, WHOLE, self._checked)
        self._done: dict[str, _Done] = {}
        self._events = self._known = self._upto = self._end = 0
        self._missing = self._expired = self._passed_over = self._repeated = self._unordered = 0
        self._given_up: dict[str, int] = {}
        self._unguarded: tuple[str, ...] = ()
        # Read before streams are listed: what a head says now, its stream must reach.
        self._heads = self._source_heads()

    def look_at_storage(self, *, everything: bool) -> None:
        """Ask the store how whole it is, what guards it, and what it does not show."""
        if self._storage is None:
            return
        with readable(self._whole):
            sight(self._storage, self._whole, everything=everything)
            self._unguarded = tuple(self._storage.unguarded())
        if everything:
            with readable(self._whole):
                damage(self._storage, self._whole)

    def look_at_all(self) -> None:
        """Verify every stream, the global order, and what is kept beside the events."""
        # Asked before streams are listed: each event up to here stands in one of those that will be.
        with readable(self._whole):
            self._end = self._reader.end()
        with readable(self._whole):
            for batch in self._listed():
                self.add(batch)
        if self._storage is not None:
            with readable(self._whole):
                for stream in left_behind(self._reader, self._storage, self._whole, self._done.keys()):
                    self.add({stream: 0})
        streams = {
            name: Verified(done.notes, done.report.position, done.tally) for name, done in self._done.items()
        }
        self._unordered = sum(done.unordered for done in self._done.values())
        dense = self._storage is not None and self._storage.dense
        with readable(self._whole):
            Order(self._reader, self._whole, streams, end=self._end, dense=dense).walk(self._page)

    def last_of(self, stream: str) -> int | None:
        """Tell up to where a stream that was named is to be looked at.

        Raises:
            RunNotFound: it has left no trace.
        """
        found = self._reader.heads(self._tenant, prefix=stream, limit=1)
        if found and found[0].stream == stream:
            return _number(found[0].position)
        head = (self._heads or {}).get(stream)
        if head or self._reader.snapshots(self._tenant, stream):
            return _number(head or 0)
        raise RunNotFound(f"no run {stream!r} was opened", run=stream)

    def add(self, batch: Mapping[str, int | None]) -> None:
        """Verify some streams, each up to a position."""
        self._known += sum(position or 0 for position in batch.values())
        for stream, position in batch.items():
            notes = Notes(self._tenant, stream, self._checked)
            check = StreamCheck(
                self._reader, notes, upto=position, page=self._page, end=self._end, storage=self._storage
            )
            self._done[stream] = _Done(check.run(self._tell), notes, check.tally, check.unordered)
            self._missing += check.missing_blobs
            self._expired += check.expired_blobs
            if check.given_up_blobs:
                self._given_up[stream] = check.given_up_blobs
            self._passed_over += check.passed_over
            self._repeated += check.repeated_ids
            self._upto = max(self._upto, check.gid)

    def report(self) -> Report:
        """Compare the heads of sources, and put everything together."""
        self._check_heads()
        notes = [self._whole, *(done.notes for done in self._done.values())]
        return Report(
            tenant=self._tenant,
            streams=tuple(
                replace(done.report, first_broken=done.notes.first_broken, standing=done.notes.standing)
                for done in self._done.values()
            ),
            findings=tuple(finding for one in notes for finding in one.findings),
            checked=self._checked,
            upto=self._upto,
            omitted=sum(one.omitted for one in notes),
            missing_blobs=self._missing,
            expired_blobs=self._expired,
            given_up_blobs=self._given_up,
            passed_over=self._passed_over,
            repeated_ids=self._repeated,
            unordered=self._unordered,
            unguarded=self._unguarded,
        )

    def _tell(self, stream: str, rows: int) -> None:
        self._events += rows
        if self._progress is not None:
            self._progress(Progress(self._events, max(self._known, self._events), stream))

    def _source_heads(self) -> Mapping[str, int] | None:
        """Read the heads of sources; None where they cannot be read."""
        found: list[Mapping[str, int]] = []
        with readable(self._whole):
            found.append(self._reader.source_heads(self._tenant))
        return found[0] if found else None

    def _check_heads(self) -> None:
        sources = [name for name in self._done if name.startswith(PREFIX)]
        # Read after streams were listed: no stream was further then than its head is now.
        after = self._source_heads() if sources and self._heads is not None else None
        if after is None or self._heads is None:
            return
        for name in sources:
            done = self._done[name]
            _check_head(self._heads.get(name, 0), after.get(name), done.report.position, done.notes)

    def _listed(self) -> Iterator[dict[str, int | None]]:
        """List streams with the position to look at each up to, some at a time."""
        left: dict[str, object] = {}
        for stream, position in (self._heads or {}).items():
            if type(stream) is not str:
                what = f"the head of a source is kept under the name {stream!r}"
                self._whole.altered(Check.HEADS, None, what)
            elif position != 0:
                left[stream] = position
        after = ""
        while found := self._reader.heads(self._tenant, after=after, limit=_STREAMS_AT_ONCE):
            # What has no name is met again in the global order.
            batch = {head.stream: _number(head.position) for head in found if type(head.stream) is str}
            for stream in batch:
                left.pop(stream, None)
            yield batch
            if type(found[-1].stream) is not str:
                break
            after = found[-1].stream
        if left:
            # A head without a stream: somebody took the events away.
            yield {stream: _number(position) for stream, position in left.items()}


def _check_head(before: object, after: object, position: int, notes: Notes) -> None:
    if after is None:
        notes.expect(Check.HEADS, False, position, "the source has no head, so nothing can be guarded by it")
        return
    holds = type(before) is int and type(after) is int and before <= position <= after
    notes.expect(Check.HEADS, holds, position, "the head says {}, the stream stands at {}", after, position)


def _number(position: object) -> int | None:
    return position if type(position) is int else None
