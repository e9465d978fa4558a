"""What an application stores is a record like all others: chained, every column derived from its bytes."""

from __future__ import annotations

from base64 import b64decode
from contextlib import closing

from eventsourcing.persistence import DataError, IntegrityError, StoredEvent
from hypothesis import given
from hypothesis import strategies as st

from ledger.codec import decode, reencode
from ledger.events import ForeignRecorded
from ledger.record import Record
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.recording import LedgerApplicationRecorder, LedgerSnapshotRecorder
from tests.stores.builder import assert_whole
from tests.stores.recording.application import FIRST, NOON, SECOND, archive, stored
from tests.strategies import ids


def assert_derived(store: FullStore) -> list[Record]:
    """Derive each row again from nothing but its bytes."""
    records: list[Record] = []
    for row in assert_whole(store):
        record = decode(row.record, row.hash, run=row.stream, position=row.position, tenant=row.tenant)
        assert (record.tenant, record.run, record.position) == (row.tenant, row.stream, row.position)
        again = reencode(record)
        assert (again.record, again.hash) == (row.record, row.hash)
        assert (again.key, again.act, again.claim) == (row.key, row.act, row.claim)
        records.append(record)
    assert len({record.id for record in records}) == len(records)
    return records


@given(
    st.lists(
        st.tuples(ids(), st.integers(0, 3), st.text(st.characters(codec="utf-8"), max_size=20), st.binary())
    )
)
def test_every_column_of_what_was_stored_derives_from_the_bytes(
    inserts: list[tuple[str, int, str, bytes]],
) -> None:
    with closing(MemoryStore()) as store:
        shared = archive(store, id_type="text")
        events, snapshots = LedgerApplicationRecorder(shared), LedgerSnapshotRecorder(shared)
        kept: list[StoredEvent] = []
        for insert in inserts:
            for recorder in (events, snapshots):
                try:
                    recorder.insert_events([stored(*insert)])
                except (IntegrityError, DataError):
                    continue
                kept.append(stored(*insert))
        records = assert_derived(store)
    assert len(records) == len(kept)
    for record, event in zip(records, kept, strict=True):
        assert isinstance(record.event, ForeignRecorded)
        assert (record.event.originator_version, record.event.topic) == (
            event.originator_version,
            event.topic,
        )
        assert b64decode(record.event.state) == event.state


def test_rows_say_who_wrote_when_in_a_stream_of_the_aggregate(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    recorder.insert_events([stored(version=0), stored(version=1), stored(SECOND, 0)])
    records = assert_derived(store)
    assert [(record.run, record.position, record.id) for record in records] == [
        (f"$foreign:{FIRST}", 1, "bank-1"),
        (f"$foreign:{FIRST}", 2, "bank-2"),
        (f"$foreign:{SECOND}", 1, "bank-3"),
    ]
    assert {(record.tenant, record.actor.id, record.name) for record in records} == {
        ("bank", "service:bank", "foreign.recorded")
    }
    assert records[0].at == NOON
