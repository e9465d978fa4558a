"""Ways for appends into the store: those that rely on a source wait for its head, and for them nobody else.

An append that is guarded by a source, or goes to one, may have to wait for a lock on a head as long as
anybody keeps it. So all that need the same heads share a lane of their own, with group commit as usual, and a
connection while they commit. Everything else goes in one lane that waits for no head.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition
from weakref import WeakValueDictionary

from ledger.errors import StoreBusy
from ledger.stores.base import Append, Appended, size
from ledger.stores.commit import Group
from ledger.stores.postgres.rounds import Outcome
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.writer import Writer

_RELYING_WRITERS = 4
"""Connections for lanes that rely on sources: so many of them may stand still at once."""

Lane = Group[Append, Appended]


class Lanes:
    """The lanes of one store; `done` is called after each commit."""

    def __init__(self, server: Server, done: Callable[[], None], *, max_waiting: int) -> None:
        self._where = server.where
        self._patience_seconds = server.busy_seconds
        self._done = done
        self._max_waiting = max_waiting
        self.writer = Writer(server)
        """Writes what relies on no source."""
        self._relying = [Writer(server) for _ in range(_RELYING_WRITERS)]
        self._free = list(self._relying)
        self._condition = Condition()
        self._common = self._lane(self._commit)
        self._lanes: WeakValueDictionary[tuple[str, ...], Lane] = WeakValueDictionary()
        """By tenant and heads; who has an append in one keeps it."""
        self._paused: list[Writer] = []

    def of(self, append: Append) -> Lane:
        """Return the lane that an append belongs to."""
        first = append.streams[0]
        if not append.guards and not first.is_source:
            return self._common
        heads = {guard.stream for guard in append.guards}
        if first.is_source:
            heads.add(first.stream)
        place = append.tenant, *sorted(heads)
        with self._condition:
            lane = self._lanes.get(place)
            if lane is None:
                lane = self._lanes[place] = self._lane(self._commit_relying)
            return lane

    def close(self) -> None:
        """Close all connections for good."""
        for writer in self._all:
            writer.close()

    def pause(self, seconds: float) -> bool:
        """Close what is open and keep everybody out until `resume`; False where a commit takes longer."""
        deadline = time.monotonic() + seconds
        self._paused = []
        for writer in self._all:
            if not writer.pause(max(deadline - time.monotonic(), 0)):
                self.resume()
                return False
            self._paused.append(writer)
        return True

    def resume(self) -> None:
        """Let writing begin again after `pause`."""
        while self._paused:
            self._paused.pop().resume()

    @property
    def _all(self) -> list[Writer]:
        return [self.writer, *self._relying]

    def _lane(self, commit: Callable[[list[Append]], list[Outcome]]) -> Lane:
        return Group(commit, size, max_waiting=self._max_waiting)

    def _commit(self, batch: list[Append]) -> list[Outcome]:
        outcomes = self.writer.commit(batch)
        self._done()
        return outcomes

    def _commit_relying(self, batch: list[Append]) -> list[Outcome]:
        borrowed: list[Writer] = []
        try:
            if not self._borrow(borrowed):
                return [self._crowded() for _ in batch]
            outcomes = borrowed[0].commit(batch)
        finally:
            with self._condition:
                self._free += borrowed
                self._condition.notify()
        self._done()
        return outcomes

    def _borrow(self, borrowed: list[Writer]) -> bool:
        """Take a connection, the one used last first; False where none has become free in time."""
        with self._condition:
            if not self._condition.wait_for(lambda: self._free, self._patience_seconds):
                return False
            # An interrupt in between leaves it free twice, which costs a wait, and never lost.
            borrowed.append(self._free[-1])
            del self._free[-1]
            return True

    def _crowded(self) -> StoreBusy:
        waiting = len(self._relying)
        return StoreBusy(
            f"{self._where}: all {waiting} connections for what relies on sources are waiting, nothing was "
            "stored: back off and repeat",
            reason="pool",
            where=self._where,
        )
