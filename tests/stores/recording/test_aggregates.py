"""Storing and selecting the events of aggregates: versions, races, lost answers, what is refused."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from functools import partial
from itertools import accumulate
from typing import Any
from uuid import UUID

import pytest
from eventsourcing.persistence import (
    DataError,
    IntegrityError,
    InternalError,
    NotSupportedError,
    OperationalError,
    StoredEvent,
    Tracking,
)
from hypothesis import given
from hypothesis import strategies as st

from ledger.codec import decode
from ledger.errors import PositionConflict, StoreBusy, StoreUnavailable
from ledger.stores.base import Append, Appended, FullStore, StoredRow, StreamHead
from ledger.stores.memory import MemoryStore
from ledger.stores.recording import LedgerAggregateRecorder, LedgerApplicationRecorder
from tests.stores.builder import assert_whole, everything, one, part, together
from tests.stores.recording.application import FIRST, NOON, SECOND, THIRD, Wrapped, archive, stored
from tests.stores.recording.model import bounds, selected


@given(st.data())
def test_events_are_selected_by_version_whatever_gaps_they_leave(data: st.DataObject) -> None:
    first = data.draw(st.integers(-3, 3) | st.just(-(2**53) + 1))
    gaps = data.draw(st.lists(st.sampled_from([1, 1, 1, 1, 2, 5, 1000]), max_size=25))
    versions = list(accumulate(gaps, initial=first))
    events = [stored(version=version, state=str(version).encode()) for version in versions]
    with closing(MemoryStore()) as store:
        recorder = LedgerAggregateRecorder(archive(store))
        recorder.insert_events([stored(SECOND, version) for version in range(3)])
        recorder.insert_events(events)
        near = st.sampled_from(versions) | bounds(30)
        gt, lte = data.draw(near), data.draw(near)
        desc, limit = data.draw(st.booleans()), data.draw(st.none() | st.integers(0, 30))
        found = recorder.select_events(FIRST, gt=gt, lte=lte, desc=desc, limit=limit)
    assert found == selected(events, gt, lte, desc, limit)


@pytest.mark.parametrize("first", [0, 1, 7])
def test_without_gaps_a_version_is_found_without_searching(store: FullStore, first: int) -> None:
    reads: list[int] = []

    def read(*args: Any, **kwargs: Any) -> list[StoredRow]:
        rows = store.read(*args, **kwargs)
        reads.append(len(rows))
        return rows

    events = [stored(version=version) for version in range(first, first + 100)]
    recorder = LedgerAggregateRecorder(archive(Wrapped(store, read=read)))
    recorder.insert_events(events)
    assert recorder.select_events(FIRST, gt=first + 59, lte=first + 69) == events[60:70]
    # The first event, to count from, and what was asked for.
    assert sum(reads) <= 1 + 1 + 10


def test_nothing_is_read_where_nothing_is_new(store: FullStore) -> None:
    recorder = LedgerAggregateRecorder(archive(Wrapped(store, read=partial(pytest.fail, "was read"))))
    recorder.insert_events([stored(version=version) for version in range(1, 20)])
    assert recorder.select_events(FIRST, gt=19) == []


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_version_that_is_not_above_the_last_one_is_taken(store: FullStore, version: int) -> None:
    recorder = LedgerAggregateRecorder(archive(store))
    recorder.insert_events([stored(version=3), stored(version=5)])
    with pytest.raises(IntegrityError):
        recorder.insert_events([stored(version=version), stored(version=6)])
    assert [event.originator_version for event in recorder.select_events(FIRST)] == [3, 5]


@pytest.mark.parametrize("versions", [(1, 1), (2, 1), (1, 3, 2)])
def test_versions_of_one_insert_rise(store: FullStore, versions: tuple[int, ...]) -> None:
    recorder = LedgerAggregateRecorder(archive(store))
    with pytest.raises(IntegrityError):
        recorder.insert_events([stored(version=version) for version in versions])
    assert everything(store) == []


def test_events_of_several_aggregates_are_stored_all_or_none(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    recorder.insert_events([stored(SECOND, 1)])
    with pytest.raises(IntegrityError):
        recorder.insert_events([stored(FIRST, 1), stored(SECOND, 1), stored(THIRD, 1)])
    assert recorder.select_events(FIRST) == recorder.select_events(THIRD) == []
    ids = recorder.insert_events([stored(FIRST, 1), stored(FIRST, 2), stored(SECOND, 2), stored(THIRD, 1)])
    found = recorder.select_notifications(None, 10)
    assert [notification.id for notification in found[1:]] == ids
    assert [(n.originator_id, n.originator_version) for n in found[1:]] == [
        (FIRST, 1),
        (FIRST, 2),
        (SECOND, 2),
        (THIRD, 1),
    ]


def test_events_of_one_aggregate_that_stand_apart_are_refused(store: FullStore) -> None:
    """They would be stored together, and so in another order than the application's."""
    recorder = LedgerApplicationRecorder(archive(store))
    with pytest.raises(NotSupportedError):
        recorder.insert_events([stored(FIRST, 1), stored(SECOND, 1), stored(FIRST, 2)])
    assert everything(store) == []


