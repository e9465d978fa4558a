"""What is written of arguments is what the tool is called with, or they are refused."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    computed_field,
    field_serializer,
    field_validator,
)

from ledger.errors import InvalidInput
from ledger.gateway import rereading
from ledger.gateway.signatures import Bound, Signature
from ledger.values import SecretRef


class Hidden(BaseModel):
    amount: int
    real: int = Field(default=1, exclude=True)


class Masked(BaseModel):
    iban: str

    @field_serializer("iban")
    def mask(self, iban: str) -> str:
        return iban[:2] + "***"


class Hundredth(BaseModel):
    amount: float

    @field_validator("amount")
    @classmethod
    def divided(cls, amount: float) -> float:
        return amount / 100


class Kept(BaseModel):
    amount: int
    _real: int = PrivateAttr(default=1)


class Summed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    amount: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return 2 * self.amount


class Aliased(BaseModel):
    amt: int = Field(alias="amount")
    mode: str = "live"


class Swapped(BaseModel):
    a: int = Field(alias="b")
    b: int = Field(alias="a")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime.date
    price: Decimal
    id: UUID | None = None


class Rounded(BaseModel):
    amount: Decimal

    @field_validator("amount")
    @classmethod
    def two_places(cls, amount: Decimal) -> Decimal:
        return amount.quantize(Decimal("0.01"))


@dataclasses.dataclass
class Once:
    amount: int
    seen: dataclasses.InitVar[int]

    def __post_init__(self, seen: int) -> None: ...


class Child(Rounded):
    pass


Zero = Annotated[int, PlainSerializer(lambda value: 0)]
Negated = Annotated[int, AfterValidator(lambda value: -value)]


def taking(kind: Any, **default: Any) -> Signature:
    def f(x: Any) -> None: ...
    def g(x: Any = default.get("default")) -> None: ...  # noqa: B008

    function: Callable[..., None] = g if default else f
    function.__annotations__["x"] = kind
    return Signature.of(function, "tool")


def bind(kind: Any, x: Any) -> Bound:
    return taking(kind).bind({"x": x})


def private() -> Kept:
    kept = Kept(amount=1)
    kept._real = 2
    return kept


@pytest.mark.parametrize(
    ("kind", "given", "path", "hint"),
    [
        (Hidden, {"amount": 1, "real": 2}, "args.x.real", "results"),
        (list[Hidden], [{"amount": 1}, {"amount": 1, "real": 2}], "args.x[1].real", "results"),
        (dict[str, Any], {"a": Hidden(amount=1, real=2)}, "args.x.a", "results"),
        (Zero, 5, "args.x", "results"),
        (list[Zero], [0, 5], "args.x[1]", "results"),
        (Masked, {"iban": "DE111"}, "args.x.iban", "results"),
        (Masked, Masked(iban="DE111"), "args.x.iban", "results"),
        (Hundredth, {"amount": 20000}, "args.x.amount", "leave alone"),
        (Negated, -20000, "args.x", "leave alone"),
        (Kept, private(), "args.x", "leave alone"),
        (Summed, {"amount": 1}, "args.x.twice", "cannot be read again"),
        (Swapped, {"a": 1, "b": 2}, "args.x.a", "leave alone"),
        (Once, Once(1, 2), "args.x.seen", "cannot be read again"),
        (Decimal | str, Decimal("1.0"), "args.x", "leave alone"),
        (list[Any], [Decimal("1.0")], "args.x[0]", "leave alone"),
        (Rounded, Child(amount=Decimal(1)), "args.x", "leave alone"),
        (Annotated[bool | int, PlainSerializer(int)], True, "args.x", "leave alone"),
    ],
)
def test_what_is_written_as_something_else_is_refused(kind: Any, given: Any, path: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as error:
        bind(kind, given)
    assert error.value.path == path
    assert hint in error.value.reason
    assert "DE111" not in str(error.value)


def test_a_default_that_is_written_as_something_else_is_refused_where_it_is_used() -> None:
    signature = taking(Hidden, default=Hidden(amount=1, real=2))
    with pytest.raises(InvalidInput) as error:
        signature.bind({})
    assert error.value.path == "args.x.real"
    assert signature.bind({"x": {"amount": 1}}).text == '{"x":{"amount":1}}'


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (Hidden, {"amount": 1}, '{"amount":1}'),
        (Zero, 0, "0"),
        (Masked, {"iban": "DE***"}, '{"iban":"DE***"}'),
        (Hundredth, {"amount": 0}, '{"amount":0}'),
        (Kept, {"amount": 1}, '{"amount":1}'),
        (Strict, Strict(at=datetime.date(2026, 1, 31), price=Decimal("1.50")),
         '{"at":"2026-01-31","price":"1.50"}'),
        (Rounded, {"amount": "1.234"}, '{"amount":"1.23"}'),
        (Path, "/tmp/../a", '"/tmp/../a"'),
        (bytes, b"abc", '"abc"'),
        (tuple[int, ...], (1, 2), "[1,2]"),
        (dict[int, float], {1: 2.0}, '{"1":2}'),
        (datetime.datetime, "2026-01-31T10:00:00+02:00", '"2026-01-31T10:00:00+02:00"'),
        (dict[str, Any], {"token": SecretRef("key")}, '{"token":{"$secret":"key"}}'),
    ],
)  # fmt: skip
def test_what_is_read_as_it_was_given_is_taken(kind: Any, given: Any, text: str) -> None:
    signature = taking(kind)
    bound = signature.bind({"x": given})
    assert bound.text == f'{{"x":{text}}}'
    again = signature.bind({"x": bound.plain["x"]}, recorded=True)
    assert (again.values, again.text, again.more) == (bound.values, bound.text, bound.more)


@pytest.mark.skipif(not rereading._NAMES, reason="pydantic reads by name from 2.11 on")
def test_a_field_with_an_alias_is_read_again_by_its_name() -> None:
    signature = taking(Aliased)
    bound = signature.bind({"x": {"amount": 5}})
    assert bound.text == '{"x":{"amt":5}}'
    assert bound.more == {"x": {"amt": 5, "mode": "live"}}
    assert signature.bind(bound.plain, recorded=True) == bound
    assert signature.in_full(bound.plain) == {"x": {"amt": 5, "mode": "live"}}
    with pytest.raises(InvalidInput):
        signature.bind({"x": {"amt": 5}})


def test_a_pydantic_that_reads_by_alias_only_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rereading, "_NAMES", {})
    with pytest.raises(InvalidInput, match="populate_by_name") as error:
        bind(Aliased, {"amount": 5})
    assert error.value.path == "args.x.amount"


def test_what_a_tool_takes_for_something_else_by_now_is_not_read_from_a_record() -> None:
    limited = Annotated[int, AfterValidator(lambda amount: min(amount, 100))]
    assert taking(limited).bind({"x": 500}).text == '{"x":100}'
    with pytest.raises(InvalidInput, match="recorded") as error:
        taking(limited).bind({"x": 500}, recorded=True)
    assert error.value.path == "args.x"
    with pytest.raises(InvalidInput) as error:
        taking(Rounded).bind({"x": {"amount": "1.234"}}, recorded=True)
    assert error.value.path == "args.x.amount"
    with pytest.raises(InvalidInput) as error:
        taking(Rounded).bind({"x": {"amount": "1.23", "gone": 1}}, recorded=True)
    assert error.value.path == "args.x.gone"


def test_what_a_record_spells_out_may_have_become_a_default() -> None:
    bound = taking(Aliased).bind({"x": {"amt": 5, "mode": "live"}}, recorded=True)
    assert (bound.text, bound.more) == ('{"x":{"amt":5}}', {"x": {"amt": 5, "mode": "live"}})


def test_a_probe_is_given_what_is_recorded_where_its_type_makes_another_of_it() -> None:
    assert taking(Hundredth).in_full({"x": {"amount": 200}}) == {"x": {"amount": 200}}
    assert taking(list[Zero]).in_full({"x": [1]}) == {"x": [1]}


def test_the_complete_arguments_are_those_that_were_bound() -> None:
    def f(order: int, line: Aliased, note: str = "x", token: Any = SecretRef("key")) -> None: ...  # noqa: B008

    bound = Signature.of(f, "tool").bind({"order": 1, "line": {"amount": 5}, "note": "x"})
    assert bound.text == '{"line":{"amt":5},"order":1}'
    assert bound.more == {"line": {"amt": 5, "mode": "live"}, "note": "x", "token": SecretRef("key")}
