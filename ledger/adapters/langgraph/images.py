"""Images of many values at once: equal only where each of them would be written as the same bytes.

Writing a value is a function of its class and its data. Of messages the data are the fields, where there is
nothing beside them; so those of many are written in one go, without what marks each of them as a message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ledger.adapters.langgraph.natives import BINARY, holds_foreign

PLAIN = frozenset({bool, bytes, dict, float, int, list, str, tuple, type(None)})
"""Types that are written as they are."""

_fields = attrgetter("__dict__")
_extra = attrgetter("__pydantic_extra__")
_private = attrgetter("__pydantic_private__")


class Picture(NamedTuple):
    """An image of values."""

    types: list[type]
    content: bytes
    """A list of their data, as MessagePack."""
    binary: bool
    """It may hold bytes, and what it was made from what is written as bytes but is of another type."""


def image(
    values: Sequence[Any],
    plain: Collection[type],
    messages: Collection[type],
    write: Callable[[Any], bytes],
    before: Picture | None = None,
) -> Picture | None:
    """Return the image of values; None where they are of other types, or cannot be written.

    Args:
        values: the values.
        plain: types that are written as they are.
        messages: classes whose values are written by their fields, where they have nothing else.
        write: writes a list as MessagePack: one element after another, each as it is written by itself.
        before: an image, returned where the values have it still.
    """
    types = list(map(type, values))
    try:
        data = _data(values, set(types), plain, messages)
        if data is None:
            return None
        content = write(data)
        is_same = before is not None and before.content == content and before.types == types
        if is_same and not before.binary:  # type: ignore[union-attr]
            return before
        binary = any(mark in content for mark in BINARY)
        if binary and holds_foreign(data):
            return None
    except Exception:  # noqa: BLE001 - writing each by itself tells what is wrong
        return None
    return before if is_same else Picture(types, content, binary)


def is_written_as(
    values: Sequence[Any],
    pieces: Sequence[bytes],
    plain: Collection[type],
    messages: Collection[type],
    write: Callable[[Any], bytes],
    marks: Callable[[type], bytes],
) -> bool:
    """Tell whether each of some values would be written as the piece that it has; False: no, or who knows.

    MessagePack says of each value where it ends, so pieces in a row are equal only where each is.

    Args:
        values: the values, fewer than 65,536.
        pieces: as many.
        plain: as in `image`.
        messages: as in `image`.
        write: as in `image`.
        marks: tells what stands in front of the fields of a message.
    """
    types = list(map(type, values))
    kinds = set(types)
    try:
        data = _data(values, kinds, plain, messages)
        if data is None:
            return False
        if not kinds.issubset(plain):
            heads = list(map(marks, types))
            if not all(map(bytes.startswith, pieces, heads)):
                return False  # as fields in a dictionary they have no mark
            pieces = list(map(bytes.removeprefix, pieces, heads))
        content = write(data)
        if content != b"".join((_begun(len(values)), *pieces)):
            return False
        return not (any(mark in content for mark in BINARY) and holds_foreign(data))
    except Exception:  # noqa: BLE001 - writing each by itself tells what is wrong
        return False


def _data(
    values: Sequence[Any], kinds: set[type], plain: Collection[type], messages: Collection[type]
) -> list[Any] | None:
    """Return what is written of values; None where they are of other types."""
    if kinds.issubset(plain):
        return list(values)
    if kinds.issubset(messages) and not (any(map(_extra, values)) or any(map(_private, values))):
        return list(map(_fields, values))
    return None


def _begun(count: int) -> bytes:
    """Return how MessagePack begins a list."""
    return bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
