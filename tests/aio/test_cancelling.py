"""A cancelled call has said nothing, or ends when its fate is known."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
import pytest

from ledger import AsyncLedger
from ledger.aio import turns
from ledger.errors import StoreBusy
from tests.aio.conftest import Held, until

pytestmark = pytest.mark.anyio


async def test_a_call_that_was_taken_ends_when_its_fate_is_known(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    with held.held():
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as scope:
                tasks.start_soon(run.move, "pay")
                await anyio.to_thread.run_sync(held.begun.wait)
                tasks.start_soon(_cancel_and_release, held, scope)
                await run.move("look")
                raise AssertionError("it was cancelled")
    # The one under way was finished, the one that waited was withdrawn.
    assert [record.position async for record in ledger.log("r")] == [1, 2]
    assert (await run.contract).position == run.position == 2


async def _cancel_and_release(held: Held, scope: anyio.CancelScope) -> None:
    scope.cancel()
    await anyio.lowlevel.checkpoint()
    held.let_go()


async def test_the_fate_is_known_when_the_cancelled_call_ends(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    ended: list[int] = []
    with held.held():
        async with anyio.create_task_group() as tasks:

            async def say() -> None:
                try:
                    await run.move("pay")
                finally:
                    ended.append(run.position)

            tasks.start_soon(say)
            await anyio.to_thread.run_sync(held.begun.wait)
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                assert ended == []
                held.let_go()
    assert ended == [2]
    assert (await ledger.contract("r")).position == 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_of_asyncio_that_is_cancelled_again_and_again_still_waits(
    ledger: AsyncLedger, held: Held
) -> None:
    run = await ledger.open_run("r", "goal")
    with held.held():
        task = asyncio.create_task(_move(run))
        await asyncio.to_thread(held.begun.wait)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not task.done()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.position == 2


async def _move(run: object) -> None:
    await run.move("pay")  # type: ignore[attr-defined]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_time_out_never_leaves_an_append_behind(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    told = []
    with held.held():

        async def impatient() -> None:
            try:
                async with asyncio.timeout(0):
                    await run.move("pay")
            except TimeoutError:
                told.append(run.position)

        task = asyncio.create_task(impatient())
        await asyncio.to_thread(held.begun.wait)
        assert told == []
    await task
    assert told == [2]


async def test_others_are_not_harmed_when_the_one_who_began_is_cancelled(
    ledger: AsyncLedger, held: Held
) -> None:
    run = await ledger.open_run("r", "goal")
    positions: list[int] = []

    async def say(node: str) -> None:
        positions.append((await run.move(node)).position)

    with held.held():
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def first() -> None:
                with scope:
                    await say("first")

            tasks.start_soon(first)
            await anyio.to_thread.run_sync(held.begun.wait)
            tasks.start_soon(say, "second")
            tasks.start_soon(say, "third")
            await until(lambda: len(run._turns._waiting) == 2)
            scope.cancel()
            held.let_go()
    assert sorted(positions) == [3, 4]
    assert (await ledger.contract("r")).position == 4


async def test_a_full_queue_is_told(ledger: AsyncLedger, held: Held) -> None:
    runs = [await ledger.open_run(f"r-{number}", "goal") for number in range(110)]
    refused: list[StoreBusy] = []

    async def say(number: int) -> None:
        try:
            await runs[number].move("pay")
        except StoreBusy as busy:
            refused.append(busy)

    with held.held():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, 0)
            await until(held.begun.is_set)
            for number in range(1, 110):
                tasks.start_soon(say, number)
            await until(lambda: len(refused) == 9)
            held.let_go()
    assert len(refused) == 9
    assert sum(run.position == 2 for run in runs) == 101


async def test_a_full_queue_of_one_run_is_told_too(
    ledger: AsyncLedger, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WAITING", 20)
    run = await ledger.open_run("r", "goal")
    refused: list[StoreBusy] = []

    async def say(number: int) -> None:
        try:
            await run.assume(f"a-{number}", "in stock")
        except StoreBusy as busy:
            refused.append(busy)

    with held.held():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, 0)
            await until(held.begun.is_set)
            for number in range(1, 30):
                tasks.start_soon(say, number)
            await until(lambda: len(refused) == 9)
            held.let_go()
    assert run.position == 1 + 21
    assert refused[0].data["waiting"] == 20
