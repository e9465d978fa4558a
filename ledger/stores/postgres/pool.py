"""Connections that are lent out, one to a thread at a time; one that has died meanwhile is replaced."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition
from typing import Any, TypeVar

from ledger.errors import StoreBusy, StoreUnavailable
from ledger.stores.postgres.errors import DRIVER_ERRORS, Trouble, closed, translate, trouble
from ledger.stores.postgres.session import Session

T = TypeVar("T")
Holders = Callable[[Session], Sequence[dict[str, Any]]]
"""Name, on a connection that waited for a lock in vain, who may have it."""


class Pool:
    """Lends at most `limit` connections, and opens them when they are needed."""

    def __init__(
        self,
        connect: Callable[[], Session],
        where: str,
        *,
        limit: int,
        patience_seconds: float,
        holders: Holders = lambda session: (),
    ) -> None:
        self._connect = connect
        self._holders = holders
        self._where = where
        self._limit = limit
        self._patience_seconds = patience_seconds
        self._condition = Condition()
        self._idle: list[Session] = []
        self._lent = 0
        self._paused = False
        self._closed = False

    def use(self, step: Callable[[Session], T]) -> T:
        """Run a step that may be run twice; where its connection breaks, it is run on another one.

        Raises:
            StoreUnavailable: no connection could be made, or each one broke, all through the patience.
            StoreBusy: all connections were lent all the time.
        """
        deadline = time.monotonic() + self._patience_seconds
        pause = 0.02
        once_more = True
        while True:
            try:
                return self._use_once(step, deadline)
            except StoreUnavailable as error:
                reason = error.data["reason"]
                # A connection that died while nobody used it says nothing of the server: whatever the
                # patience, a new one is tried.
                at_once, once_more = once_more and reason == "connection_lost", False
                if not at_once and (reason not in PASSING or time.monotonic() + pause > deadline):
                    raise
                # What else is idle has most likely died with it.
                with self._condition:
                    self._drop()
                if at_once:
                    continue
            time.sleep(pause)
            pause = min(pause * 2, 0.5)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Close for good; who uses a connection at this moment still finishes."""
        with self._condition:
            self._closed = True
            self._drop()
            self._condition.notify_all()

    def pause(self, seconds: float) -> bool:
        """Close what is open and keep everybody out until `resume`; False where a step takes longer."""
        with self._condition:
            self._paused = True
            if not self._condition.wait_for(lambda: self._lent == 0, seconds):
                return False
            self._drop()
            return True

    def resume(self) -> None:
        """Let work begin again after `pause`."""
        with self._condition:
            self._paused = False
            self._condition.notify_all()

    def _use_once(self, step: Callable[[Session], T], deadline: float) -> T:
        session = self._borrow(deadline)
        whole = False
        try:
            if session is None:
                session = self._connect()
            found = step(session)
            whole = session.idle
        except DRIVER_ERRORS as error:
            # A refused statement leaves the connection as it was; anything else may not have.
            whole = session is not None and trouble(error) is not Trouble.LOST and session.idle
            asked = session if whole and trouble(error) is Trouble.LOCKED else None
            raise translate(error, self._where, self._holding(asked)) from error
        finally:
            self._give_back(session, whole)
        return found

    def _holding(self, session: Session | None) -> Sequence[dict[str, Any]]:
        if session is not None:
            with suppress(*DRIVER_ERRORS):
                return self._holders(session)
        return ()

    def _borrow(self, deadline: float) -> Session | None:
        with self._condition:
            while not self._closed and (self._paused or self._lent >= self._limit):
                if not self._condition.wait(deadline - time.monotonic()) and not self._paused:
                    raise StoreBusy(
                        f"{self._where}: all {self._limit} connections are in use: back off and repeat",
                        reason="pool",
                        where=self._where,
                    )
            if self._closed:
                raise closed(self._where)
            self._lent += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: Session | None, whole: bool) -> None:
        if session is not None and not whole:
            session.close()
            session = None
        with self._condition:
            self._lent -= 1
            if session is not None:
                if self._closed or self._paused:
                    session.close()
                else:
                    self._idle.append(session)
            if self._paused:
                self._condition.notify_all()
            else:
                self._condition.notify()

    def _drop(self) -> None:
        while self._idle:
            self._idle.pop().close()


PASSING = frozenset({"unreachable", "connection_lost"})
"""Reasons that may have gone a moment later."""
