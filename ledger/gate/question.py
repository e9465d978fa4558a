"""What the gate is asked: who wants to go on with a run, when, as what, and what is known outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from ledger.run.contract import Contract
from ledger.run.sources import SourceState
from ledger.values import Actor, Runtime

_NOTHING: Mapping[str, Any] = MappingProxyType({})

LIVE_SECONDS = 600
"""How long after its program's last sign of life a run that nobody stopped counts as running."""

IDLE_SECONDS = 86_400
"""How long a run that nobody stopped may lie still until somebody has to say that its goal still holds."""


class Question(NamedTuple):
    """What a contract is judged under. Time, clocks and what stands outside the run are handed in."""

    actor: Actor
    """Who wants to go on."""
    now: datetime
    above: Mapping[str, Contract] = _NOTHING
    """The runs that it comes from, and those that succeed what it is a part of, by id. What is not given
    binds nobody."""
    check_every: Mapping[str, int] = _NOTHING
    """Source streams that have to be read anew every so many seconds, by id."""
    idle_seconds: int | None = IDLE_SECONDS
    """None: it may lie still for ever."""
    lease_now: datetime | None = None
    """The time by the clock that leases are judged by; None: `now`."""
    leases: Mapping[str, datetime] = _NOTHING
    """When leases end that the contract does not know of, or that were renewed, by the key of the effect."""
    live_seconds: int = LIVE_SECONDS
    runtime: Runtime | None = None
    """The fingerprint of what would go on; None: nobody said."""
    sources: Mapping[str, SourceState] = _NOTHING
    """The source streams of the constraints as they stand, by id. One that is not given was never opened."""
    take_over: bool = False
    """Go on although the run is live elsewhere."""

    def latest(self, contract: Contract) -> datetime:
        """Return the latest moment that is known to have come: the clock, or the last event.

        A clock that was set back makes nothing valid again that had lapsed when something was recorded.
        """
        return max(self.now, contract.at)

    def latest_since(self, contract: Contract, at: datetime) -> datetime:
        """Return the latest moment that is known to have come since something was recorded `at` a time.

        While the clock is behind the last event, that says nothing of what was recorded with it or after it:
        only the clock does, else nothing that is seen then would be fresh until the clock has caught up.
        """
        return self.latest(contract) if contract.at > at else self.now
