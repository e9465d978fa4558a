"""Under an event loop too a repeat returns what the first call did, and no secret is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ledger import AsyncLedger, NotHappened, Outcome, SecretRef, Secrets
from ledger.application.ledger import Ledger
from ledger.errors import InvalidInput, LeaseLost, OutcomeUnknown
from tests.aio.conftest import edge_on
from tests.aio.stopping import names
from tests.aio.test_performing import tick

pytestmark = pytest.mark.anyio

TOKEN = "tok-7Hq-nobody-knows-its-shape"


def of_kind(kind: str, function: Any) -> Any:
    """Return a function as it is, or as a coroutine function."""
    if kind == "plain":
        return function

    async def awaited(token: SecretRef) -> Any:
        return function(token)

    return awaited


@pytest.mark.parametrize("recovery", ["at_most_once", "read_only"])
async def test_a_repeat_returns_what_the_first_call_did(ledger: AsyncLedger, recovery: Any) -> None:
    run = await ledger.open_run("r", "goal")

    async def price() -> Any:
        return {"prices": (Decimal("1.50"), 2)}

    async def declared() -> tuple[Decimal, int]:
        return Decimal("1.50"), 2

    for _ in range(2):
        assert await run.perform("price", {}, price, recovery=recovery) == {"prices": ["1.50", 2]}
        assert await run.perform("declared", {}, declared, recovery=recovery) == (Decimal("1.50"), 2)


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
async def test_a_secret_that_was_resolved_is_not_told(store: Any, kind: str) -> None:
    ledger = AsyncLedger(Ledger(edge_on(store), Secrets(lookup={"psp": TOKEN}.__getitem__)))
    run = await ledger.open_run("r", "goal")
    args = {"token": SecretRef("psp")}

    def pay(token: SecretRef) -> Any:
        return Outcome([token.resolve()], external_ref=token.resolve())

    def fail(token: SecretRef) -> Any:
        raise RuntimeError(token.resolve())

    assert await run.perform("pay", args, of_kind(kind, pay)) == [TOKEN]
    assert await run.perform("pay", args, of_kind(kind, pay)) == ["[redacted:resolved]"]
    with pytest.raises(OutcomeUnknown) as unknown:
        await run.perform("fail", args, of_kind(kind, fail))
    assert TOKEN not in f"{unknown.value} {unknown.value.data}"
    with pytest.raises(InvalidInput, match="no secret of this name"):
        await run.perform("fail", {"token": SecretRef("gone")}, of_kind(kind, fail))
    assert all([TOKEN not in str(record.event) async for record in ledger.log("r")])
    assert (await names(ledger, run))[-1] == "effect.unknown"


async def test_who_was_fenced_is_told(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def act() -> str:
        tick(ledger, 31)
        (one,) = await ledger.effects()
        await ledger.settle(one.effect.key, happened=False, evidence="not in the books", by="human:kim")
        return "first"

    with pytest.raises(LeaseLost) as lost:
        await run.perform("pay", {}, act)
    assert lost.value.data["result"] == "first"

    with pytest.raises(OutcomeUnknown):
        await run.perform("pay", {}, act)


async def test_what_the_probe_said_is_told(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def pay() -> None:
        raise TimeoutError

    async def find(key: str, args: Any) -> Any:
        return NotHappened(evidence="no such charge")

    with pytest.raises(OutcomeUnknown, match="the probe did not find it: no such charge"):
        await run.perform("pay", {}, pay, recovery="queryable", probe=find)
    assert [one.because async for one in ledger.reconcile()] == ["the probe did not find it: no such charge"]


async def test_what_is_to_be_awaited_is_registered(ledger: AsyncLedger) -> None:
    async def pay() -> int:
        return 1

    ledger.tool(pay)
    assert await (await ledger.open_run("r", "goal")).perform("pay") == 1
