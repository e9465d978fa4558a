"""The sequence of an application: its share of the global order, whatever else stands there."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from uuid import UUID

import pytest
from eventsourcing.persistence import InternalError, Notification
from hypothesis import given
from hypothesis import strategies as st

from ledger.stores.base import FullStore, StoredRow
from ledger.stores.memory import MemoryStore
from ledger.stores.recording import LedgerApplicationRecorder
from tests.stores.builder import one, part
from tests.stores.recording.application import FIRST, SECOND, Wrapped, archive, stored
from tests.stores.recording.model import bounds, notified


def others(store: FullStore, tenant: str, name: str, count: int = 1) -> None:
    """Store events of a run, which are no application's."""
    store.append(
        one(part(name, *(f"{name}.{number}" for number in range(count)), tenant=tenant), tenant=tenant)
    )


@given(st.data())
def test_notifications_are_selected_among_those_of_others(data: st.DataObject) -> None:
    with closing(MemoryStore()) as store:
        bank, shop = (
            LedgerApplicationRecorder(archive(store)),
            LedgerApplicationRecorder(archive(store, "shop")),
        )
        expected: list[Notification] = []
        for number, whose in enumerate(data.draw(st.lists(st.sampled_from("bsrt"), max_size=20))):
            event = stored(UUID(int=number + 1), topic=f"topic-{number % 3}")
            if whose == "b":
                (gid,) = bank.insert_events([event])
                expected.append(Notification(**vars(event), id=gid))
            elif whose == "s":
                shop.insert_events([event])
            else:
                others(store, "bank" if whose == "r" else "other", f"run-{number}")
        start, stop = data.draw(bounds(20)), data.draw(bounds(20))
        limit, inclusive = data.draw(st.integers(0, 20)), data.draw(st.booleans())
        topics = data.draw(st.lists(st.sampled_from(["topic-0", "topic-1", "none"]), max_size=2))
        found = bank.select_notifications(start, limit, stop, topics, inclusive_of_start=inclusive)
        last = bank.max_notification_id()
    assert found == notified(expected, start, limit, stop, topics, inclusive)
    assert last == (expected[-1].id if expected else None)


def test_a_few_are_found_among_thousands(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    others(store, "bank", "run-1", 1200)
    assert recorder.max_notification_id() is None
    first = recorder.insert_events([stored(FIRST)])
    others(store, "bank", "run-2", 1200)
    others(store, "other", "run-3", 1200)
    assert recorder.max_notification_id() == first[0]
    second = recorder.insert_events([stored(SECOND)])
    others(store, "bank", "run-4", 1200)
    tails: list[int] = []

    def tail(*args: Any, **kwargs: Any) -> list[StoredRow]:
        tails.append(len(store.tail(*args, **kwargs)))
        return store.tail(*args, **kwargs)

    reader = LedgerApplicationRecorder(archive(Wrapped(store, tail=tail)))
    assert [found.id for found in reader.select_notifications(1, 2)] == first + second
    assert len(tails) < 20, "it is not read two at a time because two are wanted"
    assert [
        found.id for found in recorder.select_notifications(first[0], 5, inclusive_of_start=False)
    ] == second
    assert recorder.max_notification_id() == second[0]


def test_applications_in_two_tenants_do_not_see_each_other(store: FullStore) -> None:
    bank, shop = (LedgerApplicationRecorder(archive(store, tenant)) for tenant in ("bank", "shop"))
    in_bank = bank.insert_events([stored(FIRST, 1)])
    in_shop = shop.insert_events([stored(FIRST, 1), stored(FIRST, 2)])
    assert [found.id for found in bank.select_notifications(None, 9)] == in_bank
    assert [found.id for found in shop.select_notifications(None, 9)] == in_shop
    assert bank.select_events(FIRST) == [stored(FIRST, 1)]


def test_ids_of_another_type_are_not_guessed_at(store: FullStore) -> None:
    LedgerApplicationRecorder(archive(store, id_type="text")).insert_events([stored("account-1")])
    with pytest.raises(InternalError):
        LedgerApplicationRecorder(archive(store)).select_notifications(None, 1)