def test_of_writers_who_race_for_the_versions_of_an_aggregate_one_wins_each(store: FullStore) -> None:
    recorder = LedgerAggregateRecorder(archive(store))

    def write(writer: int) -> list[int]:
        won = []
        for version in range(30):
            try:
                recorder.insert_events([stored(version=version, topic=f"writer-{writer}")])
                won.append(version)
            except IntegrityError:
                continue
        return won

    won = together(*(partial(write, writer) for writer in range(6)))
    assert sorted(version for versions in won for version in versions) == list(range(30))
    for writer, versions in enumerate(won):
        mine = [e for e in recorder.select_events(FIRST) if e.topic == f"writer-{writer}"]
        assert [event.originator_version for event in mine] == versions
    assert_whole(store)


def test_writers_of_several_aggregates_at_once_never_store_half(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    aggregates = [UUID(int=number) for number in range(1, 5)]

    def write(writer: int) -> int:
        won = 0
        for version in range(20):
            order = aggregates if writer % 2 else aggregates[::-1]
            try:
                recorder.insert_events([stored(id, version, f"{writer}.{version}") for id in order])
                won += 1
            except IntegrityError:
                continue
        return won

    won = together(*(partial(write, writer) for writer in range(4)))
    assert sum(won) == 20
    for version in range(20):
        writers = {
            event.topic
            for one in aggregates
            for event in recorder.select_events(one, gt=version - 1, lte=version)
        }
        assert len(writers) == 1
    assert_whole(store)


def test_who_loses_a_race_to_a_lower_version_goes_on_top_of_it(store: FullStore) -> None:
    rival = LedgerAggregateRecorder(archive(store, ids=iter(["rival-1"]).__next__))

    def append(wanted: Append) -> Appended:
        if not everything(store):
            rival.insert_events([stored(version=1)])
        return store.append(wanted)

    recorder = LedgerAggregateRecorder(archive(Wrapped(store, append=append)))
    recorder.insert_events([stored(version=2)])
    assert recorder.select_events(FIRST) == [stored(version=1), stored(version=2)]
    assert_whole(store)


def test_who_loses_a_race_to_the_same_version_is_told(store: FullStore) -> None:
    rival = LedgerAggregateRecorder(archive(store, ids=iter(["rival-1"]).__next__))

    def append(wanted: Append) -> Appended:
        rival.insert_events([stored(version=2, state=b"rival")])
        return store.append(wanted)

    recorder = LedgerAggregateRecorder(archive(Wrapped(store, append=append)))
    with pytest.raises(IntegrityError):
        recorder.insert_events([stored(version=2)])
    assert recorder.select_events(FIRST) == [stored(version=2, state=b"rival")]


def test_losing_races_has_an_end(store: FullStore) -> None:
    def append(wanted: Append) -> Appended:
        raise PositionConflict("somebody was first", run="x", expected=0, actual=1)

    recorder = LedgerAggregateRecorder(archive(Wrapped(store, append=append)))
    with pytest.raises(OperationalError):
        recorder.insert_events([stored()])


def test_a_lost_answer_is_no_conflict(store: FullStore) -> None:
    answers = iter([False, True])

    def append(wanted: Append) -> Appended:
        appended = store.append(wanted)
        if next(answers):
            return appended
        raise StoreUnavailable("the answer was lost", reason="lost")

    recorder = LedgerApplicationRecorder(archive(Wrapped(store, append=append)))
    ids = recorder.insert_events([stored(version=1), stored(version=2)])
    assert ids == [found.gid for found in everything(store)]
    assert recorder.select_events(FIRST) == [stored(version=1), stored(version=2)]


@pytest.mark.parametrize("error", [StoreUnavailable("gone", reason="gone"), StoreBusy("full", waiting=9)])
def test_what_the_store_cannot_do_now_is_an_operational_error(store: FullStore, error: Exception) -> None:
    def append(wanted: Append) -> Appended:
        raise error

    recorder = LedgerAggregateRecorder(archive(Wrapped(store, append=append)))
    with pytest.raises(OperationalError) as raised:
        recorder.insert_events([stored()])
    assert raised.value.__cause__ is error


def test_the_same_events_in_two_inserts_are_two_appends(store: FullStore) -> None:
    recorder = LedgerAggregateRecorder(archive(store))
    recorder.insert_events([stored()])
    with pytest.raises(IntegrityError):
        recorder.insert_events([stored()])


def test_a_large_state_is_kept_byte_for_byte(store: FullStore) -> None:
    state = bytes(range(256)) * 700
    recorder = LedgerApplicationRecorder(archive(store))
    recorder.insert_events([stored(state=state), stored(version=2, state=b"")])
    assert [event.state for event in recorder.select_events(FIRST)] == [state, b""]
    assert [found.state for found in recorder.select_notifications(None, 2)] == [state, b""]


def test_a_state_beyond_a_record_is_refused_with_all_that_came_along(store: FullStore) -> None:
    recorder = LedgerAggregateRecorder(archive(store))
    with pytest.raises(DataError):
        recorder.insert_events([stored(), stored(version=2, state=bytes(256 * 1024))])
    assert everything(store) == []


@pytest.mark.parametrize(
    "event",
    [
        stored(version=2**53),
        stored(version=True),
        stored(version="1"),  # type: ignore[arg-type]
        stored(state="text"),  # type: ignore[arg-type]
        stored(topic="a\0b"),
        stored(topic="\ud800"),
        stored(topic="x" * 1001),
        stored("no UUID"),
    ],
    ids=[
        "version 2^53",
        "version bool",
        "version text",
        "state text",
        "topic NUL",
        "topic surrogate",
        "topic long",
        "id",
    ],
)
def test_what_no_record_can_hold_is_a_data_error(store: FullStore, event: StoredEvent) -> None:
    recorder = LedgerAggregateRecorder(archive(store))
    with pytest.raises(DataError):
        recorder.insert_events([event])
    assert everything(store) == []


@pytest.mark.parametrize(
    "id", ["", " ", "a\nb", "x" * 201, FIRST], ids=["empty", "blank", "control", "long", "UUID"]
)
def test_text_ids_are_ids_of_the_ledger(store: FullStore, id: UUID | str) -> None:
    recorder = LedgerAggregateRecorder(archive(store, id_type="text"))
    with pytest.raises(DataError):
        recorder.insert_events([stored(id)])
    with pytest.raises(DataError):
        recorder.select_events(id)


def test_ids_that_begin_alike_are_told_apart(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store, id_type="text"))
    for number, id in enumerate(["account-1", "account-", "account-10", "ACCOUNT-1", "account-1 "]):
        recorder.insert_events([stored(id, number)])
    assert [event.originator_version for event in recorder.select_events("account-1", gt=-1)] == [0]
    assert [event.originator_version for event in recorder.select_events("account-", desc=True, limit=1)] == [
        1
    ]
    assert recorder.select_events("account", desc=True, limit=1) == []
    assert len(recorder.select_notifications(None, 9)) == 5


