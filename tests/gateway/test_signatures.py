"""What a function takes: checked before it is called, and written so that one act has one key."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr

from ledger import CurrentEffect, Outcome, SecretRef
from ledger.errors import InvalidInput
from ledger.gateway.signatures import Bound, Signature

if TYPE_CHECKING:
    from ledger.record import Record as Receipt


class Size(enum.Enum):
    SMALL = "s"


class Line(BaseModel):
    amount: Decimal
    note: str | None = None


class Noted(Line):
    tax: int = 0


class Held(BaseModel):
    token: Any = None


@dataclasses.dataclass
class Point:
    x: int


@dataclasses.dataclass
class Deep(Point):
    z: int = 0


Cents = Annotated[Decimal, PlainSerializer(lambda value: f"{value:.2f}")]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime.datetime


def bind(function: Callable[..., Any], **args: Any) -> Bound:
    return Signature.of(function, "tool").bind(args)


def refused(function: Callable[..., Any], path: str, **args: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        bind(function, **args)
    assert error.value.path == path
    return str(error.value)


# --- which arguments ---------------------------------------------------------------------------------


def test_the_order_of_arguments_says_nothing() -> None:
    def refund(order: int, amount: str) -> None: ...

    assert bind(refund, order=1, amount="2").text == bind(refund, amount="2", order=1).text


def test_what_is_converted_is_one_argument() -> None:
    def refund(order: int, amount: Decimal, at: datetime.datetime, size: Size) -> None: ...

    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    said = bind(refund, order="17", amount="10.00", at="2026-01-01T00:00:00Z", size="s")
    meant = bind(refund, order=17, amount=Decimal("10.00"), at=at, size=Size.SMALL)
    assert said == meant
    assert said.text == '{"amount":"10.00","at":"2026-01-01T00:00:00Z","order":17,"size":"s"}'
    assert said.values == {"order": 17, "amount": Decimal("10.00"), "at": at, "size": Size.SMALL}


def test_a_default_may_be_a_reference_to_a_secret() -> None:
    def pay(token: Any = SecretRef("key"), other: SecretRef = SecretRef("other")) -> None: ...  # noqa: B008

    bound = bind(pay)
    assert bound.text == "{}"
    assert bound.values == {"token": SecretRef("key"), "other": SecretRef("other")}
    assert bind(pay, token=SecretRef("another")).text == '{"token":{"$secret":"another"}}'


def test_a_default_is_checked() -> None:
    def refund(order: int = "many") -> None: ...  # type: ignore[assignment]

    refused(refund, "args.order")


def test_who_takes_the_effect_by_place_is_told_how_to_declare_it() -> None:
    def pay(order: int, effect: Any) -> None: ...

    assert "keyword-only: *, effect" in refused(pay, "args.effect", order=1)
    assert bind(pay, order=1, effect="x").text == '{"effect":"x","order":1}'


def test_unknown_missing_and_wrong_arguments_are_named() -> None:
    def refund(order: int, lines: list[Line]) -> None: ...

    assert "it takes order, lines" in refused(refund, "args.amount", order=1, lines=[], amount=1)
    assert "needs" in refused(refund, "args.lines", order=1)
    refused(refund, "args.order", order="x", lines=[])
    refused(refund, "args.lines[1].amount", order=1, lines=[{"amount": 1}, {"amount": "many"}])


def test_a_function_without_parameters_says_that_it_takes_none() -> None:
    assert "it takes none" in refused(lambda: None, "args.x", x=1)


@pytest.mark.parametrize("kind", ["/", "*args"])
def test_what_can_only_be_given_by_place_is_refused(kind: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def f(x, {kind}): ..." if kind == "/" else f"def f({kind}): ...", names)
    with pytest.raises(InvalidInput) as error:
        Signature.of(names["f"], "tool")
    assert error.value.path == "function"


def test_further_names_are_taken_where_the_function_takes_them() -> None:
    def post(url: str, **fields: Any) -> None: ...

    bound = bind(post, url="/", a=[1], b=SecretRef("key"))
    assert json.loads(bound.text) == {"url": "/", "a": [1], "b": {"$secret": "key"}}
    assert bound.values["b"] == SecretRef("key")


def test_the_effect_is_no_argument() -> None:
    def pay(*, effect: CurrentEffect) -> None: ...
    def post(*, effect: CurrentEffect, **fields: Any) -> None: ...
    def plain(effect: str) -> None: ...
    def open_(**fields: Any) -> None: ...

    assert Signature.of(pay, "pay").wants_effect
    refused(pay, "args.effect", effect="x")
    refused(post, "args.effect", effect="x")
    assert not Signature.of(plain, "plain").wants_effect
    assert bind(plain, effect="x").text == bind(open_, effect="x").text == '{"effect":"x"}'


# --- which functions ---------------------------------------------------------------------------------


def take(order: int, amount: Decimal = Decimal(1)) -> Line:
    return Line(amount=amount)


class Desk:
    def refund(self, order: int, amount: Decimal = Decimal(1)) -> None: ...

    @classmethod
    def of_class(cls, order: int, amount: Decimal = Decimal(1)) -> None: ...

    @staticmethod
    def static(order: int, amount: Decimal = Decimal(1)) -> None: ...

    def __call__(self, order: int, amount: Decimal = Decimal(1)) -> None: ...


@wraps(take)
def wrapped(*args: Any, **named: Any) -> Any:
    return take(*args, **named)


@dataclasses.dataclass
class Taken:
    order: int
    amount: Decimal = Decimal(1)


class Model(BaseModel):
    order: int
    amount: Decimal = Decimal(1)


FUNCTIONS: list[Any] = [
    take,
    wrapped,
    partial(take),
    partial(partial(take)),
    Desk().refund,
    Desk.of_class,
    Desk.static,
    Desk(),
    partial(Desk()),
    Taken,
    Model,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_kind_of_function_is_checked(function: Any) -> None:
    bound = bind(function, order="17")
    assert bound.text == '{"order":17}'
    assert bound.values == {"order": 17, "amount": Decimal(1)}
    refused(function, "args.order", order="many")


def test_what_a_partial_holds_is_part_of_the_key() -> None:
    assert bind(partial(take, amount=Decimal(2)), order=1).text == '{"amount":"2","order":1}'
    assert bind(partial(take, 7)).text == "{}"
    assert bind(partial(partial(take, amount=Decimal(1))), order=1).text == '{"amount":"1","order":1}'
    assert bind(partial(take, amount=Decimal(2)), order=1, amount=2).text == '{"amount":"2","order":1}'


def test_a_function_that_does_not_say_what_it_takes_takes_anything() -> None:
    assert bind(int, x=[1]).text == '{"x":[1]}'


def test_an_annotation_that_cannot_be_resolved_leaves_the_others() -> None:
    def refund(order: int, receipt: Receipt) -> Receipt:
        return receipt

    refused(refund, "args.order", order="many", receipt={})
    assert bind(refund, order="1", receipt={"x": 1}).text == '{"order":1,"receipt":{"x":1}}'
    assert Signature.of(refund, "tool").result is None


def test_a_type_that_cannot_be_checked_is_refused() -> None:
    class Opaque: ...

    def odd(x: Any) -> None: ...

    odd.__annotations__["x"] = Opaque
    with pytest.raises(InvalidInput) as error:
        Signature.of(odd, "tool")
    assert error.value.path == "function"


def test_a_type_that_no_json_is_of_is_refused_by_name() -> None:
    def odd(call: Callable[[], None]) -> None: ...

    with pytest.raises(InvalidInput) as error:
        _ = Signature.of(odd, "tool").digest
    assert error.value.path == "function"


def test_the_digest_tells_what_a_tool_takes() -> None:
    def one(x: int) -> None: ...
    def same(x: int) -> str:
        return str(x)

    def other(x: str) -> None: ...
    def more(x: int, **y: Any) -> None: ...
    def lax(x: int = 1) -> None: ...
    def laxer(x: int = 2) -> None: ...
    def odd(x: Any = object) -> None: ...

    digests = [Signature.of(f, "tool").digest for f in (one, same, other, more, lax, laxer, odd)]
    assert digests[0] == digests[1]
    assert len({*digests, Signature.of(one, "named").digest}) == 7
    assert all(len(digest) == 64 for digest in digests)


# --- what is written ---------------------------------------------------------------------------------


def untyped(x: Any) -> None: ...


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), "args.x"),
        (float("inf"), "args.x"),
        ({"a": {1: 2}}, "args.x.a"),
        ((1, 2), "args.x"),
        (Decimal(1), "args.x"),
        ({1, 2}, "args.x"),
        (object(), "args.x"),
        ("\ud800", "args.x"),
        ({"a": [{"$secret": "key"}]}, "args.x.a[0]"),
        ({"$secret": SecretRef("key")}, "args.x"),
    ],
)
def test_what_is_no_json_is_refused_with_its_path(value: Any, path: str) -> None:
    refused(untyped, path, x=value)


def test_nan_is_refused_whatever_its_type() -> None:
    def f(x: float) -> None: ...
    def g(x: dict[str, float]) -> None: ...

    refused(f, "args.x", x=float("nan"))
    refused(g, "args.x.a", x={"a": float("nan")})


def with_ref(token: SecretRef) -> None: ...
def with_dict(token: dict[str, Any]) -> None: ...
def with_list(token: list[SecretRef]) -> None: ...
def with_model(token: Held) -> None: ...
def with_optional(token: SecretRef | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "token"),
    [
        (untyped, SecretRef("key")),
        (untyped, {"a": [SecretRef("key")]}),
        (with_ref, SecretRef("key")),
        (with_optional, SecretRef("key")),
        (with_dict, {"a": SecretRef("key")}),
        (with_dict, {"a": {"b": [SecretRef("key")]}}),
        (with_list, [SecretRef("key")]),
        (with_model, Held(token=SecretRef("key"))),
        (with_model, {"token": {"deep": SecretRef("key")}}),
    ],
)
def test_a_reference_is_written_by_its_name_wherever_it_stands(function: Any, token: Any) -> None:
    name = "x" if function is untyped else "token"
    bound = bind(function, **{name: token})
    assert '{"$secret":"key"}' in bound.text
    assert "SecretRef('key')" in repr(bound.values)
    assert "SecretRef('key')" in repr(bound.plain)


def test_nothing_else_can_be_taken_for_a_reference() -> None:
    def mapped(x: Mapping[str, str]) -> None: ...
    def typed(x: dict[str, str]) -> None: ...

    forged: Any
    for forged in (MappingProxyType({"$secret": "key"}), {"$secret": "key"}):
        refused(mapped, "args.x", x=forged)
    refused(typed, "args.x", x={"$secret": "key"})
    refused(with_model, "args.token.token", token=Held(token={"$secret": "key"}))
    refused(with_ref, "args.token", token="key")


def test_a_subclass_that_its_type_writes_in_part_is_refused() -> None:
    """Two acts that differ in what is left out would have one key."""

    def add(line: Line) -> None: ...
    def many(lines: dict[str, list[Line]]) -> None: ...
    def move(point: Point) -> None: ...

    refused(add, "args.line.tax", line=Noted(amount=Decimal(1), tax=3))
    refused(many, "args.lines.a[0].tax", lines={"a": [Noted(amount=Decimal(1), tax=0)]})
    refused(move, "args.point.z", point=Deep(1, 2))
    assert bind(add, line=Line(amount=Decimal(1))).text == '{"line":{"amount":"1"}}'


def test_a_secret_that_hides_its_value_is_refused() -> None:
    """Two payments that differ only in a token must not share a key."""

    def pay(token: SecretStr) -> None: ...
    def deep(x: dict[str, SecretStr]) -> None: ...

    assert "SecretRef" in refused(pay, "args.token", token="hunter2")
    refused(deep, "args.x.token", x={"token": "hunter2"})


def test_sets_are_refused() -> None:
    def f(x: set[str]) -> None: ...
    def g(x: dict[str, Any]) -> None: ...

    refused(f, "args.x", x=["a", "b"])
    refused(g, "args.x.a", x={"a": frozenset({"a"})})


def test_how_a_type_is_written_is_its_own_affair() -> None:
    def pay(amount: Cents) -> None: ...

    assert bind(pay, amount="10").text == bind(pay, amount="10.000").text == '{"amount":"10.00"}'


def test_two_processes_write_the_same() -> None:
    program = (
        "from tests.gateway.test_signatures import *\n"
        "def f(b: dict[str, Any], a: Line, size: Size = Size.SMALL, **more: Any): ...\n"
        "s = Signature.of(f, 'tool')\n"
        "print(s.bind({'z': 1, 'a': {'amount': '1'}, 'b': {'y': 1, 'x': 2}}).text, s.digest)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(told) == 1
    assert next(iter(told)).startswith('{"a":{"amount":"1"},"b":{"x":2,"y":1},"z":1} ')


# --- results -----------------------------------------------------------------------------------------


def said(hint: Any) -> Signature:
    def tool() -> Any: ...

    tool.__annotations__["return"] = hint
    return Signature.of(tool, "tool")


RESULTS: list[tuple[Any, Any]] = [
    (Line, Line(amount=Decimal("1.10"), note="x")),
    (list[Line], [Line(amount=Decimal(1))]),
    (dict[str, Line], {"a": Line(amount=Decimal(1))}),
    (Line | None, None),
    (Line | Outcome, Line(amount=Decimal(2))),
    (Decimal, Decimal("10.00")),
    (datetime.datetime, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
    (datetime.timedelta, datetime.timedelta(seconds=90)),
    (Size, Size.SMALL),
    (Point, Point(3)),
    (tuple[int, str], (1, "a")),
    (set[int], {1, 2}),
    (bytes, b"abc"),
    (Strict, Strict(at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))),
    (None, None),
    (int, 3),
    (str, "x"),
    (Any, {"a": [1]}),
    (Outcome, [1]),
    (Outcome | None, [1]),
    ("Receipt", {"a": 1}),
]


@pytest.mark.parametrize(("hint", "value"), RESULTS)
def test_a_result_comes_back_as_the_type_that_was_declared(hint: Any, value: Any) -> None:
    signature = said(hint)
    stored = json.loads(json.dumps(signature.result_written(value)))
    back = signature.result_read(stored)
    assert back == value
    assert type(back) is type(value)


def test_a_result_of_a_subclass_is_recorded_in_full() -> None:
    assert said(Line).result_written(Noted(amount=Decimal(1), tax=3)) == {
        "amount": "1",
        "note": None,
        "tax": 3,
    }


def test_a_result_that_is_not_what_was_declared_comes_back_as_json() -> None:
    assert said(Line).result_read({"redacted": True}) == {"redacted": True}
    constrained = said(Annotated[str, Field(pattern="^sk-")])
    assert constrained.result_read("[redacted:token]") == "[redacted:token]"


def test_an_iterator_is_not_used_up_by_recording_it() -> None:
    rows = iter([1, 2])
    assert said(Iterator[int]).result_written(rows) is rows
    assert list(rows) == [1, 2]
