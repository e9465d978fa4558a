"""Asking for runs: one frozen query value, and pages of answers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from ledger.run.contract import Contract
from ledger.values import Count, Id, Instant, Labels, Party, RunId, Value


class RunQuery(Value):
    """Which runs to list. Every field that is set must match; an unknown field is refused."""

    after: RunId | None = None
    """List runs whose id comes after this one, in byte order: `Page.next` of the page before."""
    labels: Labels | None = None
    """Labels the run must all have, with these values."""
    limit: int = Field(default=100, ge=1, le=10_000)
    """Runs a page."""
    owner: Party | None = None
    prefix: str = Field(default="", max_length=200)
    """What the id begins with."""
    status: Literal["closed", "held", "open", "suspended"] | None = None
    thread: Id | None = None

    def matches(self, contract: Contract) -> bool:
        """Tell whether a run is one of those asked for."""
        labels = contract.labels or {}
        return (
            (self.status is None or self.status == contract.status)
            and (self.owner is None or self.owner == contract.owner)
            and (self.thread is None or self.thread == contract.thread)
            and all(labels.get(key) == value for key, value in (self.labels or {}).items())
        )


class RunSummary(Value):
    """A run in a list."""

    at: Instant
    """Time of its last event."""
    constraints: Count
    """In force."""
    goal: str
    incarnation: Count
    labels: Labels | None = None
    obligations: Count
    """Open."""
    opened_at: Instant
    owner: Party | None = None
    position: Count
    run: RunId
    status: str
    thread: Id | None = None
    unsettled: Count
    """Effects."""

    @classmethod
    def of(cls, contract: Contract) -> RunSummary:
        """Summarise a contract."""
        return cls(
            at=contract.at,
            constraints=len(contract.constraints),
            goal=contract.goal.text,
            incarnation=contract.incarnation,
            labels=contract.labels,
            obligations=len(contract.obligations),
            opened_at=contract.opened_at,
            owner=contract.owner,
            position=contract.position,
            run=contract.run,
            status=contract.status,
            thread=contract.thread,
            unsettled=len(contract.effects),
        )


class Page(NamedTuple):
    """Some of the runs asked for, by id in byte order."""

    runs: tuple[RunSummary, ...]
    next: str | None
    """Pass it as `after` for the next page; None: there is none."""
