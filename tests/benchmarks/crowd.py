"""Many callers at once: threads, or the tasks of one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ledger import AsyncLedger, open_async_ledger
from ledger.aio import AsyncRun
from ledger.application.statements import Stated
from tests.benchmarks.measure import seconds
from tests.benchmarks.workload import ACTOR, moves

Step = Callable[[], object]
AsyncStep = Callable[[], Coroutine[Any, Any, Stated]]


def in_threads(steps: Sequence[Step], times: int) -> float:
    """Let a thread for each step take it so many times; return the seconds until the last is done."""

    def loop(step: Step) -> None:
        for _ in range(times):
            step()

    with ThreadPoolExecutor(len(steps)) as threads:
        return seconds(lambda: list(threads.map(loop, steps)))


class Tasks:
    """The tasks of one event loop, and the ledger they share."""

    def __init__(self, runner: asyncio.Runner, ledger: AsyncLedger) -> None:
        self._runner = runner
        self._ledger = ledger

    def open_run(self, name: str) -> AsyncRun:
        return self._runner.run(self._ledger.open_run(name, "goal"))

    def steps(self, name: str, number: int) -> list[AsyncStep]:
        """Return a step for each of so many runs."""
        return [moves(self.open_run(f"{name}-{n}"), count()) for n in range(number)]

    def time(self, steps: Sequence[AsyncStep], times: int) -> float:
        """Let a task for each step take it so many times; return the seconds until the last is done."""
        return seconds(lambda: self._runner.run(_together(steps, times)))


@contextmanager
def tasks(url: str | Path) -> Iterator[Tasks]:
    """Open a ledger for an event loop, and close both afterwards."""
    with asyncio.Runner() as runner:
        ledger = runner.run(_opened(url))
        try:
            yield Tasks(runner, ledger)
        finally:
            runner.run(ledger.close())


async def _opened(url: str | Path) -> AsyncLedger:
    return await open_async_ledger(url, actor=ACTOR)


async def _together(steps: Sequence[AsyncStep], times: int) -> None:
    async def loop(step: AsyncStep) -> None:
        for _ in range(times):
            await step()

    async with asyncio.TaskGroup() as group:
        for step in steps:
            group.create_task(loop(step))
