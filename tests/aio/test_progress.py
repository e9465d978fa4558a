"""Progress is kept beside the ledger without keeping the loop waiting, and tells who has lost the lease."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ledger import AsyncLedger, Ledger
from ledger.errors import InvalidInput, LeaseLost, OutcomeUnknown, StoreUnavailable
from ledger.gateway.current import CurrentEffect, current_effect
from ledger.stores.base import FullStore
from tests.aio.conftest import edge_on, until
from tests.aio.stopping import names

pytestmark = pytest.mark.anyio


class Slow:
    """A store whose renewals a test holds and records."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.free = threading.Event()
        self.free.set()
        self.begun = 0
        self.kept: list[tuple[str | None, str]] = []
        self.error: Exception | None = None

    def renew(self, *args: Any, progress: str | None = None, **options: Any) -> Any:
        self.begun += 1
        assert self.free.wait(30)
        if self.error is not None:
            raise self.error
        self.kept.append((progress, threading.current_thread().name))
        return self._store.renew(*args, progress=progress, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
def slow(store: FullStore) -> Slow:
    return Slow(store)


@pytest.fixture
async def slowly(slow: Slow, anyio_backend: str) -> AsyncLedger:
    return AsyncLedger(Ledger(edge_on(slow)))


def said(slow: Slow) -> list[str | None]:
    return [progress for progress, _ in slow.kept]


async def test_a_coroutine_reports_without_waiting_and_the_latest_is_kept(
    slowly: AsyncLedger, slow: Slow
) -> None:
    run = await slowly.open_run("r", "goal")
    slow.free.clear()

    async def count(upto: int, *, effect: CurrentEffect) -> int:
        for number in range(upto):
            effect.progress({"seen": number})
        effect.progress()  # which renews, and says nothing else
        slow.free.set()
        return upto

    assert await run.perform("count", {"upto": 1000}, count) == 1000
    assert said(slow) == ['{"seen":0}', '{"seen":999}']
    assert all(thread.startswith("ledger-call") for _, thread in slow.kept)


async def test_what_was_reported_is_kept_before_the_outcome_is(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")
    slow.free.clear()

    async def fail(order: int) -> None:
        current_effect().progress("half")
        raise ConnectionError("the answer was lost")

    async def perform() -> None:
        with pytest.raises(OutcomeUnknown):
            await run.perform("pay", {"order": 7}, fail)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(perform)
        await until(lambda: slow.begun == 1)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert await names(slowly, run) == ["effect.intended", "effect.started"]
        slow.free.set()
    assert said(slow) == ['"half"']
    assert await names(slowly, run) == ["effect.intended", "effect.started", "effect.unknown"]


async def test_a_later_attempt_reads_what_an_earlier_one_reported(slowly: AsyncLedger) -> None:
    run = await slowly.open_run("r", "goal")
    seen: list[Any] = []

    async def send(to: str, *, effect: CurrentEffect) -> str:
        seen.append(effect.last_progress)
        effect.progress({"pages": effect.attempt})
        if effect.attempt == 1:
            raise ConnectionError("the answer was lost")
        return to

    options: Any = {"recovery": "idempotent", "dedupes_for": None}
    with pytest.raises(OutcomeUnknown):
        await run.perform("send", {"to": "kim"}, send, **options)
    assert await run.perform("send", {"to": "kim"}, send, **options) == "kim"
    assert seen == [None, {"pages": 1}]


async def test_a_plain_function_reports_in_its_thread(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")

    def count(upto: int) -> str:
        for number in range(upto):
            current_effect().progress(number)
        return threading.current_thread().name

    assert await run.perform("count", {"upto": 3}, count) == slow.kept[0][1]
    assert said(slow) == ["0", "1", "2"]


async def test_who_lost_the_lease_is_told_at_the_next_look(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")

    async def work(order: int, *, effect: CurrentEffect) -> None:
        slowly._edge.clock.tick(31)  # type: ignore[attr-defined]
        effect.progress("half")
        await until(lambda: effect.is_lost)
        effect.check()
        raise AssertionError("the lease has lapsed")

    with pytest.raises(OutcomeUnknown) as unknown:
        await run.perform("work", {"order": 7}, work)
    assert isinstance(unknown.value.__cause__, LeaseLost)


async def test_progress_that_is_no_json_is_refused_at_once(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")

    async def work(order: int, *, effect: CurrentEffect) -> str:
        with pytest.raises(InvalidInput) as refused:
            effect.progress(object())
        return refused.value.path

    assert await run.perform("work", {"order": 7}, work) == "progress"
    assert slow.kept == []


async def test_progress_that_cannot_be_kept_harms_no_outcome(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")
    slow.error = StoreUnavailable("the connection was lost")

    async def work(order: int, *, effect: CurrentEffect) -> int:
        effect.progress(1)
        effect.progress(2)
        await until(lambda: slow.begun == 2)
        effect.progress(3)
        return order

    assert await run.perform("work", {"order": 7}, work) == 7
    assert slow.begun == 3


async def test_what_is_only_read_has_no_progress_to_keep(slowly: AsyncLedger, slow: Slow) -> None:
    run = await slowly.open_run("r", "goal")

    async def look(of: str, *, effect: CurrentEffect) -> str:
        effect.progress("half")
        return of

    assert await run.perform("stock", {"of": "tea"}, look, recovery="read_only") == "tea"
    assert slow.kept == []
