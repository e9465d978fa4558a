"""Verify a ledger: compare everything that is stored with the bytes that were hashed.

It reads through six verbs that every store has, works everything out anew, takes no lock and writes nothing.
Streams are looked at up to where they stood when they were listed, so that appends may go on meanwhile.

What it cannot see, it says: without a seal kept outside the database the last events of a run can be taken
away, and a whole history can be written anew, without a trace (`Report.anchored`).

Source of the idea: Tessera's fsck, which shares nothing with the writer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ledger.errors import RunNotFound
from ledger.integrity.findings import Check, Finding, Notes, Report, Standing, StreamReport
from ledger.integrity.reader import Reader
from ledger.integrity.streams import StreamCheck
from ledger.run.sources import PREFIX

__all__ = ["Check", "Finding", "Progress", "Reader", "Report", "Standing", "StreamReport", "verify"]

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
    page: int = 500,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Verify streams of a tenant, all of them if none is named.

    Raises:
        RunNotFound: a stream that was named has left no trace at all.

    And whatever the reader raises: then there is no verdict.
    """
    work = _Work(reader, tenant, page, progress)
    for batch in _batches(reader, tenant, streams, work.heads):
        work.add(batch)
    return work.report()


class _Work:
    """A verification under way."""

    def __init__(
        self, reader: Reader, tenant: str, page: int, progress: Callable[[Progress], None] | None
    ) -> None:
        # Read before streams are listed: what a head says now, its stream must reach.
        self.heads = reader.source_heads(tenant)
        self._reader = reader
        self._tenant = tenant
        self._page = page
        self._progress = progress
        self._checked = dict.fromkeys(Check, 0)
        self._done: list[tuple[StreamReport, Notes]] = []
        self._events = self._known = self._missing = self._passed_over = self._upto = 0

    def add(self, batch: Mapping[str, int | None]) -> None:
        """Verify some streams, each up to a position."""
        self._known += sum(position or 0 for position in batch.values())
        for stream, position in batch.items():
            notes = Notes(self._tenant, stream, self._checked)
            check = StreamCheck(self._reader, notes, upto=position, page=self._page)
            self._done.append((check.run(self._tell), notes))
            self._missing += check.missing_blobs
            self._passed_over += check.passed_over
            self._upto = max(self._upto, check.gid)

    def _tell(self, stream: str, rows: int) -> None:
        self._events += rows
        if self._progress is not None:
            self._progress(Progress(self._events, max(self._known, self._events), stream))

    def report(self) -> Report:
        """Compare the heads of sources, and put everything together."""
        # Read after streams were listed: no stream was further then than its head is now.
        after = self._reader.source_heads(self._tenant)
        for report, notes in self._done:
            if report.stream.startswith(PREFIX):
                _check_head(
                    self.heads.get(report.stream, 0), after.get(report.stream), report.position, notes
                )
        return Report(
            tenant=self._tenant,
            streams=tuple(replace(report, standing=notes.standing) for report, notes in self._done),
            findings=tuple(finding for _, notes in self._done for finding in notes.findings),
            checked=self._checked,
            upto=self._upto,
            omitted=sum(notes.omitted for _, notes in self._done),
            missing_blobs=self._missing,
            passed_over=self._passed_over,
        )


def _check_head(before: object, after: object, position: int, notes: Notes) -> None:
    if after is None:
        notes.expect(Check.HEADS, False, position, "the source has no head, so nothing can be guarded by it")
        return
    holds = type(before) is int and type(after) is int and before <= position <= after
    notes.expect(Check.HEADS, holds, position, "the head says {}, the stream stands at {}", after, position)


def _batches(
    reader: Reader, tenant: str, streams: Iterable[str] | None, heads: Mapping[str, int]
) -> Iterator[dict[str, int | None]]:
    """List streams with the position to look at each up to, some at a time."""
    if streams is not None:
        for stream in dict.fromkeys(streams):
            yield {stream: _named(reader, tenant, stream, heads)}
        return
    left = {stream: position for stream, position in heads.items() if position != 0}
    after = ""
    while True:
        found = reader.heads(tenant, after=after, limit=_STREAMS_AT_ONCE)
        if not found:
            break
        batch = {head.stream: _number(head.position) for head in found}
        for stream in batch:
            left.pop(stream, None)
        yield batch
        after = found[-1].stream
    if left:
        # A head without a stream: somebody took the events away.
        yield {stream: _number(position) for stream, position in left.items()}


def _named(reader: Reader, tenant: str, stream: str, heads: Mapping[str, int]) -> int | None:
    found = reader.heads(tenant, prefix=stream, limit=1)
    if found and found[0].stream == stream:
        return _number(found[0].position)
    if heads.get(stream) or reader.snapshots(tenant, stream):
        return _number(heads.get(stream, 0))
    raise RunNotFound(f"no run {stream!r} was opened", run=stream)


def _number(position: object) -> int | None:
    return position if type(position) is int else None
