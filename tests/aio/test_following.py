"""Tasks that follow a ledger: nothing missed or doubled, and nobody is kept waiting because many wait."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import pytest

from ledger import AsyncLedger, Ledger
from ledger.application import following
from ledger.stores.base import FullStore
from tests.aio.conftest import edge_on, until
from tests.stores.builder import shown

pytestmark = pytest.mark.anyio


async def followed(ledger: AsyncLedger, count: int, seen: list[int]) -> None:
    """Follow until so many records have come."""
    with anyio.fail_after(60):
        async with aclosing(ledger.follow(live=True)) as records:
            async for record in records:
                assert record.global_position is not None
                seen.append(record.global_position)
                if len(seen) == count:
                    return


async def test_tasks_that_follow_while_many_write_miss_and_double_nothing(store: FullStore) -> None:
    """Case-084, case-135: on loops as in threads, whoever writes."""
    writers, turns = 8, 15
    total = writers * (turns + 1)
    seen: list[list[int]] = [[], [], []]
    async with AsyncLedger(Ledger(edge_on(store))) as ledger:

        async def write(number: int) -> None:
            run = await ledger.open_run(f"r-{number}", "goal")
            for turn in range(turns):
                await run.move(f"n-{turn}")

        def write_beside(number: int) -> None:
            run = Ledger(edge_on(store)).open_run(f"r-{number}", "goal")
            for turn in range(turns):
                run.move(f"n-{turn}")

        async with anyio.create_task_group() as tasks:
            for mine in seen:
                tasks.start_soon(followed, ledger, total, mine)
            for number in range(0, writers, 2):
                tasks.start_soon(write, number)
                tasks.start_soon(anyio.to_thread.run_sync, write_beside, number + 1)
        stored = [row.gid for row in shown(store).tail(limit=total + 1)]
    assert seen == [stored] * 3
    assert len(stored) == total


async def test_however_many_tasks_follow_others_read_and_write(
    ledger: AsyncLedger, store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case-084, case-146: no thread or connection that a call needs is held by those who wait."""
    monkeypatch.setattr(following, "WAIT_SECONDS", 3600.0)
    followers = 60
    run = await ledger.open_run("r", "goal")
    seen: list[list[int]] = [[] for _ in range(followers)]
    async with anyio.create_task_group() as tasks:
        for mine in seen:
            tasks.start_soon(followed, ledger, 2, mine)
        await until(lambda: all(len(mine) == 1 for mine in seen))
        assert (await ledger.contract("r")).position == 1
        assert (await run.move("pay")).position == 2
    assert seen == [[row.gid for row in shown(store).tail()]] * followers


async def test_a_task_that_follows_can_be_cancelled_while_it_waits(
    ledger: AsyncLedger, store: FullStore
) -> None:
    """Case-084: the loop goes on at once, and so does whoever follows from there."""
    run = await ledger.open_run("r", "goal")
    seen: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(followed, ledger, 100, seen)
        await until(lambda: len(seen) == 1)
        tasks.cancel_scope.cancel()
    await run.move("pay")
    shown(store)
    assert [record.position async for record in ledger.follow(after=seen[0])] == [2]
