"""Content beside records, against the digests that the records hold."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ledger.errors import LedgerError
from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Content, Reader, Storage
from ledger.integrity.tombstones import ExpiredContent, tombstones
from ledger.record import Record
from ledger.values.payloads import content_named

_BATCH_BYTES = 8 * 1024 * 1024
_BATCH = 64
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Blobs:
    """Collect digests while a stream is read, and compare content a few megabytes at a time."""

    def __init__(self, reader: Reader, storage: Storage | None, notes: Notes) -> None:
        self._reader = reader
        self._storage = storage
        self._notes = notes
        self._waiting: dict[bytes, _Named] = {}
        self._bytes = 0
        self.missing = 0
        self.expired = 0

    def note(self, record: Record) -> None:
        """Remember the content that an event names."""
        for digest, size in filter(None, map(content_named, record.event.__dict__.values())):
            self._waiting[bytes.fromhex(digest)] = _Named(record.position, size, record.at)
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
        for digest, (position, _, at) in missing.items():
            if digest in expired and at < expired[digest].cutoff:
                self.expired += 1
                continue
            self.missing += 1
            what = f"the content {digest.hex()} is not here, and no event says that it was dropped"
            self._notes.unsupported(Check.BLOBS, position, what)

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
