"""What stops a task in the middle, and how it hears out what it has begun all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from ledger.aio.loops import Event


async def until_set(event: Event) -> None:
    """Wait until an event is set, however often the task is cancelled meanwhile."""
    while not event.is_set():
        try:
            with anyio.CancelScope(shield=True):
                await event.wait()
        except anyio.get_cancelled_exc_class():
            # asyncio's own cancelling reaches through a shield; the first one is raised again later.
            continue


class Stops:
    """What stopped a task while it heard out what it had begun; it is raised once that is known.

    The first to stop a task is kept: a cancellation, or an interrupt. An interrupt that comes while the task
    hears out what an earlier one left is raised at once: who asks twice does not want to wait.
    """

    def __init__(self) -> None:
        self.first: BaseException | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what stops the task in here instead of raising it; only its end cannot be kept.

        An `Exception` is no stop, and is raised.
        """
        try:
            yield
        except (Exception, GeneratorExit):
            raise
        except BaseException as stopped:
            if self.first is None:
                self.first = stopped
            elif not isinstance(stopped, anyio.get_cancelled_exc_class()):
                raise

    async def until_set(self, event: Event) -> None:
        """Wait until an event is set, and keep what stops the task meanwhile."""
        with self.kept():
            await event.wait()
        await until_set(event)

    async def sleep(self, seconds: float) -> None:
        """Sleep, though the task was cancelled; less where it is cancelled now."""
        with self.kept(), anyio.CancelScope(shield=True):
            await anyio.sleep(seconds)

    def check(self) -> None:
        """Raise what stopped the task, if anything did."""
        stopped, self.first = self.first, None
        if stopped is not None:
            try:
                raise stopped
            finally:
                del stopped  # kept here it would hold the frames it came through, and they this
