"""Group commit: who leads, who follows, and that nobody stays without an answer."""

from __future__ import annotations

import gc
import itertools
import random
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType, FunctionType
from typing import Any

import pytest

from ledger.errors import StoreBusy, StoreUnavailable
from ledger.stores.commit import Group, Request, State


class Bench:
    """A group whose commits a test can hold up, and which tells when somebody queues."""

    def __init__(self, **limits: Any) -> None:
        self.batches: list[list[int]] = []
        self.leaders: list[int] = []
        self.fail: Callable[[list[int]], None] = lambda batch: None
        self.hold = threading.Event()
        self.committing = threading.Semaphore(0)
        self.queued = threading.Semaphore(0)
        self.pool = ThreadPoolExecutor(32)
        self.group: Group[int, int] = Group(self.commit, self.size, **limits)

    def commit(self, batch: list[int]) -> list[int | Exception]:
        self.batches.append(batch)
        self.leaders.append(threading.get_ident())
        self.committing.release()
        assert self.hold.wait(60)
        self.fail(batch)
        return [ValueError(item) if item < 0 else item * 10 for item in batch]

    def size(self, item: int) -> int:
        """Tell of an item that has to queue: that is when its size is asked for."""
        self.queued.release()
        return abs(item)

    def submit(self, item: int) -> Future[int]:
        return self.pool.submit(self.group.submit, item)

    def lead_with(self, item: int) -> Future[int]:
        """Submit an item and wait until its commit has begun."""
        leader = self.submit(item)
        assert self.committing.acquire(timeout=60)
        return leader

    def follow_with(self, *items: int) -> list[Future[int]]:
        """Submit items one after another and wait until each has queued."""
        followers: list[Future[int]] = []
        for item in items:
            followers.append(self.submit(item))
            assert self.queued.acquire(timeout=60)
        return followers


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.hold.set()
    bench.pool.shutdown()


def results(futures: list[Future[int]]) -> list[int]:
    return [future.result(60) for future in futures]


def test_who_finds_the_group_idle_commits_in_its_own_thread(bench: Bench) -> None:
    bench.hold.set()
    assert [bench.group.submit(item) for item in (1, 2, 3)] == [10, 20, 30]
    assert bench.batches == [[1], [2], [3]]
    assert set(bench.leaders) == {threading.get_ident()}


def test_all_that_wait_go_together_with_the_next_leader(bench: Bench) -> None:
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3, 4, 5)
    bench.hold.set()
    assert leader.result(60) == 10
    assert results(followers) == [20, 30, 40, 50]
    assert bench.batches == [[1], [2, 3, 4, 5]]
    assert len(set(bench.leaders)) == 2


def test_each_gets_its_own_outcome(bench: Bench) -> None:
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, -3, 4)
    bench.hold.set()
    assert leader.result(60) == 10
    assert (followers[0].result(60), followers[2].result(60)) == (20, 40)
    with pytest.raises(ValueError, match="-3"):
        followers[1].result(60)


def test_a_successor_is_promoted_before_the_followers_are_answered(bench: Bench) -> None:
    """Else the store would idle while they wake up."""
    order: list[str] = []
    first = Request[int, int](1)
    follower = Request[int, int](2, lambda: order.append("follower"))
    successor = Request[int, int](3, lambda: order.append("successor"))
    assert bench.group.enter(first)
    assert not bench.group.enter(follower)
    bench.hold.set()
    # The successor arrives when the batch has been taken already.
    entered: list[bool] = []
    bench.fail = lambda batch: entered.append(bench.group.enter(successor))
    bench.group.lead(first)
    assert (entered, bench.batches) == ([False], [[1, 2]])
    assert order == ["successor", "follower"]
    assert (follower.state, successor.state) == (State.ANSWERED, State.LEADING)


