"""A grant and an actor say who may act and who does, and never what that is proven with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.commands import GrantAuthority
from ledger.errors import InvalidInput

KIM = Actor("human:kim")
TOKEN = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
FIELDS: dict[str, Any] = {"principal": "agent:refunds", "scopes": ["refund"], "granted_by": KIM.id}


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:", actor=KIM) as opened:
        opened.open_run("r", goal="Refund orders")
        yield opened


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("session", TOKEN),
        ("scopes", ["refund", TOKEN]),
        ("principal", f"agent:{TOKEN}"),
        ("granted_by", f"human:{TOKEN}"),
    ],
)
def test_a_grant_that_holds_a_secret_is_refused_and_nothing_of_it_is_told(
    ledger: Ledger, field: str, said: Any
) -> None:
    ways: tuple[Callable[[], object], ...] = (
        lambda: ledger.run("r").grant("g", **{**FIELDS, field: said}),
        lambda: ledger.run("r").do(GrantAuthority(id="g", **{**FIELDS, field: said})),
    )
    for grant in ways:
        with pytest.raises(InvalidInput) as refused:
            grant()
        assert (refused.value.path or "").startswith(field)
        assert TOKEN not in str(refused.value)
        assert "stripe-key" in str(refused.value)
    assert [record.name for record in ledger.log("r")] == ["run.opened"]


def test_so_is_what_renews_or_narrows_one(ledger: Ledger) -> None:
    run = ledger.run("r")
    run.grant("g", **FIELDS, session="s-1")
    with pytest.raises(InvalidInput, match="session"):
        run.renew("g", by=KIM.id, session=TOKEN)
    with pytest.raises(InvalidInput, match="session"):
        run.narrow("g", as_="less", by=KIM.id, reason="less", session=TOKEN)
    assert ledger.contract("r").position == 2
    run.narrow("g", as_="less", by=KIM.id, reason=f"the key is {TOKEN}")
    assert TOKEN not in "".join(repr(record) for record in ledger.log("r"))


def test_a_unit_of_a_budget_is_no_secret_whatever_it_is_called(ledger: Ledger) -> None:
    run = ledger.run("r")
    run.grant("g", **FIELDS, budget={"token": 100, "pin": 1})
    run.renew("g", by=KIM.id, add_budget={"token": 1})
    run.narrow("g", as_="less", by=KIM.id, reason="less", budget={"token": 7})
    assert ledger.contract("r").grants[0].budget == {"token": Decimal(7)}


def test_an_actor_that_holds_a_secret_writes_nothing(ledger: Ledger) -> None:
    bad = Actor("agent:refunds", session=TOKEN)
    for ask in (
        lambda: ledger.open_run("other", goal="Refund", actor=bad),
        lambda: ledger.run("r", actor=bad),
        lambda: ledger.resume("r", actor=bad),
        lambda: ledger.source("policy:refunds", actor=bad),
        lambda: open_ledger(":memory:", actor=bad),
    ):
        with pytest.raises(InvalidInput) as refused:
            ask()
        assert refused.value.path == "actor.session"
        assert TOKEN not in str(refused.value)
