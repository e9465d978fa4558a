"""Group commit: many appends share one commit, and a single one pays nothing for it.

Leader and followers. Who finds the group idle leads: it commits at once, in its own thread. Who arrives
meanwhile waits in a queue. When the leader is done it promotes the first of them, which takes all that wait
by then; only afterwards are the followers of the old batch answered, so that the store does not idle
while they wake up.

Who was answered together comes back together, more or less. The first of them would find the group idle and
commit alone, and the others wait for that: every second commit would be of one. So a leader that follows a
batch waits for as many as that one had, for a small part of the time it took. Who is alone never waits.

A request carries its state, and every step looks at the state instead of assuming it: steps may be cut
short by an interrupt (KeyboardInterrupt, SystemExit, whatever a signal handler raises) and run again, and a
waiter may be woken once too often. What must not happen is that a request stays without an answer.

Source: Hagmann, "Reimplementing the Cedar file system using logging and group commit" (1987); leader and
followers as in RocksDB's write thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

from ledger.errors import StoreBusy, StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

Commit = Callable[[list[T]], Sequence[R | Exception]]
"""Settle a batch durably; one outcome or exception for each item, in their order."""


def linger(took: float) -> float:
    """Return for how many seconds to wait for others after a batch that took so many."""
    return min(took / 4, 0.005)


class State(Enum):
    """How far a request has come."""

    WAITING = "waiting"
    LEADING = "leading"
    TAKEN = "taken"
    ANSWERED = "answered"


# Bound once: looking a member up on an enum class is slow, and every append does it several times.
_WAITING, _LEADING, _TAKEN, _ANSWERED = State.WAITING, State.LEADING, State.TAKEN, State.ANSWERED


class Request(Generic[T, R]):
    """One item on its way through the group.

    `wake` is called, perhaps more than once and from another thread, when the state has become LEADING
    (somebody has to call `Group.lead` for it) or ANSWERED.
    """

    __slots__ = ("batch", "item", "outcome", "size", "state", "wake")

    def __init__(self, item: T, wake: Callable[[], None] | None = None) -> None:
        self.item = item
        self.wake = wake
        self.state = _WAITING
        self.size = 0
        self.batch: list[Request[T, R]] | None = None
        self.outcome: R | Exception | None = None


class Group(Generic[T, R]):
    """Let one caller at a time commit, and take along what the others brought meanwhile."""

    def __init__(
        self,
        commit: Commit[T, R],
        size: Callable[[T], int],
        *,
        max_batch: int = 512,
        max_batch_bytes: int = 8 * 1024 * 1024,
        max_waiting: int = 8192,
        linger: Callable[[float], float] = linger,
    ) -> None:
        self._commit = commit
        self._size = size
        self._max_batch = max_batch
        self._max_batch_bytes = max_batch_bytes
        self._max_waiting = max_waiting
        self._linger = linger
        self._recent = 1
        """Requests in the last commit."""
        self._took = 0.0
        """Seconds that it took."""
        self._awaited = 0
        """Followers that the leader waits for before it commits; 0: it does not."""
        self._gathered = _Gate()
        self._mutex = Lock()
        self._leader: Request[T, R] | None = None
        self._queue: list[Request[T, R]] = []

    def submit(self, item: T) -> R:
        """Commit an item, alone or in company, and return its outcome or raise its exception.

        A caller that is interrupted while it waits withdraws its item; once the item is taken into a batch
        its fate is awaited first.

        Raises:
            StoreBusy: too many wait already.
            StoreUnavailable: the leader was interrupted, so the fate of the item is not known.
        """
        request: Request[T, R] = Request(item)
        try:
            if self.enter(request):
                self.lead(request)
            else:
                self._follow(request)
        except BaseException:
            if request.state is not _ANSWERED:
                _surely(self._withdraw, request)
            raise
        outcome = request.outcome
        if isinstance(outcome, Exception):
            try:
                raise outcome
            finally:
                # Its traceback holds the frames it came through, and kept here they would hold it: all
                # of them would wait for the collector.
                request.outcome = None
                del outcome
        assert outcome is not None, "an answered request has an outcome"
        return outcome

    def enter(self, request: Request[T, R]) -> bool:
        """Let a request in; True means that the group was idle and the caller has to lead."""
        with self._mutex:
            if self._leader is None:
                request.state = _LEADING
                self._leader = request
                return True
            if len(self._queue) >= self._max_waiting:
                raise StoreBusy(
                    f"{len(self._queue)} appends wait for the store already: back off and repeat",
                    waiting=len(self._queue),
                )
            request.size = self._size(request.item)
            if request.wake is None:
                request.wake = _Gate()
            self._queue.append(request)
            if len(self._queue) == self._awaited:
                self._gathered()
            return False

    def lead(self, leader: Request[T, R]) -> None:
        """Commit this request with all that wait, hand the lead on, then answer the followers."""
        error: BaseException | None = None
        try:
            if self._recent > 1:
                self._gather()
            began = time.perf_counter()
            if self._queue:
                batch = self._take(leader)
                outcomes = self._commit([request.item for request in batch])
                for request, outcome in zip(batch, outcomes, strict=True):
                    request.outcome = outcome
                self._recent = len(batch)
            else:
                (leader.outcome,) = self._commit([leader.item])
                self._recent = 1
            self._took = time.perf_counter() - began
        except BaseException as raised:
            error = raised
            raise
        finally:
            _surely(self._finish, leader, error)

    def _gather(self) -> None:
        """Wait for as many as were in the last commit, but not for long."""
        with self._mutex:
            self._gathered.wait(0)  # an opening that came too late for the one before
            self._awaited = self._recent - 1
            missing = len(self._queue) < self._awaited
        if missing:
            self._gathered.wait(self._linger(self._took))
        self._awaited = 0

    def _take(self, leader: Request[T, R]) -> list[Request[T, R]]:
        with self._mutex:
            count, size = 0, leader.size
            for request in self._queue:
                size += request.size
                if count + 1 >= self._max_batch or size > self._max_batch_bytes:
                    break
                request.state = _TAKEN
                count += 1
            leader.batch = batch = [leader, *self._queue[:count]]
            self._queue = self._queue[count:]
        return batch

    def _finish(self, leader: Request[T, R], error: BaseException | None) -> None:
        """Hand the lead on and answer the batch; running it twice does no harm."""
        with self._mutex:
            if self._leader is leader:
                self._promote()
            successor = self._leader
        if successor is not None and successor.wake is not None:
            successor.wake()
        if leader.batch is not None:
            for request in leader.batch[1:]:
                if request.outcome is None:
                    request.outcome = _fate_unknown(error)
                request.state = _ANSWERED
                if request.wake is not None:
                    request.wake()
        if leader.outcome is None:
            leader.outcome = _fate_unknown(error)
        leader.state = _ANSWERED

    def _promote(self) -> None:
        """Make the first that waits the leader; the mutex is held."""
        queue = self._queue
        if not queue:
            self._leader = None
            return
        successor, rest = queue[0], queue[1:]
        successor.state = _LEADING
        # Two plain stores with no call between them, so no interrupt falls between them either.
        self._leader, self._queue = successor, rest

    def _follow(self, request: Request[T, R]) -> None:
        gate = request.wake
        assert isinstance(gate, _Gate), "who follows in its own thread waits at a gate"
        while request.state is not _ANSWERED:
            gate.wait()
            if request.state is _LEADING:
                self.lead(request)

    def _withdraw(self, request: Request[T, R]) -> None:
        """Take an interrupted caller's request out, or see it to its end."""
        with self._mutex:
            if request.state is _WAITING:
                self._queue = [other for other in self._queue if other is not request]
                request.state = _ANSWERED
        if request.state is _LEADING:
            self._finish(request, None)
        gate = request.wake
        while isinstance(gate, _Gate) and request.state is not _ANSWERED:
            gate.wait()


class _Gate:
    """Where a follower's thread waits; a spare opening is let through and does no harm."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def __call__(self) -> None:
        # Where the lock is not held an opening is pending already, and one is enough.
        with suppress(RuntimeError):
            self._lock.release()

    def wait(self, seconds: float = -1) -> None:
        self._lock.acquire(timeout=seconds)


def _fate_unknown(error: BaseException | None) -> StoreUnavailable:
    fate = StoreUnavailable(
        "the commit that held this append was cut short, its fate is not known: repeat it as it is",
        reason="interrupted",
    )
    fate.__cause__ = error
    return fate


def _surely(step: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run a step to its end, however often it is interrupted; what interrupted it is raised afterwards."""
    interrupt: BaseException | None = None
    for _ in range(100):
        try:
            step(*args, **kwargs)
            break
        except BaseException as raised:  # noqa: BLE001  a signal handler may raise anything
            interrupt = raised
    if interrupt is not None:
        raise interrupt
