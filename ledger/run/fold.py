"""Small pieces that the fold functions of all concepts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast

from ledger.events import Event
from ledger.record import Record
from ledger.values import FrozenMap, Value

Changes = dict[str, Any]
"""Fields of the contract that an event replaces, with their new values."""

V = TypeVar("V", bound=Value)


def placed(kind: type[V], event: Event, record: Record, **more: Any) -> V:
    """Build the view of an event: its fields, and where and when it stands."""
    # The event was validated when it was made or read; its view needs no second look.
    fields: dict[str, Any] = {**event.__dict__, "at": record.at, "position": record.position, **more}
    return cast(V, kind.model_construct(None, **fields))


def replaced(items: tuple[V, ...], old: V, new: V | None) -> tuple[V, ...]:
    """Put one member in the place of another, or take it out."""
    place = next(index for index, item in enumerate(items) if item is old)
    return items[:place] + (() if new is None else (new,)) + items[place + 1 :]


def without(items: Iterable[V], *gone: V) -> tuple[V, ...]:
    """Leave out some members."""
    return tuple(item for item in items if not any(item is other for other in gone))


def add_amounts(one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None) -> FrozenMap | None:
    """Add amounts unit by unit."""
    return _combined(one, other, 1)


def take_amounts(one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None) -> FrozenMap | None:
    """Subtract amounts unit by unit; nothing falls below zero, and units at zero go."""
    return _combined(one, other, -1)


def _combined(
    one: Mapping[str, Decimal] | None, other: Mapping[str, Decimal] | None, sign: int
) -> FrozenMap | None:
    if not other:
        return None if one is None else FrozenMap(one)
    total = dict(one or {})
    for unit, amount in other.items():
        total[unit] = max(total.get(unit, Decimal(0)) + sign * amount, Decimal(0))
        if sign < 0 and not total[unit]:
            del total[unit]
    return FrozenMap(sorted(total.items())) if total else None
