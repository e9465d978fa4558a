"""Content beside records, against the digests that the records hold."""

from __future__ import annotations

import hashlib

from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Reader
from ledger.record import Record
from ledger.values import Payload

_BATCH_BYTES = 8 * 1024 * 1024
_BATCH = 64


class Blobs:
    """Collect digests while a stream is read, and compare content a few megabytes at a time."""

    def __init__(self, reader: Reader, notes: Notes) -> None:
        self._reader = reader
        self._notes = notes
        self._waiting: dict[str, tuple[int, int | None]] = {}
        self._bytes = 0
        self.missing = 0

    def note(self, record: Record) -> None:
        """Remember the content that an event names."""
        for value in record.event.__dict__.values():
            # A digest with the name of a type stands for a value that is kept nowhere.
            if type(value) is Payload and value.digest is not None and value.type is None:
                self._waiting[value.digest] = (record.position, value.size)
                self._bytes += value.size or 0
        if self._bytes >= _BATCH_BYTES or len(self._waiting) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Read and compare what was remembered."""
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        if not waiting:
            return
        wanted = [bytes.fromhex(digest) for digest in waiting]
        found = self._reader.blobs(self._notes.tenant, wanted)
        for digest in wanted:
            position, size = waiting[digest.hex()]
            if digest not in found:
                self.missing += 1
                continue
            content = found[digest]
            whole = type(content) is bytes and hashlib.sha256(content).digest() == digest
            self._notes.expect(
                Check.BLOBS, whole, position, "the content kept as {} has another digest", digest.hex()
            )
            if whole and size is not None and size != len(content):
                self._notes.altered(
                    Check.BLOBS, position, f"the event says {size} bytes, the content has {len(content)}"
                )
