"""Exact amounts from 0 on; nothing is rounded."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

MAX_DIGITS = 40
"""Digits of the longest amount."""

_PLAIN_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")


def _amount(value: Any) -> Decimal:
    """Take a Decimal, a whole number or plain decimal text; the number is never rounded."""
    if isinstance(value, str):
        if not _PLAIN_DECIMAL.fullmatch(value):
            raise ValueError(f"{value[:50]!r} is not a plain decimal number from 0 on, e.g. '10.00'")
        if len(value) - ("." in value) > MAX_DIGITS:
            raise ValueError(_TOO_LONG)
        return Decimal(value)
    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        raise ValueError(f"{value!r:.50} is not exact; send a Decimal or text, e.g. '10.00'")
    if isinstance(value, int):
        if value >= 10**MAX_DIGITS:
            raise ValueError(_TOO_LONG)
        value = Decimal(int(value))
    if not value.is_finite() or value < 0:
        raise ValueError("an amount is a finite number from 0 on")
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if (len(digits) + exponent if exponent >= 0 else max(len(digits), 1 - exponent)) > MAX_DIGITS:
        raise ValueError(_TOO_LONG)
    # An exponent or a negative zero would give one amount two spellings.
    return Decimal(f"{value:f}".removeprefix("-")) if sign or exponent > 0 else value


_TOO_LONG = f"an amount has at most {MAX_DIGITS} digits"


Amount = Annotated[
    Decimal,
    PlainValidator(_amount),
    PlainSerializer(lambda value: f"{value:f}", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}),
]
"""An exact amount from 0 on; its scale is kept (`10.00` stays `10.00`). Floats are refused."""