def test_who_follows_a_batch_waits_for_as_many_as_it_had() -> None:
    """Those who were answered together come back one after another, and go together again."""
    bench = Bench(linger=lambda took: 60.0)
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3, 4)
    bench.hold.set()
    results([leader, *followers])
    again = [bench.submit(5)]
    again += bench.follow_with(6, 7)
    assert results(again) == [50, 60, 70]
    assert bench.batches == [[1], [2, 3, 4], [5, 6, 7]]
    bench.pool.shutdown()


def test_nobody_waits_for_those_who_do_not_come_back() -> None:
    """But for a part of the time the last commit took; and who was alone waits for nobody at all."""
    told: list[float] = []

    def linger(took: float) -> float:
        told.append(took)
        return 0.0

    bench = Bench(linger=linger)
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3)
    bench.hold.set()
    results([leader, *followers])
    assert told == []
    assert [bench.group.submit(item) for item in (4, 5, 6)] == [40, 50, 60]
    assert bench.batches == [[1], [2, 3], [4], [5], [6]]
    assert len(told) == 1
    assert told[0] > 0
    bench.pool.shutdown()


@pytest.mark.parametrize(
    ("limits", "batches"),
    [
        ({"max_batch": 2}, [[1], [2, 3], [4, 5], [6]]),
        ({"max_batch_bytes": 9}, [[1], [2, 3, 4], [5], [6]]),
        ({"max_batch_bytes": 1}, [[1], [2], [3], [4], [5], [6]]),
        ({}, [[1], [2, 3, 4, 5, 6]]),
    ],
)
def test_a_batch_is_bounded_by_count_and_by_bytes(limits: dict[str, int], batches: list[list[int]]) -> None:
    """Here each item is as large as its number; one that is too large for any batch goes alone."""
    bench = Bench(**limits)
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3, 4, 5, 6)
    bench.hold.set()
    assert results([leader, *followers]) == [10, 20, 30, 40, 50, 60]
    assert bench.batches == batches
    bench.pool.shutdown()


def test_a_full_queue_refuses_at_once_and_serves_again_later() -> None:
    bench = Bench(max_waiting=2)
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3)
    with pytest.raises(StoreBusy):
        bench.group.submit(4)
    bench.hold.set()
    assert results([leader, *followers]) == [10, 20, 30]
    assert bench.group.submit(4) == 40
    bench.pool.shutdown()


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_a_leader_that_is_interrupted_answers_all_and_hands_on(
    bench: Bench, interrupt: type[BaseException]
) -> None:
    first = bench.lead_with(1)
    second = bench.follow_with(2, 3, 4)

    def fail(batch: list[int]) -> None:
        if 2 in batch:
            raise interrupt

    bench.fail = fail
    bench.hold.set()
    assert first.result(60) == 10
    with pytest.raises(interrupt):
        second[0].result(60)
    for follower in second[1:]:
        with pytest.raises(StoreUnavailable) as fate:
            follower.result(60)
        assert isinstance(fate.value.__cause__, interrupt)
    assert bench.group.submit(5) == 50


def test_a_leader_that_is_interrupted_hands_on_to_who_arrived_meanwhile(bench: Bench) -> None:
    def fail(batch: list[int]) -> None:
        if batch == [1]:
            raise KeyboardInterrupt

    bench.fail = fail
    leader = bench.lead_with(1)
    followers = bench.follow_with(2, 3)
    bench.hold.set()
    with pytest.raises(KeyboardInterrupt):
        leader.result(60)
    assert results(followers) == [20, 30]


