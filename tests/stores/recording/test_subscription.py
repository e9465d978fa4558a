"""Following an application: nothing missed, nothing doubled, stoppable, on SQLite too (case-169)."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from uuid import UUID

import pytest
from eventsourcing.persistence import Notification, OperationalError, ProgrammingError

from ledger.stores.base import FullStore
from ledger.stores.recording import LedgerApplicationRecorder, TailSubscription
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import one, part, together
from tests.stores.recording.application import FIRST, SECOND, THIRD, archive, stored

PATIENCE_SECONDS = 30
"""How long to wait for what must happen; a test that passes never waits so long."""


def take(subscription: TailSubscription, count: int) -> list[Notification]:
    """Take so many notifications."""
    return [next(subscription) for _ in range(count)]


def test_a_follower_misses_and_doubles_nothing_while_many_write(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))

    def write(writer: int) -> list[int]:
        ids: list[int] = []
        for version in range(40):
            ids += recorder.insert_events(
                [stored(UUID(int=writer), 2 * version), stored(UUID(int=writer), 2 * version + 1)]
            )
        return ids

    with ThreadPoolExecutor(1) as pool, recorder.subscribe() as subscription:
        following = pool.submit(take, subscription, 4 * 80)
        written = together(*(lambda writer=writer: write(writer) for writer in range(1, 5)))
        found = following.result()
    assert [notification.id for notification in found] == sorted(id for ids in written for id in ids)
    assert Counter(notification.originator_id for notification in found) == {
        UUID(int=n): 80 for n in range(1, 5)
    }
    assert found == recorder.select_notifications(None, 1000)


def test_a_follower_begins_behind_an_id(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    ids = recorder.insert_events([stored(version=version) for version in range(4)])
    with recorder.subscribe(gt=ids[1]) as subscription:
        assert [notification.id for notification in take(subscription, 2)] == ids[2:]


def test_a_long_sequence_is_read_a_page_at_a_time(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    ids = recorder.insert_events([stored(version=version) for version in range(1203)])
    with recorder.subscribe() as subscription:
        assert [notification.id for notification in take(subscription, 1203)] == ids


def test_what_others_store_is_passed_over(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    with recorder.subscribe() as subscription:
        for tenant in ("bank", "other"):
            store.append(one(part("run-1", *map(str, range(700)), tenant=tenant), tenant=tenant))
        LedgerApplicationRecorder(archive(store, "shop")).insert_events([stored()])
        ids = recorder.insert_events([stored()])
        assert next(subscription).id == ids[0]


def test_events_of_other_topics_move_the_position(store: FullStore) -> None:
    """Case-167: a follower of one topic gets past the others, and who waits for it is told."""
    recorder = LedgerApplicationRecorder(archive(store))
    with recorder.subscribe(topics=["wanted"]) as subscription:
        follower = Thread(target=lambda: next(subscription, None))
        follower.start()
        (last,) = recorder.insert_events([stored(topic="unwanted")])
        assert subscription.wait(last, PATIENCE_SECONDS)
        assert subscription.position >= last
        (wanted,) = recorder.insert_events([stored(SECOND, topic="wanted")])
        follower.join()
        assert not subscription.wait(wanted, 0), "what was yielded is not handled yet"


def test_records_of_other_tenants_move_the_position(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    with ThreadPoolExecutor(1) as pool, recorder.subscribe() as subscription:
        following = pool.submit(next, subscription, None)
        others = store.append(one(part("run-1", "event-1", tenant="other"), tenant="other"))
        assert subscription.wait(others.gids[0], PATIENCE_SECONDS)
        subscription.stop()
        assert following.result() is None


def test_the_position_follows_what_was_handled(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    ids = recorder.insert_events([stored(FIRST), stored(SECOND, topic="other"), stored(THIRD)])
    with recorder.subscribe(topics=["topic"]) as subscription:
        assert subscription.position == 0
        assert next(subscription).id == ids[0]
        assert subscription.position == 0
        assert next(subscription).id == ids[2]
        assert subscription.position == ids[0]
        follower = Thread(target=lambda: next(subscription, None))
        follower.start()
        assert subscription.wait(ids[2], PATIENCE_SECONDS)
        subscription.stop()
        follower.join()


def test_a_subscription_that_waits_can_be_stopped(store: FullStore) -> None:
    subscription = LedgerApplicationRecorder(archive(store)).subscribe()
    ended = Event()

    def follow() -> None:
        for _ in subscription:
            pytest.fail("nothing was stored")
        ended.set()

    follower = Thread(target=follow)
    follower.start()
    subscription.stop()
    follower.join()
    assert ended.is_set()
    assert list(subscription) == []


def test_a_stopped_subscription_yields_nothing_more(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    recorder.insert_events([stored(version=version) for version in range(3)])
    with recorder.subscribe() as subscription:
        next(subscription)
    assert list(subscription) == []
    with pytest.raises(ProgrammingError):
        subscription.__enter__()


def test_a_closed_ledger_ends_a_subscription_with_an_error(store: FullStore) -> None:
    recorder = LedgerApplicationRecorder(archive(store))
    with ThreadPoolExecutor(1) as pool, recorder.subscribe() as subscription:
        following = pool.submit(next, subscription)
        store.close()
        with pytest.raises(OperationalError):
            following.result()


WRITER = """
import sys
from uuid import UUID
from ledger.stores.recording import LedgerApplicationRecorder
from ledger.stores.sqlite import SQLiteStore
from tests.stores.recording.application import archive, numbered, stored

number = int(sys.argv[2])
store = SQLiteStore(sys.argv[1])
recorder = LedgerApplicationRecorder(archive(store, ids=numbered(f"writer-{number}")))
for version in range(60):
    recorder.insert_events([stored(UUID(int=number), version)])
store.close()
"""


def test_what_other_processes_store_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(SQLiteStore(path)) as store:
        recorder = LedgerApplicationRecorder(archive(store))
        with recorder.subscribe() as subscription:
            writers = [
                subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)]) for number in (1, 2)
            ]
            found = take(subscription, 120)
            assert [writer.wait() for writer in writers] == [0, 0]
        assert found == recorder.select_notifications(None, 1000)
    for number in (1, 2):
        mine = [n.originator_version for n in found if n.originator_id == UUID(int=number)]
        assert mine == list(range(60))
