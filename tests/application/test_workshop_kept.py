"""What a call leaves of its tool: nothing where it only asks, and never less than a person has to approve."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger
from ledger.application.workshop import Workshop
from ledger.errors import ApprovalRequired, InvalidInput
from ledger.gateway.tools import declare
from ledger.stores.memory import MemoryStore
from tests.application.conftest import SetClock
from tests.application.performing import Waiting, opened


def pay(order: int) -> str:
    return "paid"


def other(order: int) -> str:
    return "other"


def found(key: str, args: Any) -> None:
    return None


STRICT = declare(pay, name="pay", needs_approval=True)
LOOSE = declare(pay, name="pay")


@pytest.fixture
def ledger(clock: SetClock) -> Ledger:
    return Waiting(MemoryStore(), clock)(tools=[STRICT])


def workshop(ledger: Ledger) -> Workshop:
    return ledger._shared.workshop


def kept(ledger: Ledger) -> tuple[Any, ...]:
    here = workshop(ledger)
    return dict(here.tools), dict(here._made), dict(here._probed), here.known


def test_to_ask_whether_it_may_be_done_leaves_no_tool(ledger: Ledger) -> None:
    run, before = opened(ledger), kept(ledger)
    assert run.may(declare(other, name="mail"), {"order": 1})
    assert run.may("mail", {"order": 1}, other)
    assert run.may(other, {"order": 1}, recovery="queryable", probe=found)
    assert not run.may(declare(other, name="pay", needs_approval=True), {"order": 1})
    assert not run.may("pay", {"order": 1}, resource="account:1")
    assert kept(ledger) == before
    with pytest.raises(InvalidInput, match="no tool 'mail'"):
        run.perform("mail", {"order": 1})


@pytest.mark.parametrize("ask", ["may", "perform"])
@pytest.mark.parametrize(
    ("call", "options"),
    [
        (("pay", {"order": 1}), {"needs_approval": False}),
        ((STRICT, {"order": 1}), {"needs_approval": False}),
        (("pay", {"order": 1}, pay), {"needs_approval": False}),
        (("pay", {"order": 1}, LOOSE), {}),
        ((LOOSE, {"order": 1}), {}),
    ],
)
def test_no_call_does_without_a_person_what_its_tool_asks_one_about(
    ledger: Ledger, ask: str, call: tuple[Any, ...], options: dict[str, Any]
) -> None:
    run, before = opened(ledger), kept(ledger)
    with pytest.raises(InvalidInput, match="'pay'") as refused:
        getattr(run, ask)(*call, **options)
    assert refused.value.path == "needs_approval"
    assert kept(ledger) == before
    with pytest.raises(ApprovalRequired):
        run.perform("pay", {"order": 1})


def test_who_writes_the_program_may_put_a_tool_in_the_place_of_a_stricter_one(ledger: Ledger) -> None:
    ledger.register(LOOSE)
    assert opened(ledger).perform("pay", {"order": 1}) == "paid"


def test_a_tool_that_is_as_strict_takes_the_place_of_one(ledger: Ledger) -> None:
    run, mine = opened(ledger), declare(other, name="pay", needs_approval=True)
    with pytest.raises(ApprovalRequired):
        run.perform(mine, {"order": 1})
    assert workshop(ledger).tools["pay"] is mine
