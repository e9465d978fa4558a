"""The contract in force: what a run means at one position, as the fold of its events up to there.

It is bounded by what is open, not by the length of the run. Lists are in the order in which their members
became open. Every member names the position it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeVar

from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    AssumptionMade,
    AuthorityGranted,
    ConstraintAccepted,
    CursorMoved,
    Event,
    MessageRecorded,
    MessagesSummarised,
    ObligationOpened,
    ObservationRecorded,
    Parent,
    ReviewSigned,
    RuntimeAdopted,
)
from ledger.record import FORMAT, TermsMark
from ledger.run.amounts import Totals
from ledger.run.resting import rested_on, resting_on
from ledger.run.standing import (
    Alive,
    Allowance,
    Closing,
    Hold,
    Meanwhile,
    Revoked,
    Saved,
    Stopped,
    Suspension,
)
from ledger.values import (
    Amounts,
    AtLeastOne,
    Count,
    Id,
    Instant,
    Labels,
    Limits,
    Party,
    Position,
    Principal,
    Recovery,
    Ref,
    RunId,
    Runtime,
    Seconds,
    Sha256,
    SourceId,
    Step,
    Text,
    Value,
)

WINDOW = 64
"""How many of the latest messages, and of the observations nothing rests on, a contract holds."""


class Goal(Value):
    """What the run is to achieve, and how it came to that."""

    at: Instant
    by: Party | None = None
    position: Position
    reason: Text | None = None
    rests_on: tuple[Ref, ...] = ()
    revision: Position
    """1 as opened, one more with each revision."""
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""
    text: Text


class Plan(Value):
    """The steps the run is bound to."""

    at: Instant
    by: Party | None = None
    position: Position
    reason: Text | None = None
    revision: Position
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""
    steps: tuple[Step, ...]


class Constraint(ConstraintAccepted):
    """A constraint in force: its acceptance, and where and when it was accepted."""

    accepted_at: Instant
    position: Position
    said_by: Principal | None = None
    """The agent that wrote it in the name of `accepted_by`; None: nobody's word stands between."""


class Refutation(Value):
    """That an assumption is wrong, and how that is known."""

    at: Instant
    by: Party | None = None
    evidence: Text
    position: Position
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""


class Assumption(AssumptionMade):
    """An assumption; one that was refuted stays while something open rests on it."""

    at: Instant
    position: Position
    refuted: Refutation | None = None
    refuted_again: Refutation | None = None
    """The last of the refutations that came later, with other evidence."""


class Obligation(ObligationOpened):
    """What the run owes."""

    at: Instant
    position: Position


class Grant(AuthorityGranted):
    """An authority that was granted and not revoked. Whether it lapsed depends on the time."""

    at: Instant
    budget: Totals | None = None
    """As granted, with what renewals added."""
    position: Position
    renewed_at: Position | None = None
    """Position of the last renewal."""
    reserved: Totals | None = None
    """Set aside for effects whose outcome is open, by unit."""
    spent: Totals | None = None
    """Cost of effects that are done, by unit."""


class Observation(ObservationRecorded):
    """The latest observation under its key."""

    at: Instant
    invalidated: Text | None = None
    """Why it must not be relied on any more."""
    invalidated_at: Position | None = None
    """Where that was said."""
    position: Position

    @property
    def stale_at(self) -> datetime | None:
        """When it becomes stale; None: never. What was seen nobody knows when was stale from the start."""
        if self.fresh_for is None:
            return None
        if self.observed_at is None:
            return datetime.min.replace(tzinfo=UTC)
        try:
            return self.observed_at + timedelta(seconds=self.fresh_for)
        except OverflowError:  # longer than any calendar
            return datetime.max.replace(tzinfo=UTC)


class Answer(ApprovalAnswered):
    """An answer to an approval request."""

    at: Instant
    position: Position


class Approval(ApprovalRequested):
    """A request for approval whose act is not done yet, with its first answer."""

    answered: Answer | None = None
    at: Instant
    heard_until: Count = 0
    """Where a person denied the act last before this was asked; 0: nobody had. A no to what was asked before
    that has been heard, and is none to this."""
    position: Position
    requested_by: Party | None = None
    """Who decides for whom it was asked: they cannot answer."""
    requesters: tuple[Party, ...] = ()
    """People who asked for the act before, since it was intended: they cannot answer either."""
    terms: TermsMark | None = None


class Effect(Value):
    """An effect whose outcome is not settled."""

    act: Sha256
    at: Instant
    """When its status last changed."""
    attempt: Count
    authority: tuple[Id, ...] = ()
    dedupes_for: Seconds | None = None
    inherited_from: RunId | None = None
    key: Sha256
    lease_until: Instant | None = None
    max_attempts: AtLeastOne = 1
    occurrence: Id | None = None
    position: Position
    """Where it was intended; of an inherited one in the run it comes from."""
    recovery: Recovery
    reserved: Amounts | None = None
    resource: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    settle_seconds: Seconds | None = None
    since_attempt: Count = 0
    """The first attempt that nothing settled before the next began; 0: none was started."""
    status: Literal["pending", "executing", "unknown", "disputed"]
    step: Id | None = None
    tool: Id
    witnessed: bool = True
    worker: Id | None = None

    def status_at(self, now: datetime) -> str:
        """Tell the status as time makes it: an executing effect whose lease lapsed is unknown."""
        lapsed = self.status == "executing" and self.lease_until is not None and self.lease_until <= now
        return "unknown" if lapsed else self.status


class Cursor(CursorMoved):
    """Where the program of the run stands."""

    at: Instant
    position: Position


class Message(MessageRecorded):
    """A message of the window."""

    at: Instant
    position: Position


class Summary(MessagesSummarised):
    """What stands for all messages before the window."""

    at: Instant
    position: Position


