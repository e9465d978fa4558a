"""In which threads tokens stream right now, as this program was told."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable
from typing import Final

from ledger.adapters.checkpointer.errors import MidStream
from ledger.canonical import invalid

_mutex: Final = threading.Lock()
_open: Final[Counter[tuple[Hashable, str]]] = Counter()
"""How many streams each thread of each place has. Who saves may have opened the place by itself."""


class Streams:
    """Counts the streams of the threads of a place, together with all who have opened the same one."""

    def __init__(self, place: Hashable) -> None:
        """Count for a place, as it is named."""
        self._place = place

    def begin(self, thread: str) -> None:
        key = self._key(thread)
        with _mutex:
            _open[key] += 1

    def end(self, thread: str) -> None:
        """End a stream.

        Raises:
            InvalidInput: none was begun.
        """
        key = self._key(thread)
        with _mutex:
            left = _open.pop(key, 0) - 1
            if left > 0:
                _open[key] = left
        if left < 0:
            raise invalid("thread_id", f"no stream of thread {thread!r:.200} was begun")

    def refuse(self, thread: str) -> None:
        """Refuse to save while tokens stream.

        Raises:
            MidStream: they do.
        """
        with _mutex:
            streaming = self._key(thread) in _open
        if streaming:
            raise MidStream(
                f"tokens stream in thread {thread!r:.200}: what is saved now is half of a state",
                rule="mid_stream",
                position=None,
                evidence={},
                thread=thread,
            )

    def _key(self, thread: str) -> tuple[Hashable, str]:
        return self._place, thread
