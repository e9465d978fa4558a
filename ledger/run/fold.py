"""Small pieces that the fold functions of all concepts share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

from ledger.events import Event
from ledger.record import Record
from ledger.run.contract import N
from ledger.values import Payload, Value

Changes = dict[str, Any]
"""Fields of the contract that an event replaces, with their new values."""

V = TypeVar("V", bound=Value)

_INLINE_CHARACTERS = 1024


def placed(kind: type[V], event: Event, record: Record, **more: Any) -> V:
    """Build the view of an event: its fields, and where and when it stands."""
    # The event was validated when it was made or read; its view needs no second look. Its fields stand in the
    # order of their declaration, so that a contract is written alike whether it was folded or read.
    fields = event.__dict__.copy()
    if more:
        own = {"at": record.at, "position": record.position, **more}
        fields.update((name, own[name]) for name in sorted(own))
    else:
        fields["at"] = record.at
        fields["position"] = record.position
    return kind.unchecked(fields)


def put(items: tuple[N, ...], new: N) -> tuple[N, ...]:
    """Put a member in the place of the one with its id, or at the end.

    Commands never state an id twice while it is open; what was imported may.
    """
    if any(item.id == new.id for item in items):
        return tuple(new if item.id == new.id else item for item in items)
    return (*items, new)


def replaced(items: tuple[V, ...], old: V, new: V | None) -> tuple[V, ...]:
    """Put one member in the place of another, or take it out."""
    place = next(index for index, item in enumerate(items) if item is old)
    return items[:place] + (() if new is None else (new,)) + items[place + 1 :]


def without(items: Iterable[V], *gone: V) -> tuple[V, ...]:
    """Leave out some members."""
    return tuple(item for item in items if not any(item is other for other in gone))


def brief(value: Payload) -> Payload:
    """Name a long value by its digest, so that a contract stays small; the record holds all of it."""
    text = value.json_text
    if text is None or len(text) <= _INLINE_CHARACTERS:
        return value
    content = text.encode()
    return Payload(digest=hashlib.sha256(content).hexdigest(), size=len(content))
