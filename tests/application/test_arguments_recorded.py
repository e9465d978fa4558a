"""What is recorded of arguments: what the tool is called with, and no secret."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field, field_serializer

from ledger import Ledger
from ledger import events as e
from ledger.errors import ApprovalRequired, ConstraintViolated, InvalidInput, OutcomeUnknown
from ledger.gateway import rereading
from ledger.gateway.tools import declare
from ledger.stores.memory import MemoryStore
from tests.application.conftest import SetClock
from tests.application.performing import Waiting, events, opened

SECRET = "sk_live_" + "51HxYzAbCdEfGhIjKlMnOpQr"
LIMIT = {"tools": ["pay"], "require": [{"path": "/o/amount", "operator": "le", "value": 100}]}


class Keyed(BaseModel):
    id: int
    token: str = SECRET
    url: str = "postgres://u:hunter2pass@host/db"


class Card(BaseModel):
    amount: int
    real: int = Field(default=1, exclude=True)


class Masked(BaseModel):
    iban: str

    @field_serializer("iban")
    def mask(self, iban: str) -> str:
        return iban[:2] + "***"


class Aliased(BaseModel):
    amt: int = Field(alias="amount")
    mode: str = "live"


@pytest.fixture
def open_on(clock: SetClock) -> Waiting:
    return Waiting(MemoryStore(), clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Ledger:
    return open_on()


def written(ledger: Ledger) -> str:
    return "".join(event.model_dump_json() for event in events(ledger))


def intents(ledger: Ledger) -> list[e.EffectIntended]:
    return [one for one in events(ledger) if isinstance(one, e.EffectIntended)]


def with_token(order: int, token: str = SECRET, note: str = "x") -> str:
    return token


def with_url(order: int, url: str = "postgres://u:hunter2pass@host/db") -> str:
    return url


def in_a_model(o: Keyed) -> str:
    return o.token


def deep(lines: list[Keyed]) -> str:
    return lines[0].token


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (with_token, {"order": 1}),
        (with_token, {"order": 1, "token": SECRET}),
        (with_url, {"order": 1}),
        (in_a_model, {"o": {"id": 1}}),
        (deep, {"lines": [{"id": 1}]}),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_a_secret_that_a_tool_declares_by_default_is_not_recorded(
    ledger: Ledger, function: Any, args: dict[str, Any], waits: bool
) -> None:
    run = opened(ledger)
    run.accept("c", "Only with x", asserted_by="human:kim", rule={"tools": ["no"], "deny": ["no"]})
    tool = declare(function, name="pay", needs_approval=waits)
    if waits:
        with pytest.raises(ApprovalRequired):
            run.perform(tool, args)
    else:
        assert run.perform(tool, args) in (SECRET, "postgres://u:hunter2pass@host/db")
        (said,) = (one.args for one in intents(ledger))
        assert said in ('{"order":1}', '{"o":{"id":1}}', '{"lines":[{"id":1}]}')
    (full,) = (one.args_in_full for one in intents(ledger))
    assert full is not None
    assert "[redacted:" in full
    assert SECRET not in written(ledger)
    # What a tool returned is told elsewhere; here it is what it was called with.
    assert "hunter2pass" not in "".join(event.model_dump_json() for event in intents(ledger))


def test_a_rule_that_is_broken_shows_no_secret_that_a_tool_declares_by_default(ledger: Ledger) -> None:
    run = opened(ledger)
    rule = {"tools": ["pay"], "require": [{"path": "/token", "operator": "eq", "value": "x"}]}
    run.accept("c", "Only with x", asserted_by="human:kim", rule=rule)
    assert not run.may("pay", {"order": 1}, with_token)
    assert SECRET not in str(run.may("pay", {"order": 1}, with_token))
    with pytest.raises(ConstraintViolated) as refused:
        run.perform("pay", {"order": 1}, with_token)
    assert SECRET not in f"{refused.value} {refused.value.data} {written(ledger)}"


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (Card, {"amount": 1, "real": 1}, {"amount": 1, "real": 999}),
        (Masked, {"iban": "DE***"}, {"iban": "DE999"}),
    ],
)
def test_what_differs_only_in_what_is_not_written_shares_neither_approval_nor_result(
    ledger: Ledger, kind: Any, one: dict[str, Any], other: dict[str, Any]
) -> None:
    called: list[Any] = []

    def pay(o: Any) -> int:
        called.append(o)
        return len(called)

    pay.__annotations__["o"] = kind
    run, tool = opened(ledger), declare(pay, name="pay", needs_approval=True)
    with pytest.raises(ApprovalRequired) as asked:
        run.perform(tool, {"o": one})
    run.approve(asked.value.data["id"], by="human:kim")
    with pytest.raises(InvalidInput, match="read again"):
        run.perform(tool, {"o": other})
    assert called == []
    assert run.perform(tool, {"o": one}) == 1
    assert called == [kind(**one)]


def test_a_validator_that_makes_another_each_time_gets_past_no_rule(ledger: Ledger) -> None:
    class Cents(BaseModel):
        amount: Annotated[int, AfterValidator(lambda amount: -amount)]
        cap: int = 5

    def pay(o: Any) -> None:
        raise AssertionError

    pay.__annotations__["o"] = Cents
    run = opened(ledger)
    run.accept("c", "At most 100", asserted_by="human:kim", rule=LIMIT)
    with pytest.raises(InvalidInput) as refused:
        run.perform("pay", {"o": {"amount": -20000}}, pay)
    assert refused.value.path == "args.o.amount"


@pytest.mark.skipif(not rereading._NAMES, reason="pydantic reads by name from 2.11 on")
def test_a_field_with_an_alias_is_held_to_a_rule_with_the_defaults_beside_it(ledger: Ledger) -> None:
    def pay(o: Aliased) -> str:
        return o.mode

    run = opened(ledger)
    rule = {"tools": ["pay"], "require": [{"path": "/o/mode", "operator": "ne", "value": "live"}]}
    run.accept("c", "Not live", asserted_by="human:kim", rule=rule)
    with pytest.raises(ConstraintViolated):
        run.perform("pay", {"o": {"amount": 5}}, pay)
    assert run.perform("pay", {"o": {"amount": 5, "mode": "test"}}, pay) == "test"
    assert [one.args_in_full or one.args for one in intents(ledger)] == ['{"o":{"amt":5,"mode":"test"}}']


@pytest.mark.skipif(not rereading._NAMES, reason="pydantic reads by name from 2.11 on")
def test_what_is_sent_again_is_what_was_sent(open_on: Waiting, clock: SetClock) -> None:
    called: list[Aliased] = []

    def pay(o: Aliased) -> str:
        called.append(o)
        if len(called) == 1:
            raise ConnectionResetError
        return "paid"

    tool = declare(pay, name="pay", recovery="idempotent", dedupes_for=None)
    ledger = open_on(tools=[tool])
    run = opened(ledger)
    with pytest.raises(OutcomeUnknown):
        run.perform("pay", {"o": {"amount": 5}})
    clock.tick(3600)
    assert [one.found for one in ledger.reconcile()] == ["happened"]
    assert called[0] == called[1]


def test_what_a_tool_takes_for_something_else_by_now_is_not_sent_again(
    open_on: Waiting, clock: SetClock
) -> None:
    called: list[int] = []

    def pay(amount: int) -> str:
        called.append(amount)
        raise ConnectionResetError

    def limited(amount: Annotated[int, AfterValidator(lambda amount: min(amount, 100))]) -> str:
        called.append(amount)
        return "paid"

    before, after = (
        declare(one, name="pay", recovery="idempotent", dedupes_for=None) for one in (pay, limited)
    )
    run = opened(open_on(tools=[before]))
    with pytest.raises(OutcomeUnknown):
        run.perform("pay", {"amount": 500})
    clock.tick(3600)
    (told,) = open_on(tools=[after]).reconcile()
    assert told.found != "happened"
    assert called == [500]