def test_a_tracking_record_is_refused_rather_than_dropped(store: FullStore) -> None:
    with pytest.raises(NotSupportedError):
        LedgerApplicationRecorder(archive(store)).insert_events([stored()], tracking=Tracking("upstream", 1))
    assert everything(store) == []


def test_time_does_not_fall_with_the_clock(store: FullStore) -> None:
    times = iter([NOON, NOON - timedelta(hours=1), NOON + timedelta(hours=1)])
    recorder = LedgerAggregateRecorder(archive(store, clock=times.__next__))
    for version in range(3):
        recorder.insert_events([stored(version=version)])
    records = [
        decode(row.record, row.hash, run=row.stream, position=row.position) for row in everything(store)
    ]
    assert [record.at for record in records] == [NOON, NOON, NOON + timedelta(hours=1)]


def test_an_altered_event_is_not_read_and_nothing_is_put_on_top_of_it(store: FullStore) -> None:
    """An application retries what eventsourcing calls an IntegrityError; this must not be one."""

    def altered(rows: list[Any]) -> list[Any]:
        return [
            row._replace(record=row.record.replace(b'"topic":"topic"', b'"topic":"tampr"')) for row in rows
        ]

    def read(*args: Any, **kwargs: Any) -> list[StoredRow]:
        return altered(store.read(*args, **kwargs))

    def tail(*args: Any, **kwargs: Any) -> list[StoredRow]:
        return altered(store.tail(*args, **kwargs))

    def heads(*args: Any, **kwargs: Any) -> list[StreamHead]:
        return altered(store.heads(*args, **kwargs))

    LedgerAggregateRecorder(archive(store)).insert_events([stored()])
    recorder = LedgerApplicationRecorder(archive(Wrapped(store, read=read, tail=tail, heads=heads)))
    for attempt in (
        lambda: recorder.select_events(FIRST),
        lambda: recorder.select_notifications(None, 1),
        lambda: recorder.insert_events([stored(version=2)]),
        lambda: next(recorder.subscribe()),
    ):
        with pytest.raises(InternalError):
            attempt()
    assert len(everything(store)) == 1


def test_a_stream_that_holds_something_else_is_not_read(store: FullStore) -> None:
    store.append(one(part(f"$foreign:{FIRST}", "event-1"), tenant="bank"))
    with pytest.raises(NotSupportedError):
        LedgerAggregateRecorder(archive(store)).select_events(FIRST)
