"""A claim whose acknowledgement was lost may be heard long after it was stored: then its lease decides."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Happened, Ledger, NotHappened
from ledger.application.edge import Edge
from ledger.errors import InvalidInput, LeaseLost, StoreUnavailable
from tests.application.conftest import SetClock
from tests.application.faulty import FaultyStore


class Payments:
    """An outside that can be asked, and how often it was paid by which attempt."""

    def __init__(self) -> None:
        self.attempts: list[int] = []

    def pay(self, order: int, *, effect: Any) -> int:
        self.attempts.append(effect.attempt)
        return order

    def find(self, key: str, args: Any) -> Happened | NotHappened:
        return Happened(args["order"]) if self.attempts else NotHappened()


@pytest.fixture
def faulty() -> FaultyStore:
    return FaultyStore()


@pytest.fixture
def ledgers(faulty: FaultyStore, clock: SetClock) -> tuple[Ledger, Ledger]:
    one, other = (
        Ledger(Edge(faulty, "default", Actor("service:tests"), clock, pause=lambda attempt: None))
        for _ in range(2)
    )
    return one, other


def perform(ledger: Ledger, payments: Payments) -> Any:
    run = ledger.run("r")
    return run.perform("pay", {"order": 7}, payments.pay, recovery="queryable", probe=payments.find)


def test_a_claim_heard_after_another_worker_took_over_begins_nothing(
    faulty: FaultyStore, ledgers: tuple[Ledger, Ledger], clock: SetClock
) -> None:
    payments = Payments()
    one, other = ledgers
    kept = one.open_run("r", "goal")
    faulty.faults = ["lost_stored"]
    with pytest.raises(StoreUnavailable):
        perform(one, payments)
    clock.tick(90)  # the lease ends, and nothing that was sent can land any more
    assert perform(other, payments) == 7
    with pytest.raises(LeaseLost):
        perform(one, payments)
    assert payments.attempts == [2]
    assert perform(one, payments) == 7
    assert kept.contract.effects == ()


def test_a_claim_heard_while_its_lease_holds_goes_on(
    faulty: FaultyStore, ledgers: tuple[Ledger, Ledger], clock: SetClock
) -> None:
    payments = Payments()
    one, _ = ledgers
    kept = one.open_run("r", "goal")
    faulty.faults = ["lost_stored"]
    with pytest.raises(StoreUnavailable):
        perform(one, payments)
    clock.tick(29)
    assert perform(one, payments) == 7
    assert payments.attempts == [1]
    assert kept.contract.effects == ()


def test_a_claim_heard_late_begins_nothing_while_nobody_knows_of_its_lease(
    faulty: FaultyStore, ledgers: tuple[Ledger, Ledger], clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*args: Any, **options: Any) -> Any:
        raise StoreUnavailable("the connection was lost")

    payments = Payments()
    one, _ = ledgers
    kept = one.open_run("r", "goal")
    faulty.faults = ["lost_stored"]
    with pytest.raises(StoreUnavailable):
        perform(one, payments)
    clock.tick(1)
    monkeypatch.setattr(faulty._store, "renew", unreachable)
    with pytest.raises(LeaseLost):
        perform(one, payments)
    assert payments.attempts == []
    assert kept.contract.effects == ()


def test_the_name_of_a_block_is_no_function_to_perform(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    with run.effect("mail", {"to": "kim"}) as effect:
        effect.succeed("sent")
    with pytest.raises(InvalidInput) as refused:
        run.perform("mail", {"to": "lee"})
    assert refused.value.path == "tool"
    assert run.perform("mail", {"to": "lee"}, lambda to: f"sent to {to}") == "sent to lee"
