"""Sums of amounts by unit, exact however many are added."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

from ledger.values import FrozenMap

Totals = Annotated[
    dict[
        str,
        Annotated[Decimal, PlainSerializer(lambda value: f"{value:f}", return_type=str, when_used="json")],
    ],
    AfterValidator(lambda members: FrozenMap(sorted(members.items()))),
]
"""Sums of amounts by unit; they may have more digits than one amount."""

# Enough digits for every sum of as many amounts as a run can have positions; what Python's own context would
# round depends on the thread.
_EXACT = Context(prec=120)


def add_amounts(one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None) -> FrozenMap | None:
    """Add amounts unit by unit."""
    return _combined(one, other, 1)


def take_amounts(one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None) -> FrozenMap | None:
    """Subtract amounts unit by unit; nothing falls below zero, and units at zero go."""
    return _combined(one, other, -1)


def take(one: Decimal, other: Decimal) -> Decimal:
    """Subtract an amount from another, exactly."""
    return _EXACT.subtract(one, other)


def _combined(
    one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None, sign: int
) -> FrozenMap | None:
    if not other:
        return None if one is None else FrozenMap(one)
    total = dict(one or {})
    for unit, amount in other.items():
        before = total.get(unit, Decimal(0))
        after = _EXACT.add(before, amount) if sign > 0 else _EXACT.subtract(before, amount)
        total[unit] = max(after, Decimal(0))
        if sign < 0 and not total[unit]:
            del total[unit]
    return FrozenMap(sorted(total.items())) if total else None
