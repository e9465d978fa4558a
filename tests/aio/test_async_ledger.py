"""The ledger of an event loop does what the other one does, and never blocks the loop."""

from __future__ import annotations

import inspect
import threading
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from ledger import (
    AsyncLedger,
    AsyncRun,
    AsyncSourceHandle,
    Ledger,
    Run,
    RunQuery,
    Source,
    SourceHandle,
    open_async_ledger,
    open_ledger,
)
from ledger.application.verifying import verify
from ledger.commands import MoveCursor
from ledger.errors import (
    ContractChanged,
    InvalidInput,
    NotFound,
    PositionConflict,
    RunExists,
    RunNotFound,
    StoreUnavailable,
)
from ledger.events import CursorMoved
from tests.aio.conftest import Held, edge_on, until
from tests.stores.builder import shown

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("sync", "awaited"), [(Ledger, AsyncLedger), (Run, AsyncRun), (SourceHandle, AsyncSourceHandle)]
)
def test_both_faces_have_the_same_names_and_arguments(sync: type, awaited: type) -> None:
    names = {name for name in vars(sync) | dict.fromkeys(dir(sync)) if not name.startswith("_")}
    assert {name for name in dir(awaited) if not name.startswith("_")} == names
    for name in names:
        one, other = getattr(sync, name), getattr(awaited, name)
        if callable(one):
            given = inspect.signature(one).parameters
            assert inspect.signature(other).parameters == given, name
        else:
            assert type(one) is type(other)


def test_both_are_opened_with_the_same_options() -> None:
    given = inspect.signature(open_ledger).parameters
    assert inspect.signature(open_async_ledger).parameters == given


async def test_a_run_is_written_and_read(ledger: AsyncLedger) -> None:
    policy = await ledger.source("policy:refunds")
    await policy.publish("4", {"limit-100": "Never refund more than 100 EUR"})
    run = await ledger.open_run("refund-17", goal="Refund order 17")
    source = Source("policy", "refunds", revision="4")
    await run.accept("limit-100", "Never refund more than 100 EUR", source=source, asserted_by="human:kim")
    await run.promise("tell", "Mail the customer", owed_to="customer:17")
    contract = await run.contract
    assert [item.id for item in contract.constraints] == ["limit-100"]
    assert contract == await ledger.contract("refund-17")
    assert (await ledger.contract("refund-17", at=1)).constraints == ()
    assert [record.position async for record in ledger.log("refund-17", after=1)] == [2, 3]
    assert [record.name async for record in ledger.log_source("policy:refunds", after=1)] == [
        "source.revised"
    ]
    assert [one.run for one in (await ledger.runs(prefix="refund")).runs] == ["refund-17"]
    assert [one.run for one in (await ledger.runs(RunQuery())).runs] == ["refund-17"]
    assert set(await ledger.sources()) == {"policy:refunds"}
    assert (await policy.state).revision == "4"
    assert run.position == contract.position == 3
    assert verify(Ledger(edge_on(ledger.store))).findings == ()


