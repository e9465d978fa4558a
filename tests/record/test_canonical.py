"""Our canonical text is that of RFC 8785, byte for byte, and what has none is refused with its place."""

import enum
import json
import math
import struct
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import MAX_DEPTH, MAX_INTEGER, Json, canonical_text, load_canonical, load_text
from ledger.errors import InvalidInput
from ledger.values import FrozenMap, Operator
from tests.strategies import json_values

CS: tuple[Literal["Cs"]] = ("Cs",)
PLACES = ["$", "$[0]", "$.a", "$.a[1].b"]


def put(value: Any, place: str) -> Any:
    """Wrap a value so that it stands at a place."""
    return {"$": value, "$[0]": [value], "$.a": {"a": value}, "$.a[1].b": {"a": [1, {"b": value}]}}[place]


def deep(levels: int, inner: Any = None) -> Any:
    value = inner
    for _ in range(levels):
        value = [value]
    return value


@given(json_values())
def test_any_json_value_is_written_as_the_oracle_writes_it(value: Json) -> None:
    assert canonical_text(value).encode() == rfc8785.dumps(value)


@given(json_values())
def test_what_was_written_reads_back_as_the_same_value(value: Json) -> None:
    text = canonical_text(value)
    for found in (
        load_text(text),
        load_text(text.encode()),
        load_canonical(text),
        load_canonical(text.encode()),
    ):
        assert found == value
        assert canonical_text(found) == text


@given(
    st.dictionaries(
        st.text(st.characters(min_codepoint=0xD000, exclude_categories=CS), max_size=3), st.none()
    )
)
def test_keys_are_sorted_by_utf_16_code_units(members: dict[str, None]) -> None:
    assert canonical_text(members).encode() == rfc8785.dumps(members)


def test_every_code_point_is_written_as_the_oracle_writes_it() -> None:
    for first in range(0, 0x110000, 0x1000):
        points = [p for p in range(first, first + 0x1000) if not 0xD800 <= p <= 0xDFFF]
        text = "".join(map(chr, points))
        # Keys are costly to sort for the oracle: the borders of each stretch and one in seventeen will do.
        keys = {*points[:2], *points[-2:], *points[::17]}
        value: Any = {"text": text, **{chr(p): p for p in keys}}
        written = canonical_text(value)
        assert written.encode() == rfc8785.dumps(value)
        assert load_canonical(written) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_written_as_the_oracle_writes_it(value: float) -> None:
    text = canonical_text(value)
    assert text.encode() == rfc8785.dumps(value)
    assert load_canonical(text) == value


@given(st.integers(0, 2**64 - 1))
def test_any_bit_pattern_of_a_double_is_written_or_refused(bits: int) -> None:
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if math.isfinite(value):
        assert canonical_text(value).encode() == rfc8785.dumps(value)
    else:
        with pytest.raises(InvalidInput):
            canonical_text(value)


