"""In which threads tokens stream right now."""

from __future__ import annotations

import threading
from collections import Counter

from ledger.adapters.checkpointer.errors import MidStream
from ledger.canonical import invalid


class Streams:
    """Counts the streams of each thread."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._mutex = threading.Lock()

    def begin(self, thread: str) -> None:
        with self._mutex:
            self._open[thread] += 1

    def end(self, thread: str) -> None:
        """End a stream.

        Raises:
            InvalidInput: none was begun.
        """
        with self._mutex:
            if not self._open[thread]:
                del self._open[thread]
                raise invalid("thread_id", f"no stream of thread {thread!r:.200} was begun")
            self._open[thread] -= 1
            if not self._open[thread]:
                del self._open[thread]

    def refuse(self, thread: str) -> None:
        """Refuse to save while tokens stream.

        Raises:
            MidStream: they do.
        """
        with self._mutex:
            streaming = thread in self._open
        if streaming:
            raise MidStream(
                f"tokens stream in thread {thread!r:.200}: what is saved now is half of a state",
                rule="mid_stream",
                position=None,
                evidence={},
                thread=thread,
            )
