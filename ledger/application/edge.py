"""What a ledger touches of the world: its store, its clock, its source of ids, its patience.

The pure core takes time and ids as arguments; they come from here and from nowhere else.
"""

from __future__ import annotations

import getpass
import os
import random
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ledger.stores.base import FullStore
from ledger.values import Actor

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


def local_actor() -> Actor:
    """Name who runs this process, as nobody authenticated them: `service:<login>@<host>`."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):  # no such user in a container
        login = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    name = f"{login}@{socket.gethostname()}"
    return Actor("service:" + re.sub(r"[^\x21-\x7e]", "_", name)[:190])


def back_off(attempt: int) -> None:
    """Wait a little, longer with each lost race, and never as long as the rival does."""
    if attempt:
        time.sleep(random.uniform(0, min(0.05, 0.0005 * 2**attempt)))


@dataclass(frozen=True, slots=True)
class Edge:
    """The world as one ledger of one tenant sees it."""

    store: FullStore
    tenant: str
    actor: Actor
    """Who writes where a call names nobody."""
    clock: Clock = system_clock
    ids: Callable[[], str] = new_id
    pause: Callable[[int], None] = back_off
    """Called with the number of the lost race, from 0, before deciding again."""
    tries: int = 64
    """How many lost races in a row are answered by deciding again."""
    opened_heads: set[str] = field(default_factory=set)
    """Source streams whose head is known to exist."""
