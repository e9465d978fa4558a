"""How far the server's clock is ahead of this machine's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import NamedTuple

from ledger.stores.stamps import system_clock

KEPT_SECONDS = 120.0
SET_SECONDS = 0.05
"""This machine's clock was set, or slept, where it went by so much more or less than time has."""
_TRIES = 3


class Offset(NamedTuple):
    """What was measured, and when."""

    ahead: timedelta
    wall: datetime
    """By this machine's clock."""
    at: float
    """By the clock that is never set."""

    def holds(self) -> bool:
        """Tell whether it need not be measured anew."""
        elapsed = monotonic() - self.at
        drift = (system_clock() - self.wall).total_seconds() - elapsed
        return elapsed < KEPT_SECONDS and abs(drift) < SET_SECONDS


def measure(ask: Callable[[], datetime]) -> Offset:
    """Ask the server for its time, and believe the answer that came back soonest.

    It was the server's time when half of the round trip had passed, give or take that half.
    """
    trips: list[tuple[float, Offset]] = []
    for _ in range(_TRIES):
        wall, sent = system_clock(), monotonic()
        theirs = ask().astimezone(UTC)
        trip = monotonic() - sent
        trips.append((trip, Offset(theirs - wall - timedelta(seconds=trip / 2), wall, sent)))
    return min(trips)[1]