class Adoption(RuntimeAdopted):
    """Who accepted last that another runtime goes on, and why."""

    at: Instant
    position: Position


class SourceSeen(Value):
    """How far the run has followed a source of its constraints.

    What the source said later, nobody has looked at for all of them: one that was accepted long ago may
    have been reworded or withdrawn since, although another was accepted yesterday.
    """

    position: Count
    """Position of the source stream."""
    revision: Id | None = None
    source: SourceId
    stated_at: Position
    """Position of the run where that was said."""


class Review(ReviewSigned):
    """The last review; what came after `head` was not seen by it."""

    at: Instant
    position: Position


class Tally(Value):
    """Counts since the run was opened."""

    effects: Count = 0
    """Effects intended."""
    effects_done: Count = 0
    """Effects of the lineage that are done, as far as this run knows: its own, and those before it."""
    messages: Count = 0
    refusals_in_a_row: Count = 0
    """Refused effects since the last one that started."""
    steps: Count = 0
    """Cursor moves."""


class Contract(Value):
    """What a run means at `position`."""

    adopted: Adoption | None = None
    alive: Alive
    """The last sign of life of the run's program."""
    allowance: Allowance | None = None
    """From where its limits count; None: from the beginning."""
    approvals: tuple[Approval, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    at: Instant
    """Time of the last event."""
    authority_needed: bool = False
    """Each act needs a grant in force: the run was opened so, or one was once given, and may have ended."""
    closed: Closing | None = None
    constraints: tuple[Constraint, ...] = ()
    cursor: Cursor | None = None
    effects: tuple[Effect, ...] = ()
    """Unsettled ones only; settled effects are found by their key."""
    fork_of: RunId | None = None
    format: int = FORMAT
    freed_from: tuple[RunId, ...] = ()
    """Runs that it is a part of and that had ended when a person gave its predecessor this successor: their
    ends do not bind it, nor its own parts."""
    goal: Goal
    grants: tuple[Grant, ...] = ()
    hash: Sha256
    """Hash of the event at `position`."""
    held: Hold | None = None
    incarnation: Position = 1
    labels: Labels | None = None
    limits: Limits | None = None
    meanwhile: tuple[Meanwhile, ...] = ()
    """What was said to the run since `alive`, the last 64."""
    messages: tuple[Message, ...] = ()
    obligations: tuple[Obligation, ...] = ()
    observations: tuple[Observation, ...] = ()
    opened_at: Instant
    owner: Party | None = None
    parent: Parent | None = None
    plan: Plan | None = None
    position: Position
    predecessor: RunId | None = None
    refuted: tuple[Assumption, ...] = ()
    """Assumptions that were refuted and let go, since nothing open rested on them any more; the last 64."""
    resumed_at: Instant
    """When the present incarnation began."""
    resumed_position: Position = 1
    """Where it began."""
    review: Review | None = None
    revoked: tuple[Revoked, ...] = ()
    """Grants that were revoked since the run last went on, the last 64."""
    run: RunId
    runtime: Runtime | None = None
    runtime_position: Position | None = None
    """Where that was said."""
    saved: Saved | None = None
    """The states that its program saved."""
    sources: tuple[SourceSeen, ...] = ()
    stopped: Stopped | None = None
    """Where it was stopped first since it last went on; None: it is not stopped."""
    summary: Summary | None = None
    suspended: Suspension | None = None
    tally: Tally = Tally()
    tenant: Id
    terms: TermsMark
    thread: Id | None = None

    @property
    def root(self) -> str:
        """First run of the lineage."""
        return self.run if self.parent is None else self.parent.root

    @property
    def status(self) -> str:
        """One of open, suspended, held, closed."""
        if self.closed is not None:
            return "closed"
        if self.held is not None:
            return "held"
        return "open" if self.suspended is None else "suspended"

    @property
    def stale_from(self) -> datetime | None:
        """When the first observation that something open rests on becomes stale; None: never."""
        rested = rested_on(self)
        moments = (o.stale_at for o in self.observations if f"observation:{o.key}" in rested)
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def known_wrong(self) -> tuple[Assumption, ...]:
        """The refuted assumptions that are known of: those that something rests on, and those let go."""
        return (*(item for item in self.assumptions if item.refuted is not None), *self.refuted)

    def resting_on(self, ref: str) -> tuple[str, ...]:
        """Name all that rests on an assumption or observation, through whatever stands between.

        `goal`, `step:NAME`, `cursor`, and references as `assumption:ID`, `observation:KEY`, `effect:KEY`, in
        this order.
        """
        return resting_on(self, ref)

    def in_force(self, now: datetime) -> tuple[Constraint, ...]:
        """List the constraints in force at a moment: accepted, not withdrawn, within their valid time."""
        return tuple(
            c
            for c in self.constraints
            if (c.valid_from is None or c.valid_from <= now)
            and (c.valid_until is None or now < c.valid_until)
        )

    def to_prompt(self, now: datetime | None = None) -> str:
        """Render the contract for a model: the same bytes for the same contract and `now`.

        `now` leaves out constraints that are not valid at that moment and marks what is overdue or lapsed;
        without it nothing is judged by time.
        """
        from ledger.run.prompt import render

        return render(self, now)


class Named(Protocol):
    """Anything with an id of its own."""

    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=Named)


def by_id(items: Iterable[N], id: str) -> N | None:
    """Find the member with this id."""
    return next((item for item in items if item.id == id), None)


def states(view: Event, event: Event, *, but: frozenset[str] = frozenset()) -> bool:
    """Tell whether a view holds the same statement as an event, leaving out some fields."""
    stands, said = view.__dict__, event.__dict__
    if but:
        return all(stands[field] == said[field] for field in said if field not in but)
    return said.items() <= stands.items()