# Source: RFC 8785, appendix B.
@pytest.mark.parametrize(
    ("bits", "text"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_the_numbers_of_the_rfc(bits: str, text: str) -> None:
    value: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert canonical_text(value) == text
    assert canonical_text(load_canonical(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "0"),
        (1.0, "1"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (0.1, "0.1"),
        (struct.unpack("<f", struct.pack("<f", 0.1))[0], "0.10000000149011612"),
        (MAX_INTEGER, "9007199254740991"),
        (-MAX_INTEGER, "-9007199254740991"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        ({"": ""}, '{"":""}'),
        ({"b": 1, "a": [{"d": 1, "c": 2}]}, '{"a":[{"c":2,"d":1}],"b":1}'),
        ("\u2028\x7f\u0080/<>&", '"\u2028\x7f\u0080/<>&"'),
        ('"\\\b\f\n\r\t\x00\x1f', '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f"'),
    ],
)
def test_one_value_has_one_text(value: Json, text: str) -> None:
    assert canonical_text(value) == text


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    ONE = 1


class Name(str):
    __slots__ = ()


class Amount(int):
    pass


class Ratio(float):
    pass


Point = namedtuple("Point", "x y")

NOT_JSON: list[tuple[Any, str]] = [
    (float("nan"), "NaN is not JSON"),
    (float("inf"), "Infinity is not JSON"),
    (float("-inf"), "-Infinity is not JSON"),
    (2**53, "2^53"),
    (-(2**53), "2^53"),
    (10**5000, "2^53"),
    ((1, 2), "tuple is not JSON; it would come back as a list"),
    (Point(1, 2), "Point is not JSON"),
    ({1, 2}, "set is not JSON"),
    (frozenset(), "frozenset is not JSON"),
    (b"bytes", "bytes is not JSON"),
    (bytearray(), "bytearray is not JSON"),
    (Decimal("1.0"), "Decimal is not JSON"),
    (datetime(2026, 1, 1, tzinfo=UTC), "datetime is not JSON"),
    (1j, "complex is not JSON"),
    (object(), "object is not JSON"),
    (int, "type is not JSON"),
    (range(3), "range is not JSON"),
    (Colour.RED, "Colour is not JSON"),
    (Operator.EQUAL, "Operator is not JSON"),
    (Level.ONE, "Level is not JSON"),
    (Name("x"), "Name is not JSON"),
    (Amount(1), "Amount is not JSON"),
    (Ratio(1.5), "Ratio is not JSON"),
    (OrderedDict(a=1), "OrderedDict is not JSON"),
    (FrozenMap(a=1), "FrozenMap is not JSON"),
    ({1: "a"}, "key of type int"),
    ({None: "a"}, "key of type NoneType"),
    ({True: "a"}, "key of type bool"),
    ({1.5: "a"}, "key of type float"),
    ({("a",): "a"}, "key of type tuple"),
    ({b"a": "a"}, "key of type bytes"),
    ({Colour.RED: "a"}, "key of type Colour"),
    ({Name("a"): "a"}, "key of type Name"),
    ({"a": 1, 2: 3}, "key of type int"),
    ("a\ud800", "surrogate"),
    ("\ud83d\ude80", "surrogate"),
    ({"\udfff": 1}, "surrogate"),
    (deep(MAX_DEPTH + 1), "64 levels"),
    (deep(100_000), "64 levels"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "case", range(len(NOT_JSON)), ids=[f"{n}-{why}" for n, (_, why) in enumerate(NOT_JSON)]
)
def test_what_is_not_json_is_refused_with_its_place(case: int, place: str) -> None:
    value, why = NOT_JSON[case]
    with pytest.raises(InvalidInput) as caught:
        canonical_text(put(value, place), path="data.args")
    error = caught.value
    assert why in error.reason
    if "levels" not in why:
        assert error.path == place.replace("$", "data.args")
    assert str(error) == f"{error.path}: {error.reason}"


def test_the_refusal_reads_as_a_person_would_say_it() -> None:
    with pytest.raises(InvalidInput, match=r"^data\.args\.amount: NaN is not JSON$"):
        canonical_text({"order": 17, "amount": float("nan")}, path="data.args")


def test_the_first_fault_in_reading_order_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        canonical_text({"b": [1, {2}], "a": float("nan")})
    assert caught.value.path == "$.b[1]"


def test_the_deepest_value_admitted_is_written_and_read() -> None:
    inners: list[Any] = [None, "x", [], {}]
    for inner in inners:
        levels = MAX_DEPTH if inner in (None, "x") else MAX_DEPTH - 1
        text = canonical_text(deep(levels, inner))
        assert load_canonical(text) == load_text(text) == deep(levels, inner)
        for too_deep in (deep(levels + 1, inner), [deep(levels, inner)], {"a": deep(levels, inner)}):
            with pytest.raises(InvalidInput, match="64 levels"):
                canonical_text(too_deep)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="64 levels"):
        canonical_text(loop)


def test_wide_values_are_not_deep() -> None:
    value = {"rows": [{"id": n, "tags": []} for n in range(500)]}
    assert load_canonical(canonical_text(value)) == value


def test_the_encoder_of_python_alone_would_not_do() -> None:
    """Where the two differ, so that nobody puts `json.dumps` in its place."""
    for value in (1.0, -0.0, 1e-7, 1e20, {"\ue000": 1, "\U0001f680": 2}):
        plain = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert canonical_text(value) != plain
