"""Stopping a task at a moment that a test chooses, in each of the ways there are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ledger import AsyncLedger, AsyncRun

Stop = Callable[[], object]
Call = Callable[[], Awaitable[Any]]

WAYS = [("asyncio", "scope"), ("asyncio", "task"), ("trio", "scope")]
"""The loop, and what is cancelled: a scope of anyio's, or a task in asyncio's own way."""

each_way = pytest.mark.parametrize(("anyio_backend", "way"), WAYS)


async def stopped(way: str, call: Call, moment: Callable[[Stop], Awaitable[object]]) -> list[Any]:
    """Call in a task, and stop it at a moment; return its result, or nothing where it was cancelled.

    `moment` is given what stops the task, and may go on after that.
    """
    results: list[Any] = []
    async with anyio.create_task_group() as tasks:
        if way == "task":
            task = asyncio.ensure_future(call())

            async def ended() -> None:
                await asyncio.wait([task])
                if not task.cancelled():
                    results.append(task.result())

            tasks.start_soon(ended)
            await moment(task.cancel)
        else:
            scope = anyio.CancelScope()

            async def within() -> None:
                with scope:
                    results.append(await call())

            tasks.start_soon(within)
            await moment(scope.cancel)
    return results


async def some_turns(turns: int = 10) -> None:
    """Let other tasks go on for a while."""
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()


async def names(ledger: AsyncLedger, run: AsyncRun) -> list[str]:
    """Return the names of what was recorded in a run after it was opened."""
    return [record.name async for record in ledger.log(run.id, after=1)]
