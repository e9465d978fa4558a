"""What both faces of a checkpointer say of streams: nothing of it waits, so that it is written once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.adapters.bound import Bound
from ledger.adapters.checkpointer.engine import Engine


class Streaming(Bound):
    """Hears in which conversations tokens stream; saving them is refused meanwhile."""

    _engine: Engine

    @contextmanager
    def streaming(self, thread_id: str) -> Iterator[None]:
        """Say that tokens stream in a conversation as long as the block lasts: saving it is refused."""
        self.begin_stream(thread_id)
        try:
            yield
        finally:
            self.end_stream(thread_id)

    def begin_stream(self, thread_id: str) -> None:
        """Say that tokens stream from now on; several streams of a conversation are counted."""
        self._engine.streams.begin(thread_id)

    def end_stream(self, thread_id: str) -> None:
        """Say that a stream has ended.

        Raises:
            InvalidInput: none was begun.
        """
        self._engine.streams.end(thread_id)
