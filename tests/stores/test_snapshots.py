"""Snapshots: bound to the chain and to the fold, thinned out, and never believed against the events."""

from __future__ import annotations

from collections.abc import Callable

from ledger.stores.base import FullStore, SnapshotRow, StreamAppend
from tests.stores.builder import TENANT, Spec, ids, one, part


def appended(store: FullStore, count: int, stream: str = "run-1", tenant: str = TENANT) -> StreamAppend:
    events = part(stream, *(f"e-{number}" for number in range(1, count + 1)), tenant=tenant)
    store.append(one(events, tenant=tenant))
    return events


def of(events: StreamAppend, position: int, fold: str = "f1") -> SnapshotRow:
    return SnapshotRow(position, events.rows[position - 1].hash, fold, f"state at {position}".encode())


def test_loading_is_the_nearest_snapshot_and_what_came_after(store: FullStore) -> None:
    """Case-161: only newer events are read, and case-121: none at the boundary is lost."""
    events = appended(store, 10)
    store.put_snapshot(TENANT, "run-1", of(events, 4), keep_every=4)
    store.put_snapshot(TENANT, "run-1", of(events, 8), keep_every=4)
    loaded = store.load(TENANT, "run-1", "f1")
    assert loaded.snapshot == of(events, 8)
    assert ids(loaded.tail) == ["e-9", "e-10"]


def test_loading_without_a_snapshot_is_all_events(store: FullStore) -> None:
    appended(store, 3)
    loaded = store.load(TENANT, "run-1", "f1")
    assert loaded.snapshot is None
    assert ids(loaded.tail) == ["e-1", "e-2", "e-3"]
    assert store.load(TENANT, "run-2", "f1") == (None, [])


def test_time_travel_uses_the_nearest_earlier_snapshot(store: FullStore) -> None:
    events = appended(store, 10)
    for position in (4, 8):
        store.put_snapshot(TENANT, "run-1", of(events, position), keep_every=4)
    for upto, snapshot, tail in (
        (3, None, ["e-1", "e-2", "e-3"]),
        (4, of(events, 4), []),
        (6, of(events, 4), ["e-5", "e-6"]),
        (8, of(events, 8), []),
        (99, of(events, 8), ["e-9", "e-10"]),
        (0, None, []),
    ):
        loaded = store.load(TENANT, "run-1", "f1", upto=upto)
        assert (loaded.snapshot, ids(loaded.tail)) == (snapshot, tail)


def test_a_snapshot_of_another_fold_is_passed_over(store: FullStore) -> None:
    """Case-163: an older one made by this fold is used instead."""
    events = appended(store, 10)
    store.put_snapshot(TENANT, "run-1", of(events, 4, "f1"), keep_every=4)
    store.put_snapshot(TENANT, "run-1", of(events, 8, "f2"), keep_every=4)
    assert store.load(TENANT, "run-1", "f1").snapshot == of(events, 4, "f1")
    assert store.load(TENANT, "run-1", "f2").snapshot == of(events, 8, "f2")
    assert store.load(TENANT, "run-1", "f3").snapshot is None


def test_a_snapshot_that_is_not_on_the_chain_is_passed_over(store: FullStore) -> None:
    """Case-160, case-162: left behind by a history that was lost, or beyond what there is."""
    events = appended(store, 10)
    other = part("run-1", *(Spec(f"e-{number}", {"text": "other"}) for number in range(1, 21)))
    store.put_snapshot(TENANT, "run-1", of(events, 4), keep_every=4)
    store.put_snapshot(TENANT, "run-1", of(other, 8), keep_every=4)
    store.put_snapshot(TENANT, "run-1", of(other, 20), keep_every=4)
    loaded = store.load(TENANT, "run-1", "f1")
    assert loaded.snapshot == of(events, 4)
    assert len(loaded.tail) == 6


def test_of_each_stretch_the_last_snapshot_is_kept(store: FullStore) -> None:
    """So many that any moment is near one, and so few that they do not grow with every event."""
    events = appended(store, 100)
    for position in range(7, 101, 7):
        store.put_snapshot(TENANT, "run-1", of(events, position), keep_every=20)
    assert [kept.position for kept in store.snapshots(TENANT, "run-1")] == [14, 35, 56, 77, 98]


def test_saving_an_older_snapshot_leaves_the_newer_ones(store: FullStore) -> None:
    events = appended(store, 30)
    for position in (25, 12, 15):
        store.put_snapshot(TENANT, "run-1", of(events, position), keep_every=10)
    assert [kept.position for kept in store.snapshots(TENANT, "run-1")] == [15, 25]


def test_a_second_snapshot_at_a_position_replaces_the_first(store: FullStore) -> None:
    """Case-159: taking it again is no error."""
    events = appended(store, 5)
    for fold in ("f1", "f1", "f2"):
        store.put_snapshot(TENANT, "run-1", of(events, 5, fold))
    assert store.snapshots(TENANT, "run-1") == [of(events, 5, "f2")]


def test_dropping_all_snapshots_changes_no_event(store: FullStore) -> None:
    events = appended(store, 5)
    foreign = appended(store, 5, tenant="globex")
    for position in (2, 4):
        store.put_snapshot(TENANT, "run-1", of(events, position), keep_every=2)
        store.put_snapshot("globex", "run-1", of(foreign, position), keep_every=2)
    assert store.drop_snapshots(TENANT) == 2
    assert store.load(TENANT, "run-1", "f1").snapshot is None
    assert len(store.load(TENANT, "run-1", "f1").tail) == 5
    assert len(store.snapshots("globex", "run-1")) == 2
    assert store.drop_snapshots() == 2
    assert store.drop_snapshots() == 0


def test_snapshots_of_streams_and_tenants_stay_apart(store: FullStore) -> None:
    events, other = appended(store, 3), appended(store, 3, "run-2")
    foreign = appended(store, 3, tenant="globex")
    store.put_snapshot(TENANT, "run-1", of(events, 1))
    store.put_snapshot(TENANT, "run-2", of(other, 2))
    store.put_snapshot("globex", "run-1", of(foreign, 3))
    assert store.load(TENANT, "run-1", "f1").snapshot == of(events, 1)
    assert store.load(TENANT, "run-2", "f1").snapshot == of(other, 2)
    assert store.load("globex", "run-1", "f1").snapshot == of(foreign, 3)


def test_snapshots_last(opened: Callable[[], FullStore]) -> None:
    store = opened()
    events = appended(store, 3)
    store.put_snapshot(TENANT, "run-1", of(events, 2))
    store.close()
    assert opened().load(TENANT, "run-1", "f1").snapshot == of(events, 2)
