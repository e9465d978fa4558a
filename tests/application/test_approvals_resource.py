"""An approval is bound to what its tool acts on."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.gateway.tools import declare
from ledger.stores.memory import MemoryStore
from tests.application.approving import KIM, Outside, asks, begin, opened, paying, performs
from tests.application.conftest import SetClock


@pytest.mark.parametrize(
    ("before", "now"),
    [(None, "account:1"), ("account:1", "account:2"), ("account:1", None)],
)
def test_what_was_approved_for_one_resource_is_asked_anew_for_another(
    clock: SetClock, before: Any, now: Any
) -> None:
    store, outside = MemoryStore(), Outside()
    here = opened(store, clock, [paying(outside, resource=before)])
    there = opened(store, clock, [paying(outside, resource=now)])
    begin(here)
    first = asks(here)
    here.approve(first.data["id"], by=KIM)
    again = asks(there)
    assert again.data["id"] != first.data["id"]
    assert outside.calls == 0
    there.approve(again.data["id"], by=KIM)
    performs(there)
    assert outside.calls == 1


def test_what_a_call_says_it_acts_on_counts_and_what_it_costs_does_not(clock: SetClock) -> None:
    outside = Outside()
    ledger = opened(MemoryStore(), clock, [paying(outside)])
    begin(ledger)
    first = asks(ledger, resource="account:1")
    ledger.approve(first.data["id"], by=KIM)
    assert asks(ledger, resource="account:2").data["id"] != first.data["id"]
    ledger.approve(asks(ledger, resource="account:1").data["id"], by=KIM)
    performs(ledger, resource="account:1", cost={"EUR": 5})
    assert outside.calls == 1


def test_a_tool_that_names_no_resource_is_known_by_what_it_takes() -> None:
    tool = declare(lambda order: None, name="pay")
    assert tool.signature is not None
    assert tool.digest == tool.signature.digest
    assert tool.with_declared(resource="account:1").digest != tool.digest
