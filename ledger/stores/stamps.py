"""The clock and the ids that writers stamp records with, where a caller gives none."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Read the machine's clock in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one clock of the product


def new_id() -> str:
    """Draw a fresh event id that sorts by time: a UUID of version 7.

    Source: RFC 9562, section 5.7.
    """
    stamp = f"{time.time_ns() // 1_000_000:012x}"
    drawn = _random().hex()
    return f"{stamp[:8]}-{stamp[8:]}-7{drawn[:3]}-{_VARIANT[drawn[3]]}{drawn[4:7]}-{drawn[7:19]}"


_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""By a random digit, the one that begins with the bits of the variant and ends with the last two of it."""

_STOCK = 256
_stock: deque[bytes] = deque()


def _random() -> bytes:
    """Return ten random bytes.

    They are drawn for many ids at once: each call of the system gives other threads the interpreter, and
    getting it back takes longer than everything else about an id.
    """
    try:
        return _stock.popleft()
    except IndexError:
        drawn = os.urandom(10 * _STOCK)
        _stock.extend(drawn[start : start + 10] for start in range(10, len(drawn), 10))
        return drawn[:10]


if hasattr(os, "register_at_fork"):
    # What was drawn before a fork belongs to the parent.
    os.register_at_fork(after_in_child=_stock.clear)
