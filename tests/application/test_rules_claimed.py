"""Acts that are held to the rules of constraints, however their arguments are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ledger import Secrets, Source
from ledger import events as e
from ledger.errors import ApprovalRequired, ConstraintViolated
from ledger.gateway.tools import declare
from ledger.values import SecretRef
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, events, last, opened
from tests.stores.conftest import KINDS


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    store = KINDS[request.param](tmp_path)
    yield store
    store.close()


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on(secrets=Secrets(lookup=lambda name: f"the value of {name}"))


def condition(path: str, operator: str, *value: Any) -> dict[str, Any]:
    return {"path": path, "operator": operator, **({"value": value[0]} if value else {})}


def bound(ledger: Any, rule: dict[str, Any], name: str = "r", **more: Any) -> Any:
    run = opened(ledger, name)
    run.accept("c", "As the rule says", asserted_by="human:kim", rule=rule, **more)
    return run


def asks(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"tools": ["pay"], "when": list(conditions), "needs_approval": True}


def requires(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"tools": ["pay"], "require": list(conditions)}


def outcome(run: Any, function: Callable[..., Any], args: dict[str, Any]) -> str:
    """Try an act, and say what became of it."""
    try:
        run.perform("pay", args, function)
    except ApprovalRequired:
        return "asked"
    except ConstraintViolated:
        return "refused"
    return "done"


# --- what is recorded --------------------------------------------------------------------------------


def test_a_violation_is_recorded_with_whose_rule_it_is(ledger: Any) -> None:
    rule = requires(condition("/amount", "le", 100))
    text = "Never refund more than 100 EUR"
    ledger.source("policy:refunds").publish("4", {"limit": {"text": text, "rule": rule}}, by="human:lee")
    run, outside = opened(ledger), Outside()
    run.accept("limit", text, source=Source("policy", "refunds"), asserted_by="human:kim")
    run.accept("kind", "Pay nobody", asserted_by="human:lee", rule={"deny": ["pay"]})
    with pytest.raises(ConstraintViolated) as refused:
        run.perform("pay", {"amount": 101}, outside)
    assert outside.calls == 0
    recorded = last(ledger)
    assert isinstance(recorded, e.EffectRefused)
    assert (recorded.rule, recorded.position, recorded.args) == ("constraint_violated", 2, '{"amount":101}')
    assert dict(recorded.evidence or {}) == {
        "also": "kind",
        "asserted_by": "human:kim",
        "conditions": "/amount is at most 100",
        "id": "limit",
        "revision": "4",
        "source": "policy:refunds",
    }
    assert refused.value.data["evidence"] == {**(recorded.evidence or {}), "tool": "pay"}
    assert "limit" in str(refused.value)


def test_another_constraint_does_not_allow_what_one_forbids_nor_does_an_approval(ledger: Any) -> None:
    run = bound(ledger, asks())
    run.accept("never", "Nothing above 100", asserted_by="human:kim", rule=requires(ABOVE_NOT))
    outside = Outside()
    assert outcome(run, outside, {"amount": 50}) == "asked"
    assert outcome(run, outside, {"amount": 101}) == "refused"
    (asked,) = [one for one in events(ledger) if isinstance(one, e.ApprovalRequested)]
    run.approve(asked.id, by="human:kim")
    assert outcome(run, outside, {"amount": 101}) == "refused"
    assert outcome(run, outside, {"amount": 50}) == "done"


# --- how arguments are written -----------------------------------------------------------------------

ABOVE = condition("/amount", "gt", 100)
ABOVE_NOT = condition("/amount", "le", 100)


def plain(amount: Any) -> str:
    return "paid"


def exact(amount: Decimal) -> str:
    return "paid"


@pytest.mark.parametrize(
    ("function", "amount", "asked"),
    [
        (plain, 100, False),
        (plain, 100.0, False),
        (plain, "100.00", False),
        (plain, 100.01, True),
        (plain, "100.01", True),
        (plain, "1e9", True),
        (plain, " 5", True),
        (plain, "\u0665", True),
        (plain, True, True),
        (plain, None, True),
        (plain, [5], True),
        (plain, {"value": 5}, True),
        (exact, Decimal("100.00"), False),
        (exact, "100.010", True),
        (exact, "1e2", True),
        (exact, 1000, True),
    ],
)
def test_an_amount_is_asked_about_however_it_is_written(
    open_on: Waiting, function: Any, amount: Any, asked: bool
) -> None:
    ledger = open_on()
    assert outcome(bound(ledger, asks(ABOVE)), function, {"amount": amount}) == ("asked" if asked else "done")


class Fee(BaseModel):
    amount: Decimal = Decimal(10)
    currency: str = "EUR"


class Payment(BaseModel):
    to: str
    fee: Fee = Fee()


@dataclass
class Order:
    number: int
    rush: bool = False


def in_a_model(payment: Payment) -> str:
    return "paid"


def in_a_dataclass(order: Order) -> str:
    return "paid"


DEAR = Fee(amount=Decimal(500))


def with_defaults(order: int, currency: str = "EUR", fee: Fee = DEAR) -> str:
    return "paid"


def on_a_day(order: int, day: date = date(2026, 1, 31)) -> str:
    return "paid"


PAYMENT: dict[str, Any] = {"to": "kim"}
DEFAULTS: list[tuple[Any, dict[str, Any], dict[str, Any], str | None]] = [
    (in_a_model, PAYMENT, {"fee": {"amount": "10", "currency": "EUR"}}, "payment"),
    (in_a_model, PAYMENT, {"fee": {}}, "payment"),
    (in_a_dataclass, {"number": 17}, {"rush": False}, "order"),
    (with_defaults, {"order": 17}, {"currency": "EUR", "fee": {"amount": "500"}}, None),
    (on_a_day, {"order": 17}, {"day": "2026-01-31"}, None),
]
RULES = [
    (in_a_model, condition("/payment/fee/currency", "ne", "EUR")),
    (in_a_model, condition("/payment/fee/amount", "not_in", [10])),
    (in_a_model, condition("/payment/fee/amount", "gt", 10)),
    (in_a_dataclass, condition("/order/rush", "ne", False)),
    (in_a_dataclass, condition("/order/rush", "absent")),
    (with_defaults, condition("/currency", "not_in", ["EUR"])),
    (with_defaults, condition("/fee/amount", "lt", 500)),
    (with_defaults, condition("/fee", "absent")),
    (on_a_day, condition("/day", "ne", "2026-01-31")),
]


@pytest.mark.parametrize(("function", "required"), RULES)
def test_a_default_is_held_to_a_rule_whether_it_is_spelled_out_or_left_out(
    ledger: Any, function: Any, required: dict[str, Any]
) -> None:
    run = bound(ledger, requires(required))
    for candidate, least, more, inside in DEFAULTS:
        if candidate is not function:
            continue
        for args in (least, {**least, **more}):
            assert outcome(run, function, args if inside is None else {inside: args}) == "refused"


def test_what_is_given_instead_of_a_default_is_held_to_a_rule(ledger: Any) -> None:
    run = bound(ledger, requires(condition("/currency", "in", ["USD"]), condition("/fee/amount", "le", 5)))
    args = {"order": 17, "currency": "USD", "fee": {"amount": "5"}}
    assert outcome(run, with_defaults, args) == "done"
    assert outcome(run, with_defaults, {**args, "fee": {"amount": "5.01"}}) == "refused"


def test_arguments_of_any_name_are_held_to_a_rule(ledger: Any) -> None:
    def pay(amount: int, **extra: Any) -> str:
        return "paid"

    run = bound(ledger, requires(condition("/cc", "absent"), condition("/deep/0/amount", "ne", 5)))
    assert outcome(run, pay, {"amount": 1}) == "done"
    assert outcome(run, pay, {"amount": 1, "cc": None}) == "refused"
    assert outcome(run, pay, {"amount": 1, "deep": [{"amount": "5.0"}]}) == "refused"
    assert outcome(run, pay, {"amount": 1, "deep": [{"amount": 6}]}) == "done"


def test_a_rule_speaks_of_a_secret_by_its_name_and_never_sees_its_value(ledger: Any) -> None:
    def pay(token: SecretRef, amount: int = 1) -> str:
        return "paid"

    named = condition("/token/$secret", "in", ["stripe-test"])
    run = bound(ledger, requires(named, condition("/amount", "le", 1)))
    assert outcome(run, pay, {"token": SecretRef("stripe-test")}) == "done"
    assert outcome(run, pay, {"token": SecretRef("stripe-live")}) == "refused"
    assert (last(ledger).evidence or {})["conditions"] == '/token/$secret is one of ["stripe-test"]'
    intents = [one for one in events(ledger) if isinstance(one, e.EffectIntended)]
    assert [one.args_in_full for one in intents] == ['{"amount":1,"token":{"$secret":"stripe-test"}}']
    assert "the value" not in "".join(event.model_dump_json() for event in events(ledger))


def test_the_defaults_of_the_process_that_acts_count(open_on: Waiting) -> None:
    """Another process may know the tool with other defaults: what it would send is held to the rule."""

    def pay(order: int, amount: int = 50) -> str:
        return "paid"

    here = open_on(tools=[declare(pay, name="pay")])

    def newer(order: int, amount: int = 500) -> str:
        return "paid"

    there = open_on(tools=[declare(newer, name="pay")])
    run = bound(here, asks(ABOVE))
    assert run.perform("pay", {"order": 1}) == "paid"
    with pytest.raises(ApprovalRequired) as asked:
        there.run("r").perform("pay", {"order": 2})
    run.approve(asked.value.data["id"], by="human:kim")
    assert run.perform("pay", {"order": 2}) == "paid", "here it means 50, which nobody has to approve"
    assert [one.args_in_full for one in events(here) if isinstance(one, e.EffectIntended)] == [
        '{"amount":50,"order":1}',
        '{"amount":500,"order":2}',
        '{"amount":50,"order":2}',
    ]


# --- tools and times ---------------------------------------------------------------------------------


def test_a_rule_is_of_the_name_under_which_a_tool_is_called(ledger: Any) -> None:
    run = bound(ledger, {"tools": ["pay"], "require": [ABOVE_NOT]})
    assert outcome(run, plain, {"amount": 101}) == "refused"
    assert run.perform("pay2", {"amount": 101}, plain) == "paid"
    run.accept("only", "Only pay", asserted_by="human:kim", rule={"allow": ["pay"]})
    with pytest.raises(ConstraintViolated, match="the tool is one of pay"):
        run.perform("pay3", {"amount": 1}, plain)


def test_a_rule_binds_while_it_is_valid_and_no_clock_that_runs_back_frees_it(
    ledger: Any, clock: SetClock
) -> None:
    begins, ends = clock.now + timedelta(hours=1), clock.now + timedelta(hours=2)
    run = bound(ledger, {"deny": ["pay"]}, valid_from=begins, valid_until=ends)
    assert outcome(run, plain, {"amount": 1}) == "done"
    clock.tick(3600)
    assert outcome(run, plain, {"amount": 2}) == "refused"
    clock.tick(-1800)
    assert outcome(run, plain, {"amount": 2}) == "refused", "what was said to have begun has begun"
    clock.tick(5400)
    assert outcome(run, plain, {"amount": 3}) == "done"
    clock.tick(-3600)
    assert outcome(run, plain, {"amount": 4}) == "done", "what was recorded to be over is over"


def test_a_rule_for_other_tenants_or_resources_refuses(ledger: Any) -> None:
    run = bound(ledger, {"tools": ["pay"], "tenants": ["elsewhere"]})
    assert outcome(run, plain, {"amount": 1}) == "refused"
    run = bound(ledger, {"tools": ["pay"], "tenants": ["default"], "resources": ["order:1"]}, "s")
    assert outcome(run, plain, {"amount": 1}) == "refused"
    assert run.perform("pay", {"amount": 1}, plain, resource="order:1") == "paid"
