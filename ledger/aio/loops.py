"""What the two event loops have under different names, looked up once and not with each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Event(Protocol):
    """Something tasks wait for; set in the loop's thread."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...

    async def wait(self) -> Any: ...


class Loop(NamedTuple):
    """A running event loop."""

    soon: Callable[[Callable[[], object]], object]
    """Schedule a call; from any thread."""
    event: Callable[[], Event]
    """Make an event."""
    task: Callable[[], object]
    """Return the task that is running."""


def running() -> Loop:
    """Return the event loop that runs in this thread, asyncio's or trio's."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        token = trio.lowlevel.current_trio_token()
        return Loop(token.run_sync_soon, trio.Event, trio.lowlevel.current_task)
    return Loop(loop.call_soon_threadsafe, asyncio.Event, asyncio.current_task)
