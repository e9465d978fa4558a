"""Notice that followers are held back: events are stored, and the ceiling they are shown below stands still.

The ceiling is the oldest transaction that still runs, in any database of the server. It moves on with every
commit; where it does not, somebody has left a transaction open, and followers have to say so instead of
waiting for him in silence.
"""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """How far followers see, as of one moment."""

    end: int
    """The last event below the ceiling."""
    newest: int
    """The last event that is committed."""
    oldest: int
    """The oldest transaction that runs, or the next one."""


class Stall:
    """Remembers since when one transaction has held followers back."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: tuple[int, float] | None = None

    def noticed(self, progress: Progress, now: float) -> bool:
        """Tell whether it has lasted too long; then it begins anew, and is told once in each stretch."""
        if progress.newest <= progress.end:
            self._seen = None
            return False
        # Read once: other threads write it.
        seen = self._seen
        if seen is None or seen[0] != progress.oldest:
            self._seen = progress.oldest, now
            return False
        if now - seen[1] < self._seconds:
            return False
        self._seen = None
        return True
