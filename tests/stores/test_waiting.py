"""Waiting for the next commit: woken at once by this process, soon by another one, and never in vain."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from ledger.stores.base import FullStore
from ledger.stores.wakeup import Wakeup
from tests.stores.builder import one, part, shown


class Watched:
    """What a waiter looks at; tells each time that it has looked."""

    def __init__(self) -> None:
        self.arrived = False
        self.looked = threading.Semaphore(0)

    def look(self) -> bool:
        arrived = self.arrived
        self.looked.release()
        return arrived


@contextmanager
def pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(threads) as executor:
        yield executor


@pytest.fixture
def woken_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody look again who is not woken, where `poll_seconds` is long."""
    monkeypatch.setattr("ledger.stores.wakeup._FIRST_POLL_SECONDS", 3600)


@pytest.mark.usefixtures("woken_only")
def test_an_announcement_wakes_all_who_wait_together() -> None:
    """Case-127: however many wait, a commit announces itself once."""
    wakeup, watched = Wakeup(poll_seconds=3600), Watched()
    with pool(5) as executor:
        waiters = [executor.submit(wakeup.wait, watched.look, 3600) for _ in range(5)]
        for _ in waiters:
            assert watched.looked.acquire(timeout=60)
        watched.arrived = True
        wakeup.announce()
        assert all(waiter.result(60) for waiter in waiters)


@pytest.mark.usefixtures("woken_only")
def test_an_announcement_between_looking_and_waiting_is_not_missed() -> None:
    """Case-126: who waits has told so before it looks."""
    wakeup, looks = Wakeup(poll_seconds=3600), [False, True]

    def look() -> bool:
        if not looks[0]:
            wakeup.announce()
        return looks.pop(0)

    assert wakeup.wait(look, 3600)
    assert looks == []


def test_what_nobody_announces_is_found_by_looking_again() -> None:
    """Case-114, case-128: polling alone is enough."""
    wakeup, watched = Wakeup(poll_seconds=0.001), Watched()
    with pool(1) as executor:
        waiter = executor.submit(wakeup.wait, watched.look, 3600)
        for _ in range(3):
            assert watched.looked.acquire(timeout=60)
        watched.arrived = True
        assert waiter.result(60)


def test_waiting_ends_when_the_time_is_up() -> None:
    assert not Wakeup(poll_seconds=3600).wait(lambda: False, 0.001)


def test_an_announcement_takes_no_lock_while_nobody_waits() -> None:
    """Case-125: what nobody listens to costs nothing."""
    wakeup = Wakeup(poll_seconds=3600)
    with wakeup._condition, pool(1) as executor:
        executor.submit(wakeup.announce).result(60)


def test_a_store_wakes_who_waits_for_its_commits(store: FullStore) -> None:
    waiting = threading.Barrier(2)

    def wait() -> bool:
        waiting.wait()
        return store.wait(0, 3600.0)

    with pool(1) as executor:
        waiter = executor.submit(wait)
        waiting.wait()
        store.append(one(part("run-1", "a")))
        assert waiter.result(60)
    assert shown(store).wait(0, 0.0)
    assert not store.wait(shown(store).end(), 0.001)


def test_what_another_store_on_the_same_file_commits_is_noticed(opened: Callable[[], FullStore]) -> None:
    """Case-169: subscriptions work without notifications, too."""
    mine, other = opened(), opened()
    with pool(1) as executor:
        waiter = executor.submit(mine.wait, 0, 3600.0)
        other.append(one(part("run-1", "a")))
        assert waiter.result(60)
    assert len(shown(mine).tail()) == 1


@pytest.mark.parametrize("waiters", [1, 8])
def test_closing_wakes_all_who_wait(store: FullStore, waiters: int) -> None:
    waiting = threading.Barrier(waiters + 1)

    def wait() -> bool:
        waiting.wait()
        return store.wait(0, 3600.0)

    with pool(waiters) as executor:
        results = [executor.submit(wait) for _ in range(waiters)]
        waiting.wait()
        store.close()
        assert all(result.result(60) for result in results)
