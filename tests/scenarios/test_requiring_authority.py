"""A run in which each act needs a grant from the first one on, and one in which none ever did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from ledger import Actor, Ledger, Run, open_async_ledger, open_ledger
from ledger.errors import AuthorityExceeded, EffectsDisabled, InvalidInput, RunExists
from ledger.events import EffectIntended
from ledger.testing import Clock

AGENT, KIM = Actor("agent:refunds"), Actor("human:kim")


def strict(**more: Any) -> Ledger:
    return open_ledger(":memory:", clock=Clock(), actor=AGENT, require_authority=True, **more)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with strict() as opened:
        yield opened


def pay(run: Run, order: int = 17) -> Any:
    return run.perform("pay", {"order": order}, lambda order: "paid")


def grant(ledger: Ledger, run: str) -> None:
    ledger.run(run, actor=KIM).grant("till", principal=AGENT.id, scopes=["pay"], granted_by=KIM.id)


def test_an_act_needs_a_grant_though_none_was_ever_given(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund orders")
    with pytest.raises(AuthorityExceeded):
        pay(run)
    assert [record.name for record in ledger.log("r")] == ["run.opened", "effect.refused"]
    assert not run.may("pay", {"order": 17}, lambda order: "paid")
    assert "none is in force, and each act needs one" in run.contract.to_prompt()
    assert "none is left, and each act needs one" in ledger.brief("r").to_markdown()
    grant(ledger, "r")
    assert pay(run) == "paid"
    assert "each act needs one" not in run.contract.to_prompt()


def test_without_it_an_act_of_a_run_without_grants_is_recorded_as_such(ledger: Ledger) -> None:
    run = ledger.open_run("free", goal="Refund orders", require_authority=False)
    assert pay(run) == "paid"
    (intended,) = [one.event for one in ledger.log("free") if isinstance(one.event, EffectIntended)]
    assert intended.authority == ()
    assert "Authority" not in run.contract.to_prompt()
    with open_ledger(":memory:", actor=AGENT) as other:
        assert not other.open_run("r", goal="Refund orders").contract.authority_needed
        assert other.open_run("s", goal="Refund orders", require_authority=True).contract.authority_needed


def test_a_run_is_opened_again_only_as_it_was(ledger: Ledger) -> None:
    ledger.open_run("r", goal="Refund orders")
    ledger.open_run("r", goal="Refund orders", require_authority=True)
    with pytest.raises(RunExists):
        ledger.open_run("r", goal="Refund orders", require_authority=False)


def test_what_comes_of_it_needs_a_grant_too(ledger: Ledger) -> None:
    ledger.open_run("r", goal="Refund orders").open_child("r/a", "A part")
    with pytest.raises(AuthorityExceeded):
        pay(ledger.run("r/a"))
    ledger.restart("r", as_="r2", reason="gone", by=KIM.id, actor=KIM)
    with pytest.raises(AuthorityExceeded):
        pay(ledger.run("r2"))
    ledger.fork("r2", as_="what-if", at=1)
    with pytest.raises(EffectsDisabled):
        pay(ledger.run("what-if"))
    grant(ledger, "r2")
    assert pay(ledger.run("r2")) == "paid"


def test_it_is_said_plainly(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput, match="require_authority"):
        open_ledger(":memory:", require_authority="no")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="require_authority"):
        ledger.open_run("r", goal="Refund orders", require_authority="no")  # type: ignore[arg-type]


def test_the_awaited_ledger_has_it_too() -> None:
    async def main() -> None:
        async with open_async_ledger(":memory:", actor=AGENT, require_authority=True) as ledger:
            run = await ledger.open_run("r", goal="Refund orders")
            with pytest.raises(AuthorityExceeded):
                await run.perform("pay", {"order": 17}, lambda order: "paid")
            kim = await ledger.run("r", actor=KIM)
            await kim.grant("till", principal=AGENT.id, scopes=["*"], granted_by=KIM.id)
            await kim.narrow("till", as_="less", scopes=["pay"], by=KIM.id, reason="pay alone")
            assert await run.perform("pay", {"order": 17}, lambda order: "paid") == "paid"
            await kim.revoke("less", by=KIM.id, reason="done")
            free = await ledger.open_run("free", goal="Refund orders", require_authority=False)
            assert await free.perform("pay", {"order": 17}, lambda order: "paid") == "paid"

    anyio.run(main)
