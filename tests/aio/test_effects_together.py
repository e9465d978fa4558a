"""Many tasks at one key: one of them executes. Many acts of one run: their appends are shared."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from ledger import AsyncLedger, Ledger, NotHappened, Retry
from ledger.adapters.http_client import DEFINITE_ERRORS, AsyncIdempotentClient
from ledger.errors import EffectFailed, EffectInFlight, OutcomeUnknown
from tests.aio.conftest import Held, edge_on, until
from tests.aio.stopping import names
from tests.outside.manners import LOST, UNHEARD, refused
from tests.outside.orders import orders
from tests.outside.outside import Outside

pytestmark = pytest.mark.anyio

TASKS = 64


class Act:
    """An act that a test lets end, and how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.free = anyio.Event()

    async def __call__(self, order: int) -> dict[str, int]:
        self.begun += 1
        await self.free.wait()
        return {"order": order}


async def test_all_who_wait_for_one_act_are_told_its_result(ledger: AsyncLedger) -> None:
    runs = [await ledger.open_run("r", "goal"), await ledger.run("r")]
    act, told = Act(), []

    async def perform(number: int) -> None:
        told.append(await runs[number % 2].perform("pay", {"order": 7}, act, wait_seconds=600))

    async with anyio.create_task_group() as tasks:
        for number in range(TASKS):
            tasks.start_soon(perform, number)
        await until(lambda: act.begun == 1)
        act.free.set()
    assert told == [{"order": 7}] * TASKS
    assert act.begun == 1
    assert await names(ledger, runs[0]) == ["effect.intended", "effect.started", "effect.succeeded"]


async def test_all_who_do_not_wait_for_one_act_are_told_that_it_is_in_flight(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    act, told, busy = Act(), [], []

    async def perform() -> None:
        try:
            told.append(await run.perform("pay", {"order": 7}, act))
        except EffectInFlight as error:
            busy.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(TASKS):
            tasks.start_soon(perform)
        await until(lambda: len(busy) == TASKS - 1)
        act.free.set()
    assert told == [{"order": 7}]
    assert act.begun == 1


async def test_acts_of_one_run_are_claimed_and_settled_together(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    act, told = Act(), []
    before = len(held.commits)

    async def perform(number: int) -> None:
        told.append((await run.perform("pay", {"order": number}, act))["order"])

    async with anyio.create_task_group() as tasks:
        with held.held():
            for number in range(TASKS):
                tasks.start_soon(perform, number)
            await until(lambda: len(run._turns._waiting) == TASKS - 1)
        await until(lambda: act.begun == TASKS)
        with held.held():
            act.free.set()
            await until(lambda: len(run._turns._waiting) == TASKS - 1)
    assert sorted(told) == list(range(TASKS))
    # The first claim alone, then all others, and the same with what they came to.
    assert len(held.commits) - before == 4
    assert run.position == 1 + 3 * TASKS


async def test_reconciling_may_be_left_in_the_middle(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def fails(order: int) -> None:
        raise ConnectionError("the answer was lost")

    async def find(key: str, args: Any) -> NotHappened:
        return NotHappened()

    for order in range(3):
        with pytest.raises(OutcomeUnknown):
            await run.perform("pay", {"order": order}, fails, recovery="queryable", probe=find)
    before = run.position
    ledger._edge.clock.tick(60)  # type: ignore[attr-defined]
    async with aclosing(ledger.reconcile()) as found:
        one = await anext(found)
    assert (one.found, one.effect.status) == ("did_not_happen", "did_not_happen")
    assert (await run.contract).position == before + 1
    assert [each.found async for each in ledger.reconcile()] == ["did_not_happen"] * 2


async def test_a_thread_and_tasks_share_one_execution(ledger: AsyncLedger, held: Held) -> None:
    run = await ledger.open_run("r", "goal")
    act = Act()
    told: list[Any] = []
    other = Ledger(edge_on(held)).run("r")

    async def perform() -> None:
        told.append(await run.perform("pay", {"order": 7}, act))

    def in_thread() -> None:
        with pytest.raises(EffectInFlight):
            other.perform("pay", {"order": 7}, lambda order: order)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(perform)
        await until(lambda: act.begun == 1)
        await anyio.to_thread.run_sync(in_thread)
        act.free.set()
    assert told == [{"order": 7}]
    again = await anyio.to_thread.run_sync(
        lambda: other.perform("pay", {"order": 7}, lambda order: order + 1)
    )
    assert again == {"order": 7}


# --- by HTTP -----------------------------------------------------------------------------------------


def client(server: Outside) -> AsyncIdempotentClient:
    return AsyncIdempotentClient(base_url=server.url, trust_env=False, verify=False)


async def test_an_order_whose_answer_was_lost_is_sent_again_under_its_key(
    ledger: AsyncLedger, order_server: Outside
) -> None:
    run = await ledger.open_run("r", "goal")
    order_server.expect(LOST)
    async with client(order_server) as http:

        async def place(of: str) -> int:
            answer = await http.post("/orders", json={"of": of})
            number: int = answer.json()["id"]
            return number

        tool = ledger.tool(recovery="idempotent", dedupes_for=3600, definite_errors=DEFINITE_ERRORS)(place)
        with pytest.raises(OutcomeUnknown) as lost:
            await run.perform(tool, {"of": "tea"})
        assert isinstance(lost.value.__cause__, httpx.TransportError)
        number = await run.perform(tool, {"of": "tea"})
        assert await run.perform(tool, {"of": "tea"}) == number
    (placed,) = await anyio.to_thread.run_sync(orders, order_server.url)
    assert (placed.id, placed.repeats) == (number, 1)


async def test_orders_are_sent_again_and_refused_by_what_the_client_tells(
    ledger: AsyncLedger, order_server: Outside
) -> None:
    run = await ledger.open_run("r", "goal")
    order_server.expect(UNHEARD, LOST, refused(422))
    async with client(order_server) as http:

        async def place(of: str) -> int:
            number: int = (await http.post("/orders", json={"of": of})).json()["id"]
            return number

        tool = ledger.tool(
            recovery="idempotent",
            dedupes_for=3600,
            definite_errors=DEFINITE_ERRORS,
            retry=Retry(4, backoff=0),
        )(place)
        number = await run.perform(tool, {"of": "tea"})
    (placed,) = await anyio.to_thread.run_sync(orders, order_server.url)
    assert placed.id == number
    assert placed.repeats == 1
    assert (await run.contract).effects == ()


async def test_a_refused_order_did_not_happen(ledger: AsyncLedger, order_server: Outside) -> None:
    run = await ledger.open_run("r", "goal")
    order_server.expect(refused(422))
    async with client(order_server) as http:

        async def place(of: str) -> int:
            number: int = (await http.post("/orders", json={"of": of})).json()["id"]
            return number

        tool = ledger.tool(recovery="idempotent", dedupes_for=3600, definite_errors=DEFINITE_ERRORS)(place)
        with pytest.raises(EffectFailed):
            await run.perform(tool, {"of": "tea"})
        assert await anyio.to_thread.run_sync(orders, order_server.url) == []
        await run.perform(tool, {"of": "tea"})
    assert len(await anyio.to_thread.run_sync(orders, order_server.url)) == 1
