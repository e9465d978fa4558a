"""Opening a ledger for an event loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial, wraps
from types import TracebackType
from typing import Any, ParamSpec

import anyio.to_thread

from ledger.aio.ledger import AsyncLedger
from ledger.application.ledger import Ledger
from ledger.application.opening import open_ledger
from ledger.gateway.tools import Tool

P = ParamSpec("P")


class Opening:
    """A ledger that is being opened: await it, or enter it with `async with`, which closes it in the end."""

    def __init__(self, opening: Callable[[], Ledger], tools: Iterable[Tool] = ()) -> None:
        self._opening = opening
        self._tools = tuple(tools)
        self._ledger: AsyncLedger | None = None

    def __await__(self) -> Generator[Any, Any, AsyncLedger]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncLedger:
        self._ledger = await self._open()
        return self._ledger

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._ledger is not None:
            await self._ledger.close()

    async def _open(self) -> AsyncLedger:
        ledger = AsyncLedger(await anyio.to_thread.run_sync(self._opening))
        for tool in self._tools:
            ledger.register(tool)
        return ledger


def _awaited(open_: Callable[P, Ledger]) -> Callable[P, Opening]:
    @wraps(open_)
    def opening(*args: P.args, **options: P.kwargs) -> Opening:
        given: dict[str, Any] = dict(options)
        # Registered here: a ledger that awaits nothing is opened underneath, and refuses coroutine functions.
        tools = given.pop("tools", ())
        return Opening(partial(open_, *args, **given), tools)

    opening.__name__ = opening.__qualname__ = "open_async_ledger"
    opening.__module__ = __name__
    opening.__doc__ = """Open a ledger for the running event loop, creating its tables where there are none.

        async with open_async_ledger("runs.db") as ledger: ...
        ledger = await open_async_ledger("runs.db")

    Arguments and errors are those of `open_ledger`; tools may be coroutine functions. Await what is
    returned, or enter it with `async with`.
    """
    return opening


# Made of `open_ledger` itself, so that the two never take different options.
open_async_ledger = _awaited(open_ledger)
