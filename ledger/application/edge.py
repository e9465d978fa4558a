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

from ledger.canonical import invalid
from ledger.run.contract import Contract
from ledger.stores.base import FullStore
from ledger.stores.stamps import Clock, new_id, system_clock
from ledger.values import Actor


def local_actor() -> Actor:
    """Name who runs this process, as nobody authenticated them: `service:<login>@<host>`."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):  # no such user in a container
        login = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    name = f"{login}@{socket.gethostname()}"
    return Actor("service:" + re.sub(r"[^\x21-\x7e]", "_", name)[:190])


def worker_name() -> str:
    """Name one ledger that is open, as no other is: the machine, the process and a random part."""
    host = re.sub(r"[^\x21-\x7e]", "_", socket.gethostname())[:100]
    return f"{host}/{os.getpid()}/{random.getrandbits(48):012x}"


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
    wait: Callable[[float], None] = time.sleep
    """Called with how many seconds a caller's thread is to wait: for others, or before another attempt."""
    tries: int = 64
    """How many lost races in a row are answered by deciding again."""
    opened_heads: set[str] = field(default_factory=set)
    """Source streams whose head is known to exist."""
    above: dict[str, Contract] = field(default_factory=dict, compare=False)
    """Runs that others are a part of, as last read: each act in a part looks at them again."""
    authenticated_answers: bool = False
    """Answers to approvals are taken only from who is authenticated as the person that they name."""

    def lease_now(self, now: datetime) -> datetime:
        """Return the time by the clock that leases are judged by: the store's, so that all workers agree.

        A clock that was handed in counts for leases too.
        """
        return now if self.has_own_clock else now + self.store.lease_offset()

    @property
    def has_own_clock(self) -> bool:
        """Tell whether the clock was handed in."""
        return self.clock is not system_clock

    def now(self) -> datetime:
        """Read the clock.

        Raises:
            InvalidInput: it does not return a moment with a zone; `path` is `clock`.
        """
        now = self.clock()
        if isinstance(now, datetime) and now.tzinfo is UTC:
            return now
        if not isinstance(now, datetime) or now.utcoffset() is None:
            raise invalid("clock", f"a clock returns a datetime with its zone, not {now!r:.50}")
        return now