async def test_what_changed_and_what_a_successor_must_know_is_told(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    await run.promise("tell", "Mail the customer", owed_to="customer:17")
    await ledger.open_run("other", "another goal")
    twin = Ledger(edge_on(ledger.store))
    assert await ledger.diff("r") == twin.diff("r")
    assert await ledger.diff("r", "other", at=1, to=1) == twin.diff("r", "other", at=1, to=1)
    assert await ledger.brief("r", 2) == twin.brief("r", 2)
    assert [one.id for one in (await ledger.brief("r")).obligations] == ["tell"]


async def test_what_a_stopped_run_needs_is_loaded(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    await run.record_message("m-1", "user", {"text": "hello"})
    await run.observe("stock", 3, tool="look", observed_at=datetime(2026, 1, 31, tzinfo=UTC))
    await run.move("pay", needs=("observation:stock",))
    loaded = await run.load()
    assert loaded.results == {"observation:stock": 3}
    (message,) = loaded.messages
    assert message[1] == {"text": "hello"}
    assert message[0].content.digest is not None
    assert await ledger.blob(message[0].content.digest)
    with pytest.raises(NotFound):
        await ledger.blob("0" * 64)


async def test_errors_are_those_of_the_other_face(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    with pytest.raises(RunExists):
        await ledger.open_run("r", "another goal")
    with pytest.raises(RunNotFound):
        await ledger.run("nobody")
    with pytest.raises(RunNotFound):
        await ledger.contract("nobody")
    with pytest.raises(PositionConflict):
        await run.do(MoveCursor(node="pay"), expected=7)
    with pytest.raises(InvalidInput):
        await run.assume("", "in stock")
    with pytest.raises(InvalidInput):
        await anext(ledger.follow(after=10**15))


async def test_an_acceptance_meets_a_withdrawal_that_came_first(ledger: AsyncLedger) -> None:
    policy = await ledger.source("policy:refunds")
    await policy.publish("4", {"a": "Refund once"})
    run = await ledger.open_run("r", "goal")
    await run.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")
    await policy.withdraw("a", reason="replaced", by="human:kim")
    other = await ledger.open_run("other", "goal")
    with pytest.raises(ContractChanged):
        await other.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")


async def test_facts_are_imported(ledger: AsyncLedger) -> None:
    await ledger.open_run("r", "goal")
    stated = await ledger.import_events("r", [CursorMoved(node="pay")], expected=1)
    assert stated.position == 2
    joined = await ledger.run("r")
    assert joined.position == 2


async def test_a_handle_made_later_joins_the_present_run(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    Ledger(edge_on(held)).run("r").move("elsewhere")
    joined = await ledger.run("r")
    assert joined.position == run.position == 2
    assert (await joined.move("on")).position == 3


async def test_tasks_that_speak_to_one_run_meanwhile_share_an_append(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    before = len(held.commits)
    positions: list[int] = []

    async def say(number: int) -> None:
        positions.append((await run.assume(f"a-{number}", "in stock")).position)

    with held.held():
        async with anyio.create_task_group() as tasks:
            for number in range(32):
                tasks.start_soon(say, number)
            # The loop is free while the store is not: all of them can say it.
            await until(lambda: len(run._turns._waiting) == 31)
            held.let_go()
    assert sorted(positions) == list(range(2, 34))
    assert len(held.commits) - before == 2


async def test_tasks_on_many_runs_share_commits(ledger: AsyncLedger, held: Held) -> None:
    runs = [await ledger.open_run(f"r-{number}", "goal") for number in range(24)]
    before = len(held.commits)
    with held.held():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runs[0].move, "pay")
            await until(held.begun.is_set)
            for run in runs[1:]:
                tasks.start_soon(run.move, "pay")
            await until(lambda: held.waiting == 23)
            held.let_go()
    assert [run.position for run in runs] == [2] * 24
    assert len(held.commits) - before == 2


async def test_threads_and_tasks_share_a_store(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    failed: list[Exception] = []

    def write(name: str) -> None:
        try:
            handle = Ledger(edge_on(held)).run("r")
            for turn in range(10):
                handle.assume(f"{name}-{turn}", "in stock")
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    async def say(number: int) -> None:
        for turn in range(10):
            await run.assume(f"task-{number}-{turn}", "in stock")

    threads = [threading.Thread(target=write, args=(f"thread-{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(say, number)
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    assert failed == []
    assert len((await run.contract).assumptions) == 80


async def test_following_live_sees_what_comes_and_ends(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    seen: list[int] = []
    async with anyio.create_task_group() as tasks:

        async def follow() -> None:
            async with aclosing(ledger.follow(live=True)) as records:
                async for record in records:
                    seen.append(record.position)
                    if record.position == 5:
                        return

        tasks.start_soon(follow)
        for node in "abcd":
            await run.move(node)
    assert seen == [1, 2, 3, 4, 5]
    await anyio.to_thread.run_sync(shown, ledger.store)
    assert [record.position async for record in ledger.follow(live=True, idle_seconds=0.01)] == seen
    last = [record.global_position async for record in ledger.follow()][-1]
    assert last is not None
    assert [record async for record in ledger.follow(after=last)] == []


async def test_a_lost_acknowledgement_is_found_by_the_same_task(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")

    def cut(append: Any) -> Exception:
        held.fail = lambda append: None
        held._store.append(append)
        return StoreUnavailable("the connection was lost at COMMIT")

    held.fail = cut
    with pytest.raises(StoreUnavailable) as lost:
        await run.move("pay")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.move, "look")
    assert (await run.move("pay")).position == 2
    assert (await run.do(MoveCursor(node="pay"), again=lost.value)).position == 2


async def test_a_closed_ledger_says_so(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    await ledger.close()
    for call in (lambda: run.move("pay"), lambda: run.contract, lambda: ledger.contract("r")):
        with pytest.raises(StoreUnavailable) as closed:
            await call()
        assert closed.value.data["reason"] == "closed"
    await ledger.close()


async def test_opening_can_be_awaited_or_entered(tmp_path: Path) -> None:
    ledger = await open_async_ledger(tmp_path / "ledger.db")
    await ledger.open_run("r", "goal")
    await ledger.close()
    async with open_async_ledger(tmp_path / "ledger.db", tenant="default") as again:
        assert (await again.contract("r")).goal.text == "goal"
    with pytest.raises(StoreUnavailable):
        async with open_async_ledger(tmp_path / "nowhere" / "ledger.db"):
            raise AssertionError("there is no such folder")
