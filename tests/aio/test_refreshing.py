"""Looking again from an event loop: coroutine functions in the loop, plain ones and readers in threads."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from ledger import Actor, AsyncLedger, AsyncRun, Ledger, Source, Step, Verdict
from ledger.application.edge import Edge
from ledger.application.readers import Reading
from ledger.errors import EffectsDisabled, RunIsClosed
from ledger.events import ObservationRecorded
from ledger.gateway.tools import tool
from tests.aio.conftest import Held, until
from tests.application.conftest import SetClock

pytestmark = pytest.mark.anyio

AT_EACH = 60


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def ledger(held: Held, anyio_backend: str, clock: SetClock) -> AsyncIterator[AsyncLedger]:
    edge: Any = Edge(held, "default", Actor("service:tests"), clock, pause=lambda attempt: None)
    async with AsyncLedger(Ledger(edge)) as ledger:
        yield ledger


class Shop:
    """An outside with a coroutine function and a plain one; it tells in which thread each was called."""

    def __init__(self) -> None:
        self.ends: list[Any] = []
        self.threads: list[threading.Thread] = []
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.let_go.set()

    def __call__(self) -> Any:
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.let_go.wait(30)
        end = self.ends.pop(0) if self.ends else {"asked": len(self.threads)}
        if isinstance(end, Exception):
            raise end
        return end


def _awaited(shop: Shop) -> Any:
    async def ask(order: int) -> Any:
        await checkpoint()
        return shop()

    return ask


def _plain(shop: Shop) -> Any:
    def ask(order: int) -> Any:
        return shop()

    return ask


async def seeing(ledger: AsyncLedger, *shops: tuple[str, Shop, bool]) -> AsyncRun:
    """Open a run whose plan rests on what registered tools said."""
    run = await ledger.open_run("r", "Refund order 17")
    refs = []
    for name, shop, in_loop in shops:
        declared = tool(name=name, recovery="read_only", fresh_for=AT_EACH)
        ledger.register(declared(_awaited(shop) if in_loop else _plain(shop)))
        await run.perform(name, {"order": 17})
        refs.append(f"observation:{(await run.contract).observations[-1].key}")
    await run.commit_plan([Step(name="pay", rests_on=tuple(refs))])
    return run


async def test_what_is_stale_is_asked_again_also_while_the_run_is_held(
    ledger: AsyncLedger, clock: SetClock
) -> None:
    in_loop, in_thread = Shop(), Shop()
    run = await seeing(ledger, ("look", in_loop, True), ("read", in_thread, False))
    assert await run.refresh() == []
    clock.tick(AT_EACH)
    held = await ledger.resume("r")
    assert held.verdict is Verdict.REPLAN
    in_loop.ends = [{"asked": 1}]
    assert [(one.tool, one.found, one.is_fresh) for one in await run.refresh()] == [
        ("look", "refreshed", True),
        ("read", "changed", True),
    ]
    assert in_loop.threads == [threading.current_thread()] * 2
    assert threading.current_thread() not in in_thread.threads
    assert (await ledger.resume("r")).verdict is Verdict.CONTINUE


async def test_what_raises_keeps_no_other_back(ledger: AsyncLedger, clock: SetClock) -> None:
    in_loop, in_thread = Shop(), Shop()
    run = await seeing(ledger, ("look", in_loop, True), ("read", in_thread, False))
    clock.tick(AT_EACH)
    in_loop.ends = [RuntimeError("closed")]
    first, second = await run.refresh()
    assert (first.found, first.is_fresh, first.because) == ("not_refreshed", False, "RuntimeError: closed")
    assert (second.found, second.is_fresh, second.position) == ("changed", True, run.position)


async def test_what_a_plain_function_answered_is_recorded_though_its_caller_was_cancelled(
    ledger: AsyncLedger, clock: SetClock
) -> None:
    shop = Shop()
    run = await seeing(ledger, ("read", shop, False))
    clock.tick(AT_EACH)
    shop.begun.clear()
    shop.let_go.clear()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.refresh)
        await until(shop.begun.is_set)
        tasks.cancel_scope.cancel()
        shop.let_go.set()
    seen = [record async for record in ledger.log("r") if isinstance(record.event, ObservationRecorded)]
    assert len(seen) == len(shop.threads) == 2
    assert await run.refresh() == []


async def test_sources_are_read_in_a_thread(ledger: AsyncLedger, clock: SetClock) -> None:
    threads: list[threading.Thread] = []

    def read(source: str) -> Reading:
        threads.append(threading.current_thread())
        return Reading(str(len(threads)), {"a": "Refund once"})

    ledger.sources.register("policy", read, check_every=AT_EACH)
    await ledger.sources.check("policy:refunds")
    run = await ledger.open_run("r", "Refund order 17")
    await run.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")
    (one,) = await run.refresh()
    assert (one.tool, one.found, one.is_fresh, one.position) == ("source.policy", "changed", True, 3)
    assert await run.refresh() == []
    assert [one.found for one in await run.refresh(all=True)] == ["changed"]
    assert threading.current_thread() not in threads


async def test_who_may_not_look_is_told(ledger: AsyncLedger) -> None:
    run = await seeing(ledger)
    fork = await ledger.fork("r", as_="what-if", at=1)
    with pytest.raises(EffectsDisabled):
        await fork.refresh()
    await run.close("cancelled")
    with pytest.raises(RunIsClosed):
        await run.refresh()
