"""The clock and the ids that writers stamp records with, where a caller gives none."""

from __future__ import annotations

import os
import time
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
    stamp = time.time_ns() // 1_000_000
    drawn = int.from_bytes(os.urandom(10), "big")
    number = (stamp & (1 << 48) - 1) << 80 | 7 << 76 | (drawn >> 68) << 64 | 2 << 62 | drawn & (1 << 62) - 1
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
