"""Asking for runs: one frozen query value, and pages of answers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from ledger.events import Parent
from ledger.run.approvals import never_begun
from ledger.run.contract import Contract, Review
from ledger.run.standing import Hold
from ledger.values import Count, Id, Instant, Labels, Party, RunId, Value, Verdict


class RunQuery(Value):
    """Which runs to list. Every field that is set must match; an unknown field is refused."""

    after: RunId | None = None
    """List runs whose id comes after this one, in byte order: `Page.next` of the page before."""
    alive_before: Instant | None = None
    """Runs whose program gave its last sign of life at this moment, or earlier."""
    held_before: Instant | None = None
    """Runs that are held, and were since this moment or longer."""
    labels: Labels | None = None
    """Labels the run must all have, with these values."""
    limit: int = Field(default=100, ge=1, le=10_000)
    """Runs a page."""
    owner: Party | None = None
    prefix: str = Field(default="", max_length=200)
    """What the id begins with."""
    status: Literal["closed", "held", "open", "suspended"] | None = None
    thread: Id | None = None
    verdict: Verdict | None = None
    """Runs that are held with this verdict."""

    def matches(self, contract: Contract) -> bool:
        """Tell whether a run is one of those asked for."""
        labels, held = contract.labels or {}, hold_of(contract)
        return (
            (self.status is None or self.status == contract.status)
            and (self.owner is None or self.owner == contract.owner)
            and (self.thread is None or self.thread == contract.thread)
            and (self.alive_before is None or contract.alive.at <= self.alive_before)
            and (self.held_before is None or (held is not None and held.at <= self.held_before))
            and (self.verdict is None or (held is not None and held.verdict == self.verdict))
            and all(labels.get(key) == value for key, value in (self.labels or {}).items())
        )


class RunSummary(Value):
    """A run in a list."""

    alive_at: Instant
    """When its program gave its last sign of life."""
    at: Instant
    """Time of its last event."""
    changed_since_review: Count | None = None
    """Events after the head that the last review was made at, without the review; None: it has none."""
    constraints: Count
    """In force."""
    goal: str
    held_at: Instant | None = None
    """When the gate said the verdict that holds it; None: it is not held."""
    incarnation: Count
    labels: Labels | None = None
    obligations: Count
    """Open."""
    opened_at: Instant
    owner: Party | None = None
    parent: Parent | None = None
    """The run that it succeeds, is a fork or a child of; None: it comes from none."""
    position: Count
    reasons: Count = 0
    """Of the verdict that holds it."""
    review: Review | None = None
    """What was thought of it last, up to which position; None: nobody said."""
    run: RunId
    status: str
    successor: RunId | None = None
    """The run that it was restarted as, which answers for what was open here."""
    suspended_cause: Id | None = None
    """Why it is suspended: `asked`, or the limit that it reached; None: it is not suspended."""
    thread: Id | None = None
    unsettled: Count
    """Effects, with those that wait."""
    verdict: Verdict | None = None
    """What holds it."""
    waiting: Count = 0
    """Effects of which nothing was sent: a person is to approve them, or has, and nobody called again."""

    @classmethod
    def of(cls, contract: Contract) -> RunSummary:
        """Summarise a contract."""
        held = hold_of(contract)
        waits = None if contract.closed is not None else contract.suspended
        return cls(
            alive_at=contract.alive.at,
            at=contract.at,
            changed_since_review=changed_since_review(contract),
            constraints=len(contract.constraints),
            goal=contract.goal.text,
            held_at=None if held is None else held.at,
            incarnation=contract.incarnation,
            labels=contract.labels,
            obligations=len(contract.obligations),
            opened_at=contract.opened_at,
            owner=contract.owner,
            parent=contract.parent,
            position=contract.position,
            reasons=0 if held is None else len(held.reasons),
            review=contract.review,
            run=contract.run,
            status=contract.status,
            successor=None if contract.closed is None else contract.closed.successor,
            suspended_cause=None if waits is None else waits.cause,
            thread=contract.thread,
            unsettled=len(contract.effects),
            verdict=None if held is None else held.verdict,
            waiting=sum(map(never_begun, contract.effects)),
        )


def changed_since_review(contract: Contract) -> int | None:
    """Count the events that whoever reviewed a run last has not seen, without the review itself."""
    review = contract.review
    return None if review is None else max(0, contract.position - review.head - 1)


def hold_of(contract: Contract) -> Hold | None:
    """Return what holds a run; a closed one is held by nothing any more."""
    return None if contract.closed is not None else contract.held


class Page(NamedTuple):
    """Some of the runs asked for, by id in byte order."""

    runs: tuple[RunSummary, ...]
    next: str | None
    """Pass it as `after` for the next page; None: there is none."""
