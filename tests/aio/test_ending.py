"""However it ends: nobody is left waiting, nothing is left behind, and the program ends."""

from __future__ import annotations

import asyncio
import gc
import itertools
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from ledger import AsyncLedger, AsyncRun, Ledger, open_async_ledger, open_ledger
from ledger.commands import MoveCursor
from ledger.errors import InvalidInput, LedgerError, StoreUnavailable
from ledger.events import CursorMoved
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from tests.aio.conftest import Held, edge_on, until

pytestmark = pytest.mark.anyio
only_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])


# --- cancelling, wherever ----------------------------------------------------------------------------


@only_asyncio
@pytest.mark.parametrize("times", [1, 2])
async def test_a_call_cancelled_after_any_number_of_turns_has_a_known_fate(
    ledger: AsyncLedger, times: int
) -> None:
    run = await ledger.open_run("r", "goal")
    for turns in range(40):
        before = run.position
        task = asyncio.ensure_future(run.move(f"n-{turns}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
        try:
            told = (await task).position
        except asyncio.CancelledError:
            told = run.position
        assert not run._turns._busy
        contract = await run.contract
        assert contract.position == told
        assert told in {before, before + 1}
        assert contract == await ledger.contract("r")


@pytest.mark.parametrize("turns", range(0, 24, 3))
async def test_many_cancelled_at_once_leave_the_run_free(ledger: AsyncLedger, held: Held, turns: int) -> None:
    run = await ledger.open_run("r", "goal")
    told: list[int] = []
    with held.held():
        async with anyio.create_task_group() as tasks:

            async def say(number: int) -> None:
                told.append((await run.assume(f"a-{number}", "in stock")).position)

            for number in range(20):
                tasks.start_soon(say, number)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
            held.let_go()
    assert not run._turns._busy
    assert run._turns._waiting == []
    contract = await run.contract
    assert contract.position == run.position
    assert contract == await ledger.contract("r")
    assert (await run.move("on")).position == contract.position + 1


async def test_the_words_of_a_cancelled_call_said_again_tell_what_it_came_to(
    ledger: AsyncLedger, held: Held
) -> None:
    run = await ledger.open_run("r", "goal")
    with held.held(), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_begun, held, scope)
            await run.move("pay")
    await _in_another_task(run.move, "look")
    assert (await run.move("pay")).position == 2
    assert (await run.contract).tally.steps == 2


async def _cancel_when_begun(held: Held, scope: anyio.CancelScope) -> None:
    await until(held.begun.is_set)
    scope.cancel()
    held.let_go()


async def _in_another_task(call: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, *args)


async def test_a_task_never_takes_over_the_doubts_of_one_that_ended(ledger: AsyncLedger, held: Held) -> None:
    """Names of tasks that are addresses come again as soon as a task is gone."""
    run = await ledger.open_run("r", "goal")
    await run.move("start")
    positions: list[int] = []

    def cut(append: Any) -> Exception:
        held._store.append(append)
        return StoreUnavailable("the connection was lost at COMMIT")

    async def lose() -> None:
        with pytest.raises(StoreUnavailable):
            await run.move("pay")

    async def say() -> None:
        positions.append((await run.move("pay")).position)

    for _ in range(20):
        held.fail = cut
        await _in_another_task(lose)
        held.fail = lambda append: None
        await run.move("look")
        await _in_another_task(say)
        await run.move("start")
    assert positions == list(range(5, 85, 4))


@only_asyncio
async def test_an_import_that_is_cancelled_again_and_again_is_awaited(
    ledger: AsyncLedger, held: Held
) -> None:
    await ledger.open_run("r", "goal")
    with held.held():
        task = asyncio.ensure_future(ledger.import_events("r", [CursorMoved(node="pay")], expected=1))
        await until(held.begun.is_set)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not task.done()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ledger.contract("r")).position == 2


# --- what goes wrong inside --------------------------------------------------------------------------


@pytest.mark.parametrize("clock", [lambda: 1 / 0, lambda: datetime(2026, 1, 31)], ids=["raises", "naive"])  # noqa: DTZ001
async def test_a_broken_clock_fails_who_asks_and_wedges_nothing(
    ledger: AsyncLedger, clock: Callable[[], Any]
) -> None:
    run = await ledger.open_run("r", "goal")
    edge = ledger._edge
    before = edge.clock
    errors: list[Exception] = []
    object.__setattr__(edge, "clock", clock)

    async def say(number: int) -> None:
        try:
            await run.move(f"n-{number}")
        except (LedgerError, ZeroDivisionError) as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(say, number)
    object.__setattr__(edge, "clock", before)
    assert len({id(error) for error in errors}) == 4
    assert {type(error).__name__ for error in errors} <= {"ZeroDivisionError", "InvalidInput"}
    assert not run._turns._busy
    assert (await run.move("on")).position == 2


