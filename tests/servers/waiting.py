"""Waiting on a condition for what a server does in its own time, up to a limit no sound one reaches."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT_SECONDS = 60.0


def until(condition: Callable[[], object], what: str) -> None:
    """Return as soon as the condition holds; TimeoutError names what did not come about."""
    limit = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(f"waited {LIMIT_SECONDS:g} s in vain: {what}")
        time.sleep(0.005)
