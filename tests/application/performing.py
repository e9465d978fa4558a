"""What tests of effects use: ledgers whose waiting is seen, and an outside that counts its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ledger import Actor, Ledger, Run, Secrets
from ledger.application.edge import Edge
from ledger.events import Event
from tests.application.conftest import SetClock


class Waiting:
    """Opens ledgers on a store that wait by moving the clock on, and tells how long they waited."""

    def __init__(self, store: Any, clock: SetClock) -> None:
        self.clock = clock
        self.waits: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._store = store

    def __call__(self, store: Any = None, secrets: Secrets | None = None, tools: Any = ()) -> Ledger:
        edge = Edge(
            store or self._store,
            "default",
            Actor("service:tests"),
            self.clock,
            pause=lambda attempt: None,
            wait=self._wait,
        )
        return Ledger(edge, secrets, tools)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.tick(seconds)
        self.meanwhile()


class Outside:
    """Does what it is told and counts it; `ends` are what the next calls come to: values, or exceptions."""

    def __init__(self, *ends: Any) -> None:
        self.ends = list(ends)
        self.calls = 0

    def __call__(self, **args: Any) -> Any:
        self.calls += 1
        end = self.ends.pop(0) if self.ends else {"done": self.calls}
        if isinstance(end, BaseException):
            raise end
        return end


def events(ledger: Ledger, run: str = "r") -> list[Event]:
    return [record.event for record in ledger.log(run)]


def names(ledger: Ledger, run: str = "r") -> list[str]:
    """List the names of what was recorded after the run was opened."""
    return [record.name for record in ledger.log(run, after=1)]


def last(ledger: Ledger, run: str = "r") -> Any:
    return events(ledger, run)[-1]


def opened(ledger: Ledger, run: str = "r") -> Run:
    return ledger.open_run(run, goal="Refund order 17")
