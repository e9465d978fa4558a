"""What is as it is declared by default is no part of a key, and what is not is told apart by it."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import itertools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from ledger.errors import InvalidInput
from ledger.gateway.defaults import holding_defaults, same
from ledger.gateway.plain import own
from ledger.gateway.signatures import Signature

_numbers = itertools.count()


class Line(BaseModel):
    amount: Decimal = Decimal("1.0")
    flag: int | bool = 1
    note: str | None = None
    tags: list[str] = Field(default_factory=list)
    number: int = Field(default_factory=lambda: next(_numbers))


class Card(BaseModel):
    kind: Literal["card"] = "card"
    token: str


class Bank(BaseModel):
    kind: Literal["bank"] = "bank"
    token: str


@dataclasses.dataclass
class Box:
    lines: list[Line]
    size: int = 1
    labels: dict[str, str] = dataclasses.field(default_factory=dict)


class Boxes(RootModel[list[int]]):
    pass


def text(function: Callable[..., Any], **args: Any) -> str:
    return Signature.of(function, "tool").bind(args).text


def test_a_parameter_with_a_default_that_a_deploy_adds_changes_no_key() -> None:
    def old(order: int) -> None: ...
    def new(
        order: int, note: str | None = None, amount: Decimal = Decimal("1.0"), *, tags: Any = None
    ) -> None: ...

    told = text(old, order=1)
    assert told == text(new, order=1) == '{"order":1}'
    assert told == text(new, order=1, note=None, amount="1.00", tags=None)
    assert told != text(new, order=1, note="")
    assert told != text(new, order=1, amount="1.01")
    assert Signature.of(old, "tool").bind({"order": 1}).values == {"order": 1}
    bound = Signature.of(new, "tool").bind({"order": 1})
    assert bound.values == {"order": 1, "note": None, "amount": Decimal("1.0"), "tags": None}


def test_true_is_no_one() -> None:
    def f(x: Any = 1, y: Any = [1, {"a": False}]) -> None: ...  # noqa: B006

    assert text(f, x=1, y=[1, {"a": False}]) == "{}"
    assert text(f, x=True) == '{"x":true}'
    assert text(f, y=[1, {"a": 0}]) == '{"y":[1,{"a":0}]}'
    assert text(f, x=1.0) == "{}"


def test_what_cannot_be_compared_is_not_the_same() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    assert not same(Odd(), Odd())
    assert not same({"a": 1}, {"b": 1})


def test_a_default_that_is_none_of_its_type_harms_nobody_who_gives_the_argument() -> None:
    def f(x: int = "many", y: Any = object) -> None: ...  # type: ignore[assignment]

    assert text(f, x=1, y=2) == '{"x":1,"y":2}'
    with pytest.raises(InvalidInput):
        text(f, x=1)


@pytest.mark.parametrize(
    "declared",
    [Line, Line | None, Annotated[Line, "one"], list[Line], tuple[Line, ...], tuple[Line], Sequence[Line],
     dict[str, Line], Mapping[str, list[Line]]],
)  # fmt: skip
def test_fields_that_hold_their_defaults_are_left_out(declared: Any) -> None:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = declared
    within: Any = lambda line: line  # noqa: E731
    if "dict" in str(declared):
        within = lambda line: {"a": line}  # noqa: E731
    elif "Mapping" in str(declared):
        within = lambda line: {"a": [line]}  # noqa: E731
    elif any(kind in str(declared) for kind in ("list", "tuple", "Sequence")):
        within = lambda line: [line]  # noqa: E731
    same_as = text(f, x=within(Line(number=7)))
    assert same_as.replace('{"a":', "").strip('[]{}x":') == 'number":7'
    spelled = {"amount": "1.00", "flag": 1, "note": None, "tags": [], "number": 7}
    assert text(f, x=within(spelled)) == same_as
    for name, value in {"amount": "2", "flag": True, "note": "", "tags": ["a"], "number": 8}.items():
        assert text(f, x=within({**spelled, name: value})) != same_as


def test_what_a_factory_made_is_told_since_it_may_make_another_tomorrow() -> None:
    def f(line: Line) -> None: ...

    assert text(f, line=Line()) != text(f, line=Line())


def test_dataclasses_are_written_without_their_defaults() -> None:
    def f(box: Box) -> None: ...

    assert text(f, box=Box([Line(number=1)])) == '{"box":{"lines":[{"number":1}]}}'
    assert (
        text(f, box=Box([], size=2, labels={"a": "b"})) == '{"box":{"labels":{"a":"b"},"lines":[],"size":2}}'
    )


def test_what_tells_one_class_from_another_is_never_left_out() -> None:
    def plain(x: Card | Bank) -> None: ...
    def told(x: Annotated[Card | Bank, Field(discriminator="kind")]) -> None: ...
    def many(x: list[Card | Bank | None]) -> None: ...
    def any_(x: Any) -> None: ...

    for function in (plain, told):
        assert text(function, x=Card(token="t")) == '{"x":{"kind":"card","token":"t"}}'
        assert text(function, x=Bank(token="t")) == '{"x":{"kind":"bank","token":"t"}}'
    assert text(many, x=[Bank(token="t")]) == '{"x":[{"kind":"bank","token":"t"}]}'
    assert holding_defaults(Any, Card(token="t")) is None
    assert holding_defaults(BaseModel, Card(token="t")) is None


def test_what_has_no_fields_is_written_whole() -> None:
    def f(x: Boxes, y: datetime.date) -> None: ...

    assert text(f, x=[1], y="2026-01-01") == '{"x":[1],"y":"2026-01-01"}'


def test_what_is_read_from_a_record_is_given_its_defaults_again() -> None:
    def f(order: int, box: Box, note: str | None = "x", odd: Any = object, *, more: Any = None) -> None: ...

    signature = Signature.of(f, "tool")
    said = {"order": 1, "box": {"lines": [{"number": 1}]}}
    line = {"amount": "1.0", "flag": 1, "note": None, "tags": [], "number": 1}
    full = {"order": 1, "box": {"lines": [line], "size": 1, "labels": {}}, "note": "x", "more": None}
    assert signature.in_full(said) == full
    assert signature.in_full({"order": "many", "box": {"gone": 1}})["box"] == {"gone": 1}


def test_a_copy_shares_nothing_that_can_be_changed() -> None:
    line = Line(tags=["a"], number=1)
    value = {"a": [1, {"b": [2]}], "line": line, "pair": ([3],), "box": Box([line])}
    given = own(value)
    before = copy.deepcopy(value)
    given["a"][1]["b"].append(0)
    given["line"].tags.append("b")
    given["pair"][0].append(0)
    given["box"].lines.append(line)
    assert value == before
