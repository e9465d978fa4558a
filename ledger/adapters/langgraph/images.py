"""Images of many values at once: equal only where each of them would be written as the same bytes.

Writing a value is a function of its class and its data. Of messages the data are the fields, where there is
nothing beside them; so those of many are written in one go, without what marks each of them as a message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any

PLAIN = frozenset({bool, bytes, dict, float, int, list, str, tuple, type(None)})
"""Types that are written as they are."""

_fields = attrgetter("__dict__")
_extra = attrgetter("__pydantic_extra__")
_private = attrgetter("__pydantic_private__")


def image(
    values: Sequence[Any],
    plain: Collection[type],
    messages: Collection[type],
    write: Callable[[Any], bytes],
) -> tuple[list[type], bytes] | None:
    """Return the image of values; None where they are of other types, or cannot be written.

    Args:
        values: the values.
        plain: types that are written as they are.
        messages: classes whose values are written by their fields, where they have nothing else.
        write: writes a list as MessagePack: one element after another, each as it is written by itself.
    """
    types = list(map(type, values))
    kinds = set(types)
    if kinds.issubset(plain):
        data = list(values)
    elif kinds.issubset(messages) and not (any(map(_extra, values)) or any(map(_private, values))):
        data = list(map(_fields, values))
    else:
        return None
    try:
        return types, write(data)
    except Exception:  # noqa: BLE001 - writing each by itself tells what is wrong
        return None
