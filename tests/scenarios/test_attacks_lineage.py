"""What must not come of passing a run on: acts from a fork, authority that grows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from ledger import Actor, Ledger, Outcome, open_ledger
from ledger.application.verifying import verify
from ledger.commands import Carve
from ledger.errors import AuthorityExceeded, EffectsDisabled, RunNotFound
from ledger.testing import Clock

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=Clock()) as opened:
        yield opened


def granted(ledger: Ledger, **budget: str) -> None:
    ledger.open_run("r", goal="Refund orders", actor=AGENT)
    ledger.run("r", actor=KIM).grant(
        "g", principal=AGENT.id, scopes=["*"], granted_by=KIM.id, budget=budget or None
    )


def pays(amount: str) -> Outcome:
    return Outcome("paid", cost={"eur": amount})


# --- a fork never performs, and nothing that comes of it does ----------------------------------------


def test_no_child_performs_for_a_fork(ledger: Ledger) -> None:
    granted(ledger)
    fork = ledger.fork("r", as_="fork", at=2, actor=AGENT)
    with pytest.raises(EffectsDisabled, match="fork"):
        fork.open_child("child", "Pay")
    with pytest.raises(RunNotFound):
        ledger.run("child")


def test_no_fork_is_restarted_into_a_run_that_performs_without_its_authority(ledger: Ledger) -> None:
    granted(ledger)
    ledger.fork("r", as_="fork", at=2, actor=AGENT)
    with pytest.raises(EffectsDisabled, match="fork"):
        ledger.restart("fork", as_="next", reason="go on from there", by="human:kim", actor=KIM)
    assert ledger.contract("fork").closed is None
    assert ledger.contract("r").closed is None


# --- authority never grows ---------------------------------------------------------------------------


def test_a_child_gets_no_unit_that_its_parents_grant_has_no_budget_of(ledger: Ledger) -> None:
    granted(ledger, eur="10")
    run = ledger.run("r", actor=AGENT)
    with pytest.raises(AuthorityExceeded):
        run.perform("pay", {"order": 1}, lambda order: "paid", step="pay", cost={"usd": "5"})
    with pytest.raises(AuthorityExceeded, match="usd"):
        run.open_child(
            "child", "Pay", grants=[Carve(id="g", budget={"eur": Decimal(1), "usd": Decimal(1000)})]
        )


def test_a_child_brings_back_no_more_than_was_passed_on(ledger: Ledger) -> None:
    granted(ledger, eur="10")
    run = ledger.run("r", actor=AGENT)
    run.perform("pay", {"order": 1}, lambda order: pays("6"), step="pay", cost={"eur": "6"})
    run.open_child("child", "Pay", grants=[Carve(id="g", budget={"eur": Decimal(4)})])
    ledger.run("child", actor=KIM).renew("g", by=KIM.id, add_budget={"eur": "100"})
    child = ledger.run("child", actor=AGENT)
    child.perform("pay", {"order": 2}, lambda order: pays("4"), step="pay", cost={"eur": "4"})
    child.close("completed")
    (grant,) = ledger.contract("r").grants
    assert grant.spent == {"eur": Decimal(10)}


def test_a_child_whose_grant_was_only_confirmed_brings_back_what_it_did_not_spend(ledger: Ledger) -> None:
    granted(ledger, eur="10")
    run = ledger.run("r", actor=AGENT)
    run.open_child("child", "Pay", grants=[Carve(id="g", budget={"eur": Decimal(4)})])
    ledger.run("child", actor=KIM).renew("g", by=KIM.id)
    child = ledger.run("child", actor=AGENT)
    child.perform("pay", {"order": 2}, lambda order: pays("1"), step="pay", cost={"eur": "1"})
    child.close("completed")
    (grant,) = ledger.contract("r").grants
    assert grant.spent == {"eur": Decimal(1)}


# --- what is owed is owed by whoever succeeds who owed it --------------------------------------------


def test_a_child_discharges_what_its_parents_successor_owes(ledger: Ledger) -> None:
    granted(ledger, eur="10")
    ledger.run("r", actor=AGENT).open_child(
        "child", "Pay", grants=[Carve(id="g", budget={"eur": Decimal(4)})]
    )
    for run, as_ in (("r", "r-2"), ("r-2", "r-3"), ("child", "child-2")):
        ledger.restart(run, as_=as_, reason="withdrawn", by=KIM.id, actor=KIM)
    assert [one.id for one in ledger.contract("r-3").obligations] == ["child"]
    ledger.run("child-2", actor=AGENT).close("completed")
    assert ledger.contract("r-3").obligations == ()
    ledger.run("r-3", actor=AGENT).close("completed")
    assert verify(ledger).findings == ()


def test_a_child_is_closed_where_nothing_that_owed_it_goes_on(ledger: Ledger) -> None:
    granted(ledger)
    ledger.run("r", actor=AGENT).open_child("child", "Pay")
    successor = ledger.restart("r", as_="r-2", reason="withdrawn", by=KIM.id, actor=KIM)
    successor.close("abandoned")
    ledger.run("child", actor=AGENT).close("completed")
    assert [one.id for one in ledger.contract("r-2").obligations] == ["child"]