async def test_a_store_that_fails_in_its_own_way_wedges_nothing(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    admit = held.admit

    def broken(append: Any) -> Any:
        held.admit = admit  # type: ignore[method-assign]
        raise RuntimeError("a fault of the program")

    held.admit = broken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        await run.move("pay")
    assert (await run.move("on")).position == 2


async def test_where_no_thread_can_be_started_the_loop_itself_commits(
    held: Held, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with AsyncLedger(Ledger(edge_on(held))) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            run = await ledger.open_run("r", "goal")
            assert (await run.move("pay")).position == 2
        assert (await run.move("on")).position == 3


@pytest.mark.parametrize("at", range(2, 7))
def test_an_interrupt_in_the_middle_of_a_callback_leaves_nobody_waiting(at: int) -> None:
    """As by Ctrl-C: the loop stops, and runs again to cancel what is left and to await its end."""
    held = Held(MemoryStore())
    ended: list[str] = []
    readings = itertools.count()

    def clock() -> datetime:
        if next(readings) == at:
            raise KeyboardInterrupt
        return datetime(2026, 1, 31, tzinfo=UTC)

    async def say(run: AsyncRun, number: int) -> None:
        try:
            await run.move(f"n-{number}")
        finally:
            ended.append("ended")

    async def main() -> None:
        edge = edge_on(held)
        ledger = AsyncLedger(Ledger(replace(edge, clock=clock)))
        run = await ledger.open_run("r", "goal")
        with held.held():
            tasks = [asyncio.ensure_future(say(run, number)) for number in range(6)]
            await until(lambda: len(run._turns._waiting) == 5 or at == 1)
        await asyncio.gather(*tasks)

    with asyncio.Runner() as runner, pytest.raises(KeyboardInterrupt):
        runner.run(main())
    assert len(ended) == 6


# --- closing -----------------------------------------------------------------------------------------


async def test_closing_while_a_thousand_wait_tells_each(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    outcomes: list[Any] = []

    async def say(number: int) -> None:
        try:
            outcomes.append(await run.do(MoveCursor(node=f"n-{number}"), expected=number + 1))
        except LedgerError as error:
            outcomes.append(error)

    with held.held():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, 0)
            await until(held.begun.is_set)
            for number in range(1, 1500):
                tasks.start_soon(say, number)
            await until(lambda: len(run._turns._waiting) == 1499)
            ledger._hands.close()
            held.let_go()
    assert len(outcomes) == 1500
    assert all(isinstance(one, LedgerError) or one.position for one in outcomes)
    assert not run._turns._busy


async def test_a_closed_ledger_leaves_no_thread_behind(store: FullStore) -> None:
    def left() -> list[threading.Thread]:
        return [thread for thread in set(threading.enumerate()) - before if _ours(thread)]

    before = set(threading.enumerate())
    ledger = AsyncLedger(Ledger(edge_on(store)))
    run = await ledger.open_run("r", "goal")
    await run.move("pay")
    await run.contract
    assert left()
    del run
    await ledger.close()
    del ledger
    gc.collect()
    await until(lambda: not left())


def _ours(thread: threading.Thread) -> bool:
    return thread.name.startswith("ledger-")


async def test_two_loops_in_two_threads_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).open_run("r", "goal")
    failed: list[BaseException] = []

    async def write(name: str) -> None:
        async with open_async_ledger(path) as ledger:
            run: AsyncRun = await ledger.run("r")

            async def say(number: int) -> None:
                await run.assume(f"{name}-{number}", "in stock")

            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    tasks.start_soon(say, number)

    def loop(name: str, backend: str) -> None:
        try:
            anyio.run(write, name, backend=backend)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=loop, args=(name, name)) for name in ("asyncio", "trio")]
    for thread in threads:
        thread.start()
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    assert failed == []
    assert len(open_ledger(path).contract("r").assumptions) == 40


PROGRAM = """
import asyncio, signal, sys, threading
from ledger import open_async_ledger
from ledger.aio import hands

how = sys.argv[2]

async def main():
    ledger = await open_async_ledger(sys.argv[1])
    run = await ledger.open_run("r", goal="goal")
    async def say(number):
        await run.move(f"n-{number}")
    tasks = [asyncio.ensure_future(say(number)) for number in range(50)]
    await asyncio.sleep(0)
    if how == "return":
        return
    if how == "raise":
        raise SystemExit(0)
    if how == "interrupt":
        signal.raise_signal(signal.SIGINT)
        await asyncio.gather(*tasks)
    if how == "interrupt twice":
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        await asyncio.gather(*tasks)
    if how == "stop":
        asyncio.get_running_loop().stop()

try:
    asyncio.run(main())
except (KeyboardInterrupt, RuntimeError):
    pass
print("ended")
"""


@only_asyncio
@pytest.mark.parametrize("how", ["return", "raise", "interrupt", "interrupt twice", "stop"])
async def test_a_program_ends_whatever_is_under_way(tmp_path: Path, how: str) -> None:
    path = tmp_path / "ledger.db"
    command = [sys.executable, "-c", PROGRAM, str(path), how]
    ended = await anyio.to_thread.run_sync(
        lambda: subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    )
    assert ended.returncode == 0, ended.stderr
    with open_ledger(path) as ledger:
        positions = [record.position for record in ledger.log("r")]
    assert positions == list(range(1, len(positions) + 1))


def test_another_loop_is_told_so_before_anything_is_said(tmp_path: Path) -> None:
    opened: list[tuple[AsyncLedger, AsyncRun]] = []

    async def first() -> None:
        ledger = await open_async_ledger(tmp_path / "ledger.db")
        opened.append((ledger, await ledger.open_run("r", "goal")))

    async def second() -> None:
        ledger, run = opened[0]
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: run.move("pay"),
            lambda: run.contract,
            lambda: ledger.contract("r"),
            lambda: ledger.run("r"),
            lambda: ledger.import_events("r", [CursorMoved(node="pay")], expected=1),
            lambda: anext(ledger.follow()),
        ]
        for call in calls:
            with pytest.raises(InvalidInput) as refused:
                await call()
            assert refused.value.path == "loop"

    asyncio.run(first())
    asyncio.run(second())
    trio.run(second)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.contract("r").position == 1
    with pytest.raises(InvalidInput) as refused:
        AsyncLedger(Ledger(edge_on(MemoryStore())))
    assert refused.value.path == "loop"
