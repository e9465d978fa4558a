"""What nobody knows is sent again to find out, from an event loop: by coroutine functions and plain ones."""

from __future__ import annotations

import contextvars
from typing import Any

import anyio
import pytest

from ledger import AsyncLedger, Outcome
from ledger.application.acting import Doing
from ledger.errors import OutcomeUnknown
from ledger.gateway.current import CurrentEffect, current_effect
from ledger.gateway.tools import Tool, declare
from tests.aio.conftest import until
from tests.aio.stopping import names

pytestmark = pytest.mark.anyio

TENANT = contextvars.ContextVar("tenant", default="none")
TRY = ["effect.intended", "effect.started", "effect.unknown"]


class Shop:
    """An outside that dedupes, whose first answer is lost; `error` is what it answers then."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, str]] = []
        self.error: Exception | None = None
        self.asked = anyio.Event()
        self.free = anyio.Event()
        self.free.set()

    async def awaited(self, order: int, *, effect: CurrentEffect) -> Outcome:
        assert current_effect() is effect
        if self.seen:
            self.asked.set()
            await self.free.wait()
        effect.progress({"at": "the shop"})
        return self._answer(effect)

    def plain(self, order: int) -> Outcome:
        return self._answer(current_effect())

    def _answer(self, effect: CurrentEffect) -> Outcome:
        self.seen.append((effect.key, effect.attempt, TENANT.get()))
        if len(self.seen) == 1:
            raise TimeoutError("no answer")
        if self.error is not None:
            raise self.error
        return Outcome({"id": 1}, external_ref="re_1")

    def tool(self, kind: str, **declared: Any) -> Tool:
        function = self.awaited if kind == "coroutine" else self.plain
        return declare(function, name="refund", **{"recovery": "idempotent", "dedupes_for": 3600, **declared})


@pytest.fixture
async def shop() -> Shop:
    return Shop()


each_kind = pytest.mark.parametrize("kind", ["coroutine", "plain"])


async def left(ledger: AsyncLedger, one: Tool) -> Any:
    """Let the first call get lost; return the run."""
    run = await ledger.open_run("r", "goal")
    with pytest.raises(OutcomeUnknown):
        await run.perform(one, {"order": 17})
    return run


@each_kind
async def test_its_answer_settles_it(ledger: AsyncLedger, shop: Shop, kind: str) -> None:
    TENANT.set("acme")
    run = await left(ledger, shop.tool(kind))
    [told] = [one async for one in ledger.reconcile()]
    said = "sent again under its key; the outside answered and calls it re_1"
    assert (told.found, told.because, told.effect.status) == ("happened", said, "succeeded")
    assert shop.seen == [(told.effect.key, 1, "acme")] * 2
    assert await names(ledger, run) == [*TRY, "effect.reconciled", "effect.reconciled"]
    assert await run.perform(shop.tool(kind), {"order": 17}) == {"id": 1}
    assert len(shop.seen) == 2


@each_kind
async def test_an_error_leaves_it_unknown(ledger: AsyncLedger, shop: Shop, kind: str) -> None:
    await left(ledger, shop.tool(kind))
    shop.error = OSError("down")
    [told] = [one async for one in ledger.reconcile()]
    assert (told.found, told.because) == ("unknown", "sent again under its key; it raised: OSError: down")


@each_kind
async def test_it_is_sent_after_a_probe_that_cannot_tell(ledger: AsyncLedger, shop: Shop, kind: str) -> None:
    async def find(key: str, args: Any) -> None:
        return None

    run = await left(ledger, shop.tool(kind, probe=find))
    [one] = await ledger.effects()
    assert await run.ask(one.effect) == "happened"
    assert len(shop.seen) == 2


@each_kind
async def test_the_time_may_be_over_before_the_call(
    ledger: AsyncLedger, shop: Shop, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may wait for a thread, so it is looked at once more where the function is called."""
    await left(ledger, shop.tool(kind))
    begin = Doing.begin_again

    def begun(doing: Doing, *given: Any) -> Any:
        effect = begin(doing, *given)
        doing.forgets = 0.0
        return effect

    monkeypatch.setattr(Doing, "begin_again", begun)
    [told] = [one async for one in ledger.reconcile()]
    assert told.because == "not sent again after all: the outside may have forgotten its key meanwhile"
    assert len(shop.seen) == 1


async def test_who_is_cancelled_while_sending_leaves_word_of_it(ledger: AsyncLedger, shop: Shop) -> None:
    run = await left(ledger, shop.tool("coroutine"))
    shop.free = anyio.Event()

    async def ask() -> None:
        [one] = await ledger.effects()
        await run.ask(one.effect)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(shop.asked.is_set)
        tasks.cancel_scope.cancel()
    assert await names(ledger, run) == [*TRY, "effect.reconciled"]
    [one] = await ledger.effects()
    assert one.effect.findings[-1].evidence.startswith("being sent again under its key by ")
    shop.free.set()
    assert await run.ask(one.effect) == "happened"
