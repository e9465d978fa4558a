"""Content beside records, against the digests that the records hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ledger.codec import decode, drop_digest
from ledger.errors import LedgerError
from ledger.events import StatePartSaved, StateSaved
from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Content, Reader, Storage
from ledger.integrity.tombstones import ExpiredContent, tombstones
from ledger.record import Record
from ledger.run.given_up import Drops
from ledger.values.payloads import content_named

_BATCH_BYTES = 8 * 1024 * 1024
_BATCH = 64
_MOST_DROPS = 100_000
"""Drops of the states of a run that are looked at."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Blobs:
    """Collect digests while a stream is read, and compare content a few megabytes at a time."""

    def __init__(self, reader: Reader, storage: Storage | None, notes: Notes) -> None:
        self._reader = reader
        self._storage = storage
        self._notes = notes
        self._waiting: dict[bytes, _Named] = {}
        self._states: dict[bytes, _Named] = {}
        """Contents of states that are not here, and of which no drop is known that explains it."""
        self._drops: Drops | None = None
        self._bytes = 0
        self.missing = 0
        self.expired = 0
        self.given_up = 0
        """How many of those that were dropped on purpose are of states that were given up."""

    def note(self, record: Record) -> None:
        """Remember the content that an event names."""
        for digest, size in filter(None, map(content_named, record.event.__dict__.values())):
            self._waiting[bytes.fromhex(digest)] = _Named(record.position, size, record.at, *_saved(record))
            self._bytes += size or 0
        if self._bytes >= _BATCH_BYTES or len(self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Read and compare what was remembered."""
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        missing = dict(waiting)
        for row in self._rows(waiting):
            missing.pop(row.digest, None)
            self._look_at(row, waiting[row.digest].position, waiting[row.digest].size)
        expired = self._tombstones(missing)
        for digest, named in missing.items():
            if digest in expired and named.at < expired[digest].cutoff:
                self.expired += 1
            elif named.state is None:
                self._miss(digest, named)
            elif self._given_up(named):
                self._count_given_up()
            else:
                self._states[digest] = named

    def end(self) -> None:
        """Look at what is left, once the stream was read."""
        self.flush()
        if self._states:
            # States may have been dropped since that was asked first, and their contents freed.
            self._drops = None
        for digest, named in self._states.items():
            if self._given_up(named):
                self._count_given_up()
            else:
                self._miss(digest, named)
        self._states.clear()

    def _count_given_up(self) -> None:
        self.expired += 1
        self.given_up += 1

    def _miss(self, digest: bytes, named: _Named) -> None:
        self.missing += 1
        what = f"the content {digest.hex()} is not here, and no event says that it was dropped"
        self._notes.unsupported(Check.BLOBS, named.position, what)

    def _given_up(self, named: _Named) -> bool:
        """Tell whether its state was given up; an event that was altered says nothing of it."""
        assert named.state is not None
        if self._drops is None:
            notes = self._notes
            try:
                rows = self._reader.find(notes.tenant, key=drop_digest(notes.stream), limit=_MOST_DROPS)
                self._drops = Drops(
                    decode(row.record, row.hash, run=row.stream, position=row.position, tenant=notes.tenant)
                    for row in rows
                    if row.stream == notes.stream
                )
            except LedgerError as error:
                if error.retryable:
                    raise
                self._drops = Drops()
        return self._drops.dropped(named.line, named.state, named.position)

    def _tombstones(self, digests: Iterable[bytes]) -> dict[bytes, ExpiredContent]:
        """Look up what was dropped on purpose; an event that was altered explains nothing."""
        try:
            return tombstones(self._reader, self._notes.tenant, digests)
        except LedgerError as error:
            if error.retryable:
                raise
            return {}

    def _rows(self, waiting: Iterable[bytes]) -> Iterable[Content]:
        wanted = list(waiting)
        if not wanted:
            return ()
        if self._storage is not None:
            return self._storage.contents(self._notes.tenant, wanted)
        found = self._reader.blobs(self._notes.tenant, wanted)
        return (Content(digest, "", content, None) for digest, content in found.items())

    def _look_at(self, row: Content, position: int, size: int | None) -> None:
        notes, content = self._notes, row.content
        whole = type(content) is bytes and hashlib.sha256(content).digest() == row.digest
        notes.expect(
            Check.BLOBS, whole, position, "the content kept as {} has another digest", row.digest.hex()
        )
        if type(content) is bytes and whole and size is not None and size != len(content):
            notes.altered(
                Check.BLOBS, position, f"the event says {size} bytes, the content has {len(content)}"
            )
        if type(row.kind) is not str:
            notes.altered(Check.BLOBS, position, f"the content is kept as {row.kind!r}, which is no class")
        until = row.expires_at
        if until is not None and not (type(until) is str and _TIME.fullmatch(until)):
            notes.altered(Check.BLOBS, position, f"the content is kept until {until!r}, which is no time")


class _Named(NamedTuple):
    """The record that names a content: the last of those that are looked at together."""

    position: int
    size: int | None
    at: datetime
    line: str | None = None
    state: str | None = None
    """The saved state that it is of, or of the work after it; None: of none."""


def _saved(record: Record) -> tuple[str | None, str | None]:
    """Name the saved state whose content an event names: its line and id."""
    event = record.event
    if isinstance(event, StateSaved):
        return event.line, event.id
    if isinstance(event, StatePartSaved):
        return event.line, event.state
    return None, None
