"""What the two event loops have under different names, looked up once and not with each call."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ledger.errors import InvalidInput


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
    present: Callable[[], object]
    """Return the loop that runs in this thread, as `itself` names it; RuntimeError where none does."""
    itself: object

    @property
    def is_here(self) -> bool:
        """Tell whether it is this loop that runs in this thread."""
        try:
            return self.present() is self.itself
        except RuntimeError:
            return False

    def check(self) -> None:
        """Refuse what is asked from elsewhere: its answer could never be delivered there.

        Raises:
            InvalidInput: another loop, or none, runs in this thread.
        """
        if not self.is_here:
            raise InvalidInput(
                "this AsyncLedger is another event loop's: open one in each, or use a Ledger in threads",
                path="loop",
                reason="it belongs to another event loop",
            )


def running() -> Loop:
    """Return the event loop that runs in this thread, asyncio's or trio's.

    Raises:
        InvalidInput: none does.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        here = asyncio.get_running_loop
        return Loop(loop.call_soon_threadsafe, asyncio.Event, asyncio.current_task, here, loop)
    if "trio" in sys.modules:
        import trio

        with suppress(RuntimeError):
            token = trio.lowlevel.current_trio_token()
            its = trio.lowlevel.current_trio_token
            return Loop(token.run_sync_soon, trio.Event, trio.lowlevel.current_task, its, token)
    reason = "no event loop of asyncio or trio runs in this thread"
    raise InvalidInput(f"{reason}: use a Ledger here", path="loop", reason=reason)
