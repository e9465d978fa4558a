"""How much is held of what is known to be stored of threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from ledger.adapters.packs import Memo

if TYPE_CHECKING:
    from ledger.adapters.threads.threads import Entry

BYTES = 64 * 1024 * 1024
"""Bytes of elements that are held at most, but for those of the thread that was used last."""


class Memory:
    """Lets go of the memos of threads that were used longest ago, where all take too much.

    A thread whose memo was let go of loses nothing: its next state is read first, or stored as a whole.
    """

    def __init__(self, most: int = BYTES) -> None:
        self._most = most
        self._sizes: OrderedDict[str, tuple[Entry, int]] = OrderedDict()
        self._total = 0
        self._mutex = threading.Lock()

    def used(self, entry: Entry) -> None:
        """Note that the memo of a thread was used, and may have grown."""
        with entry.mutex:
            size = entry.memo.size
        for other in self._weighed(entry, size):
            with other.mutex:
                other.memo = Memo(other.memo.dropped)

    def forget(self, thread: str) -> None:
        """Count a thread no longer."""
        with self._mutex:
            self._take(thread)

    def _weighed(self, entry: Entry, size: int) -> list[Entry]:
        """Note the size of an entry's memo, and return the entries whose memos are to be let go of."""
        with self._mutex:
            self._take(entry.thread)
            self._sizes[entry.thread] = entry, size
            self._total += size
            gone: list[Entry] = []
            while self._total > self._most and len(self._sizes) > 1:
                other, less = self._sizes.popitem(last=False)[1]
                self._total -= less
                gone.append(other)
            return gone

    def _take(self, thread: str) -> None:
        known = self._sizes.pop(thread, None)
        if known is not None:
            self._total -= known[1]
