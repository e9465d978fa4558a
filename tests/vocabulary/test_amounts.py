"""Amounts are exact: their digits and scale are kept, and nothing that is not exact gets in."""

from decimal import ROUND_UP, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError

from ledger.values import MAX_DIGITS, Amount, Amounts
from tests.strategies import amounts

AMOUNT: TypeAdapter[Decimal] = TypeAdapter(Amount)
AMOUNTS: TypeAdapter[dict[str, Decimal]] = TypeAdapter(Amounts)


def written(value: Any) -> str:
    return AMOUNT.dump_json(AMOUNT.validate_python(value)).decode().strip('"')


def refusal(value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        AMOUNT.validate_python(value)
    return caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10.00", "10.00"),
        ("10", "10"),
        ("0", "0"),
        ("0.00", "0.00"),
        ("0.10", "0.10"),
        ("007.5", "7.5"),
        (10, "10"),
        (10**39, "1" + "0" * 39),
        (Decimal("10.00"), "10.00"),
        (Decimal("1E+2"), "100"),
        (Decimal("1.50E+1"), "15.0"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("-0"), "0"),
        (Decimal("-0.00"), "0.00"),
        (Decimal("0E+5"), "0"),
        ("9" * 40, "9" * 40),
        ("12345678901234567890123456789012345.67", "12345678901234567890123456789012345.67"),
        (Decimal("0." + "1" * 39), "0." + "1" * 39),
        ("0." + "1" * 39, "0." + "1" * 39),
    ],
)
def test_an_amount_keeps_its_digits_and_scale(value: object, text: str) -> None:
    assert written(value) == text


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        0.1,
        float("nan"),
        True,
        False,
        None,
        b"1",
        [1],
        (0, (1,), 0),
        "1e5",
        "1E5",
        "+1",
        "-1",
        "-0",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "1,5",
        ".5",
        "5.",
        "",
        "NaN",
        "Infinity",
        "\u0663",
        "\uff11",
        "\u00b2",
        "0x10",
        -1,
        Decimal("-0.01"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
    ],
)
def test_what_is_not_exact_or_not_plain_is_refused(value: object) -> None:
    refusal(value)


TOO_LONG: dict[str, Any] = {
    "whole": "9" * 41,
    "fraction": "0." + "1" * 40,
    "integer": 10**40,
    "integer beyond what Python writes out": 10**5000,
    "exponent": Decimal("1E+40"),
    "huge exponent": Decimal("1E+999999999"),
    "tiny exponent": Decimal("1E-999999999"),
    "zero with a huge exponent": Decimal("0E+999999999"),
    "decimal fraction": Decimal("0." + "1" * 40),
    "very long text": "1" * 10_000_000,
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_an_amount_too_long_is_refused_without_being_written_out(case: str) -> None:
    assert f"{MAX_DIGITS} digits" in refusal(TOO_LONG[case])


@given(amounts())
def test_an_amount_reads_back_as_it_was_written(value: Decimal) -> None:
    text = written(value)
    assert AMOUNT.validate_python(text).as_tuple() == Decimal(text).as_tuple()
    assert Decimal(text) == value


@given(amounts())
def test_the_decimal_context_of_the_caller_changes_nothing(value: Decimal) -> None:
    with localcontext() as context:
        context.prec = 3
        context.rounding = ROUND_UP
        narrow = written(value)
    assert narrow == written(value)


def test_units_are_sorted_and_kept_apart() -> None:
    found = AMOUNTS.validate_python({"tokens": 5, "EUR": "1.0", "eur": "2"})
    assert AMOUNTS.dump_json(found) == b'{"EUR":"1.0","eur":"2","tokens":"5"}'


@pytest.mark.parametrize("unit", ["", " ", "E R", "\u20ac", "EUR\n", "x" * 201, "a\x00"])
def test_a_unit_is_printable_ascii(unit: str) -> None:
    with pytest.raises(ValidationError):
        AMOUNTS.validate_python({unit: "1"})