class Interrupted(BaseException):
    """What a signal handler of these tests raises."""


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Let a signal interrupt the main thread; returns what sends it, which returns once it has arrived."""
    arrived = threading.Event()

    def handler(number: int, frame: FrameType | None) -> None:
        if not arrived.is_set():
            arrived.set()
            raise Interrupted

    main = threading.main_thread().ident
    assert main is not None

    def send(main: int = main) -> None:
        # A signal that comes right before the thread blocks is only looked at when the next one comes.
        while not arrived.wait(0.01):
            signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield send
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_follower_that_is_interrupted_leaves_the_queue(bench: Bench) -> None:
    leader = bench.lead_with(1)

    def interrupt(send: Callable[[], None]) -> None:
        assert bench.queued.acquire(timeout=60)
        send()

    with interruptible() as send:
        sender = bench.pool.submit(interrupt, send)
        with pytest.raises(Interrupted):
            bench.group.submit(2)
        sender.result(60)
    bench.hold.set()
    assert leader.result(60) == 10
    assert bench.group.submit(3) == 30
    assert bench.batches == [[1], [3]]


def test_a_follower_that_is_interrupted_when_taken_awaits_its_fate(bench: Bench) -> None:
    leader = bench.lead_with(1)
    taken = threading.Event()
    committed: list[int] = []

    def fail(batch: list[int]) -> None:
        if batch != [1]:
            taken.set()
            assert interrupted.wait(60)
            committed.extend(batch)

    interrupted = threading.Event()
    bench.fail = fail
    second = bench.follow_with(2)

    def interrupt(send: Callable[[], None]) -> None:
        assert bench.queued.acquire(timeout=60)
        bench.hold.set()
        assert taken.wait(60)
        send()
        interrupted.set()

    with interruptible() as send:
        sender = bench.pool.submit(interrupt, send)
        with pytest.raises(Interrupted):
            bench.group.submit(3)
        # By the time the caller goes on, its item has been committed.
        assert committed == [2, 3]
        sender.result(60)
    assert results([leader, *second]) == [10, 20]


class Storm:
    """Interrupts the main thread once in each `attempt`, or just after it.

    It learns how long attempts take here and now, so that about half of them are interrupted. Where a
    function is given they are interrupted `within` it alone.
    """

    def __init__(self, within: FunctionType | None = None) -> None:
        self._armed = False
        self._longest = 6e-5
        self._within = within.__code__ if within is not None else None

    def __enter__(self) -> Storm:
        # A callback of the collector would swallow an interrupt, and warn of it.
        gc.disable()
        self._before = signal.signal(signal.SIGALRM, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        gc.enable()

    def attempt(self, call: Callable[[], object]) -> bool:
        """Make a call; True where it came to its end before the interrupt."""
        try:
            try:
                self._armed = True
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, self._longest))
                call()
                self._armed = False
                self._longest = max(self._longest / 1.1, 2e-6)
                return True
            except StoreUnavailable:
                self._armed = False
                return False
        except Interrupted:
            self._longest = min(self._longest * 1.1, 1.0)
            return False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._armed and not self._is_within(frame):
            signal.setitimer(signal.ITIMER_REAL, 1e-5)
        elif self._armed:
            self._armed = False
            raise Interrupted

    def _is_within(self, frame: FrameType | None) -> bool:
        if self._within is None:
            return True
        while frame is not None and frame.f_code is not self._within:
            frame = frame.f_back
        return frame is not None


@pytest.mark.slow
def test_interrupts_at_random_moments_leave_nobody_waiting() -> None:
    """Whatever the main thread is doing just then: leading, following, handing on, answering."""
    committed: list[int] = []
    done = threading.Event()

    def commit(batch: list[int]) -> list[int | Exception]:
        committed.extend(batch)
        return [-item for item in batch]

    group: Group[int, int] = Group(commit, lambda item: 1)

    def others(start: int) -> list[int]:
        answered: list[int] = []
        for item in itertools.count(start, 4):
            if done.is_set():
                break
            with suppress(StoreUnavailable):
                answered.append(-group.submit(item))
        return answered

    with ThreadPoolExecutor(3) as pool, Storm() as storm:
        threads = [pool.submit(others, start) for start in (1, 2, 3)]
        try:
            mine = [item for item in range(0, 4 * 20_000, 4) if storm.attempt(partial(group.submit, item))]
        finally:
            done.set()
        answered = [*mine, *(item for thread in threads for item in thread.result(60))]
    assert 100 < len(mine) < 19_900, "interrupts came in time, and not always"
    assert len(committed) == len(set(committed)), "no item was committed twice"
    assert set(answered) <= set(committed), "what was answered was committed"
