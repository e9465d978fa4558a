"""One stream from its first event on: chain, order, meaning, and what is saved of it.

It is read once, in pages, and folded along the way, so that memory holds one contract, one page, the
snapshots of the stream and a digest of each event id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ledger.errors import LedgerError
from ledger.events import RunClosed
from ledger.integrity.blobs import Blobs
from ledger.integrity.findings import Check, Notes, StreamReport
from ledger.integrity.order import Tally
from ledger.integrity.places import name_fault, place_fault
from ledger.integrity.reader import Reader, Saved, Storage, Stored, readable, row_at, rows
from ledger.integrity.references import references
from ledger.integrity.rows import Seen, look_at
from ledger.record import Record, TermsMark
from ledger.run.contract import Contract
from ledger.run.saving import restore
from ledger.run.state import FOLD, evolve

_NO_HASH = bytes(32)


class StreamCheck:
    """Verify one stream up to a position; its events up to the global position `end` are tallied."""

    def __init__(
        self,
        reader: Reader,
        notes: Notes,
        *,
        upto: int | None,
        page: int,
        end: int = 0,
        storage: Storage | None = None,
    ) -> None:
        self._reader = reader
        self._notes = notes
        self._upto = upto
        self._page = page
        self._end_of_order = end
        self._blobs = Blobs(reader, storage, notes)
        self._ids: set[bytes] = set()
        self._snapshots: dict[int, Saved] = {}
        self._contract: Contract | None = None
        self._folds = not notes.stream.startswith("$")
        self._hashes: tuple[object, ...] = (_NO_HASH,)
        self._last: bytes | None = None
        self._position = 0
        self._gid = 0
        self._at = ""
        self._events = 0
        self._closed_at: int | None = None
        self.passed_over = 0
        self.repeated_ids = 0
        self.unordered = 0
        self.tally = Tally()

    @property
    def gid(self) -> int:
        """Highest global position seen."""
        return self._gid

    @property
    def missing_blobs(self) -> int:
        """Digests whose content is not there."""
        return self._blobs.missing

    @property
    def expired_blobs(self) -> int:
        """Digests whose content was dropped on purpose."""
        return self._blobs.expired

    @property
    def given_up_blobs(self) -> int:
        """Digests among these whose states were given up, as the stream itself says."""
        return self._blobs.given_up

    def run(self, progress: Callable[[str, int], None]) -> StreamReport:
        """Read and check every row; `progress` is told the rows of each page."""
        with readable(self._notes):
            self._read(progress)
        notes = self._notes
        return StreamReport(
            tenant=notes.tenant,
            stream=notes.stream,
            events=self._events,
            position=self._position,
            hash=self._last,
            closed_at=self._closed_at,
            first_broken=notes.first_broken,
            standing=notes.standing,
        )

    def _read(self, progress: Callable[[str, int], None]) -> None:
        self._take_snapshots()
        since = 0
        for row in rows(
            self._reader, self._notes.tenant, self._notes.stream, upto=self._upto, page=self._page
        ):
            self._row(row)
            since += 1
            if since == self._page:
                progress(self._notes.stream, since)
                since = 0
        self._blobs.end()
        self._end()
        progress(self._notes.stream, since)

    # --- one row after another ---------------------------------------------------------------------

    def _row(self, row: Stored) -> None:
        notes = self._notes
        self._events += 1
        if type(row.position) is not int or type(row.gid) is not int:
            notes.expect(
                Check.COLUMNS, False, self._position + 1, "position and global position are no numbers"
            )
            self._stop_folding()
            return
        if row.gid <= self._end_of_order:
            self.tally.add(row)
        else:
            self.unordered += 1
        expected = self._position + 1
        if row.position <= self._position:
            notes.expect(Check.LINKAGE, False, row.position, "this position stands twice")
            self._stop_folding()
        elif row.position > expected:
            gone = (
                f"position {expected} is"
                if row.position == expected + 1
                else (f"positions {expected} to {row.position - 1} are")
            )
            notes.expect(Check.LINKAGE, False, expected, "{} missing", gone)
            self._stop_folding()
        seen = look_at(row, row.position, notes)
        self._link(row, seen)
        self._order(row, seen)
        self._identity(seen)
        self._meaning(row, seen)
        self._position = max(self._position, row.position)
        self._gid = max(self._gid, row.gid)
        # A successor may name the stored or the computed hash: where one of them was changed, that is one
        # finding, and it stands at this position already.
        self._hashes = (row.hash, seen.hash)
        self._last = seen.hash
        self._snapshot(row, seen)

    def _link(self, row: Stored, seen: Seen) -> None:
        prev = seen.fields.get("prev")
        if prev is None or row.position != self._position + 1:
            return
        follows = any(type(hash) is bytes and hash.hex() == prev for hash in self._hashes)
        if row.position == 1:
            self._notes.expect(Check.LINKAGE, follows, 1, "the first record names one before it")
            return
        self._notes.expect(
            Check.LINKAGE,
            follows,
            self._position,
            "the record at {} follows another one than stands at {}",
            row.position,
            self._position,
        )

    def _order(self, row: Stored, seen: Seen) -> None:
        self._notes.expect(
            Check.ORDER,
            row.gid > self._gid,
            row.position,
            "global position {} is not above {}, that of the event before",
            row.gid,
            self._gid,
        )
        at = seen.fields.get("at")
        if type(at) is str:
            # All times are written with the same length, so that text order is time order.
            self._notes.expect(
                Check.ORDER, at >= self._at, row.position, "time falls from {} to {}", self._at, at
            )
            self._at = max(self._at, at)

    def _identity(self, seen: Seen) -> None:
        id = seen.fields.get("id")
        if type(id) is not str:
            return
        digest = hashlib.sha256(id.encode()).digest()[:16]
        self._notes.checked[Check.IDENTITY] += 1
        self.repeated_ids += digest in self._ids
        self._ids.add(digest)

    # --- meaning -----------------------------------------------------------------------------------

    def _stop_folding(self) -> None:
        """From here on the contract is not known, so nothing can be held against it."""
        self._folds = False
        self._contract = None

    def _meaning(self, row: Stored, seen: Seen) -> None:
        record = seen.record
        if record is None:
            self._stop_folding()
            return
        self._blobs.note(record)
        references(self._reader, record, self._notes)
        self._claim(row)
        if type(record.event) is RunClosed and self._closed_at is None:
            self._closed_at = record.position
        if record.position == 1:
            self._expect_none(name_fault(self._notes.stream), record)
        if self._notes.stream.startswith("$"):
            self._expect_none(place_fault(record), record)
        elif self._folds:
            self._fold(record)

    def _fold(self, record: Record) -> None:
        notes = self._notes
        before = self._contract
        fault: LedgerError | None = None
        try:
            self._contract = evolve(before, record)
        except LedgerError as error:
            fault = error
        if not notes.expect(
            Check.MEANING, fault is None, record.position, "no contract takes this event: {}", fault
        ):
            self._stop_folding()
            return
        if record.terms is None and not record.event.binds_terms:
            return
        terms = before.terms if before is not None and record.event.binds_terms else None
        notes.expect(
            Check.TERMS,
            record.terms == terms,
            record.position,
            "the record was bound by {}, the events before it yield {}",
            _words(record.terms),
            _words(terms),
        )

    def _expect_none(self, fault: str | None, record: Record) -> None:
        self._notes.expect(Check.MEANING, fault is None, record.position, "{}", fault)

    def _claim(self, row: Stored) -> None:
        if row.claim is None:
            return
        holders = self._reader.find(self._notes.tenant, claim=row.claim, limit=2)
        self._notes.expect(
            Check.CLAIMS,
            len(holders) == 1,
            row.position,
            "another worker of the lineage holds this claim, too",
        )

    # --- snapshots ---------------------------------------------------------------------------------

    def _take_snapshots(self) -> None:
        for saved in self._reader.snapshots(self._notes.tenant, self._notes.stream):
            if type(saved.position) is int and saved.position > 0:
                self._snapshots[saved.position] = saved
            else:
                self._notes.expect(Check.SNAPSHOTS, False, None, "a snapshot of no position")

    def _snapshot(self, row: Stored, seen: Seen) -> None:
        saved = self._snapshots.pop(row.position, None)
        if saved is None:
            return
        if saved.fold != FOLD:
            self.passed_over += 1
            return
        notes = self._notes
        if not notes.expect(
            Check.SNAPSHOTS, saved.hash == seen.hash, row.position, "the snapshot is of another history"
        ):
            return
        if self._contract is None:
            return
        notes.expect(
            Check.SNAPSHOTS,
            restore(saved.state) == self._contract,
            row.position,
            "the snapshot is not the fold of the events up to it",
        )

    def _end(self) -> None:
        """Look at what should be there and is not."""
        notes = self._notes
        if self._upto is not None and self._position < self._upto:
            notes.expect(
                Check.LINKAGE, False, self._position + 1, "positions up to {} are missing", self._upto
            )
        for position, saved in sorted(self._snapshots.items()):
            if position <= self._position:
                notes.expect(Check.SNAPSHOTS, False, position, "a snapshot of an event that is not there")
                continue
            # Written since: then its event is there, too.
            row = row_at(self._reader, notes.tenant, notes.stream, position)
            if row is None or row.hash != saved.hash:
                notes.expect(
                    Check.LINKAGE,
                    False,
                    self._position + 1,
                    "a snapshot was saved at position {}, the stream ends at {}",
                    position,
                    self._position,
                )


def _words(terms: TermsMark | None) -> str:
    return "no terms" if terms is None else f"{terms.digest} of position {terms.position}"
