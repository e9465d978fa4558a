"""Snapshots of aggregates: in any order, each version once, apart from the events."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import pytest
from eventsourcing.persistence import DataError, IntegrityError, NotSupportedError, Tracking
from hypothesis import given
from hypothesis import strategies as st

from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.recording import LedgerAggregateRecorder, LedgerApplicationRecorder, LedgerSnapshotRecorder
from tests.stores.builder import assert_whole, everything, together
from tests.stores.recording.application import FIRST, SECOND, archive, stored
from tests.stores.recording.model import bounds, selected


@given(st.data())
def test_snapshots_come_in_any_order_and_are_selected_by_version(data: st.DataObject) -> None:
    versions = data.draw(
        st.lists(st.integers(-3, 30) | st.sampled_from([2**53 - 1, -(2**53) + 1]), unique=True)
    )
    snapshots = [stored(version=version, state=str(version).encode()) for version in versions]
    with closing(MemoryStore()) as store:
        recorder = LedgerSnapshotRecorder(archive(store))
        for snapshot in snapshots:
            recorder.insert_events([snapshot])
        recorder.insert_events([stored(SECOND, version) for version in range(3)])
        gt, lte = data.draw(bounds(30)), data.draw(bounds(30))
        desc, limit = data.draw(st.booleans()), data.draw(st.none() | st.integers(0, 30))
        found = recorder.select_events(FIRST, gt=gt, lte=lte, desc=desc, limit=limit)
    assert found == selected(snapshots, gt, lte, desc, limit)


def test_many_snapshots_are_read_a_page_at_a_time(store: FullStore) -> None:
    recorder = LedgerSnapshotRecorder(archive(store))
    snapshots = [stored(version=version) for version in range(250)]
    recorder.insert_events(snapshots)
    assert recorder.select_events(FIRST) == snapshots
    assert recorder.select_events(FIRST, desc=True, limit=150) == snapshots[:99:-1]


def test_an_early_snapshot_may_come_after_a_later_one(store: FullStore) -> None:
    """A slow worker brings it when its events are stored already; that must not fail the work."""
    recorder = LedgerSnapshotRecorder(archive(store))
    recorder.insert_events([stored(version=20)])
    recorder.insert_events([stored(version=10)])
    assert recorder.select_events(FIRST, desc=True, limit=1) == [stored(version=20)]
    assert recorder.select_events(FIRST, desc=True, limit=1, lte=19) == [stored(version=10)]


def test_of_those_who_race_for_a_version_one_stores_it(store: FullStore) -> None:
    recorder = LedgerSnapshotRecorder(archive(store))

    def take(worker: int) -> int:
        won = 0
        for version in range(20):
            try:
                recorder.insert_events([stored(version=version, topic=str(worker))])
                won += 1
            except IntegrityError:
                continue
        return won

    assert sum(together(*(partial(take, worker) for worker in range(4)))) == 20
    assert len(recorder.select_events(FIRST)) == 20
    assert_whole(store)


def test_several_snapshots_are_stored_all_or_none(store: FullStore) -> None:
    recorder = LedgerSnapshotRecorder(archive(store))
    recorder.insert_events([stored(SECOND, 4)])
    for snapshots in ([stored(FIRST, 4), stored(SECOND, 4)], [stored(FIRST, 5), stored(FIRST, 5)]):
        with pytest.raises(IntegrityError):
            recorder.insert_events(snapshots)
    assert recorder.select_events(FIRST) == []


def test_snapshots_are_not_among_the_events_of_the_application(store: FullStore) -> None:
    shared = archive(store)
    LedgerSnapshotRecorder(shared).insert_events([stored(version=4)])
    assert LedgerApplicationRecorder(shared).select_notifications(None, 9) == []
    assert LedgerApplicationRecorder(shared).max_notification_id() is None
    assert LedgerAggregateRecorder(shared).select_events(FIRST) == []


def test_ids_that_look_like_the_ends_of_names_are_told_apart(store: FullStore) -> None:
    recorder = LedgerSnapshotRecorder(archive(store, id_type="text"))
    ids = ["a", "a:", "a:00000000000000001", "1:a", "1:a:", "a" * 10, "x" * 200]
    for number, id in enumerate(ids):
        recorder.insert_events([stored(id, number)])
    for number, id in enumerate(ids):
        assert recorder.select_events(id) == [stored(id, number)]


def test_what_cannot_be_stored_is_refused(store: FullStore) -> None:
    recorder = LedgerSnapshotRecorder(archive(store))
    with pytest.raises(DataError):
        recorder.insert_events([stored(state=bytes(256 * 1024))])
    with pytest.raises(NotSupportedError):
        recorder.insert_events([stored()], tracking=Tracking("upstream", 1))
    assert recorder.insert_events([]) is None
    assert everything(store) == []
