"""Threads that call the plain functions of tools, apart from those by which the ledger reads and appends.

A thread that has begun cannot be stopped: who is cancelled meanwhile hears out what it came to.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from ledger.aio.hands import Hands
from ledger.aio.stops import Stops
from ledger.errors import StoreUnavailable

T = TypeVar("T")

CALLS_AT_ONCE = 64
"""Plain functions of tools that run at once; more wait for a thread, with their leases kept alive."""


class NotCalled(Enum):
    """What stands for the result of a function that was not called, and never will be."""

    NOT_CALLED = "not called"


NOT_CALLED: Final = NotCalled.NOT_CALLED


class Workers:
    """Calls plain functions for the tasks of one loop."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def call(self, function: Callable[[], T], stops: Stops) -> T | NotCalled:
        """Call a function in a thread, in a copy of the caller's context.

        A caller that is stopped before a thread has begun is answered with `NOT_CALLED`; later it hears what
        the function came to. What stopped it is kept in `stops`.

        Raises:
            StoreUnavailable: no thread can be started, and nothing was called; `reason` is `threads`.
        """
        calling = _Calling(function, self._hands)
        try:
            with stops.kept():
                await anyio.to_thread.run_sync(calling.run, limiter=self._limiter)
                await checkpoint_if_cancelled()  # a cancellation may have waited for the thread
        except RuntimeError as error:
            if calling.withdrew():
                raise StoreUnavailable("no thread can be started", reason="threads") from error
            raise
        if calling.withdrew():
            return NOT_CALLED
        if not calling.outcomes:
            await stops.until_set(calling.ended)
        (outcome,) = calling.outcomes
        if isinstance(outcome, _Raised):
            raise outcome.error
        return outcome


class _Raised(NamedTuple):
    error: BaseException


class _Calling(Generic[T]):
    """One call of a function, which either a thread begins or who asked for it takes back."""

    def __init__(self, function: Callable[[], T], hands: Hands) -> None:
        self._function = function
        self._hands = hands
        self._taken = Lock()
        self.outcomes: list[T | _Raised] = []
        self.ended = hands.loop.event()

    def withdrew(self) -> bool:
        """Take it back; False where a thread has begun."""
        return self._taken.acquire(blocking=False)

    def run(self) -> None:
        """Call the function, unless it was taken back; in the thread."""
        if not self._taken.acquire(blocking=False):
            return
        try:
            self.outcomes.append(self._function())
        except BaseException as error:  # noqa: BLE001  it belongs to who asked
            self.outcomes.append(_Raised(error))
        self._hands.deliver(self._end, None)

    def _end(self, _: None) -> None:
        self.ended.set()
