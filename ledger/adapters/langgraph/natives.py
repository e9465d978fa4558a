"""Types that MessagePack's writer takes for others: what is read would not be what was written."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, Final

import ormsgpack

FOREIGN: Final[frozenset[type]] = frozenset({bytearray, memoryview, ormsgpack.Ext, ormsgpack.Fragment})
"""The first two would be read as bytes; the others say themselves what is written, whatever that is."""
LEAVES: Final = frozenset({bool, bytes, float, int, str, type(None)})
BINARY: Final = (b"\xc4", b"\xc5", b"\xc6")
"""One of these is in front of bytes, and of what would be read as bytes."""
_HOLDERS: Final = frozenset({dict, list, tuple})
_PLAIN: Final = LEAVES | _HOLDERS


def holds_foreign(values: Sequence[Any]) -> bool:
    """Tell whether such values stand among some, or in lists, tuples and dictionaries of theirs.

    It goes down level by level, and asks the collector what each level holds: that takes about as long as
    writing the values, a loop many times as long. Values that hold themselves have no end: write them first.
    """
    level = values
    while level:
        types = set(map(type, level))
        if not types <= _PLAIN:
            if not types.isdisjoint(FOREIGN):
                return True
            # Other types are written by their own data, which is looked at when it is had.
            level = [one for one in level if type(one) in _HOLDERS]
        level = gc.get_referents(*level)
    return False
