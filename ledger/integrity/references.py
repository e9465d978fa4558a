"""Hashes by which an event names another one: whoever rewrites the other leaves this one behind."""

from __future__ import annotations

from ledger.events import ReviewSigned, RunForked, RunRestarted
from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Reader, row_at
from ledger.record import Record


def references(reader: Reader, record: Record, notes: Notes) -> None:
    """Check that the event a record names has the hash it names."""
    event = record.event
    if isinstance(event, RunForked):
        run, position, hash = event.origin, event.at, event.hash
    elif isinstance(event, RunRestarted):
        run, position, hash = event.predecessor, event.predecessor_position, event.predecessor_hash
    elif isinstance(event, ReviewSigned):
        run, position, hash = record.run, event.head, event.hash
    else:
        return
    row = row_at(reader, notes.tenant, run, position)
    stands = "nothing" if row is None else "another event"
    found = row is not None and type(row.hash) is bytes and row.hash.hex() == hash
    notes.expect(
        Check.REFERENCES,
        found,
        record.position,
        "{} stands at position {} of {!r}, which it names by its hash",
        stands,
        position,
        run,
    )
