"""Wake who waits for the next commit, at no cost while nobody waits.

Commits of this process wake at once and together; those of others are noticed by looking again after
`poll_seconds`. Looking is the truth, waking only makes it sooner: nothing is lost when a wake-up is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition

_FIRST_POLL_SECONDS = 0.001


class Wakeup:
    """A condition that many may wait for and one at a time announces."""

    def __init__(self, poll_seconds: float) -> None:
        self._poll_seconds = poll_seconds
        self._condition = Condition()
        self._waiting = 0
        self._commits = 0

    def announce(self) -> None:
        """Wake all who wait; called after a commit."""
        # Who waits has counted itself before it read `_commits`: either it sees this commit or we see it.
        self._commits += 1
        if self._waiting:
            with self._condition:
                self._condition.notify_all()

    def wait(self, arrived: Callable[[], bool], timeout: float) -> bool:
        """Wait until `arrived` says so, at most `timeout` seconds; return what it said last."""
        deadline = time.monotonic() + timeout
        # Where something has just come more is likely to: the first looks follow one another closely.
        pause = min(_FIRST_POLL_SECONDS, self._poll_seconds)
        with self._condition:
            self._waiting += 1
        try:
            while True:
                seen = self._commits
                if arrived():
                    return True
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                with self._condition:
                    if self._commits == seen:
                        self._condition.wait(min(remaining, pause))
                pause = min(2 * pause, self._poll_seconds)
        finally:
            with self._condition:
                self._waiting -= 1
