"""The takeover brief: what somebody who takes over a run must know, complete on its own.

It is built from the contract at one position, from what the log and the lineage add to it, and from a moment
by which what only time changes is judged. It reads nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar

from ledger.events import Dropped, Parent
from ledger.run import outside
from ledger.run.amounts import Totals
from ledger.run.approvals import is_denied, why_unbound, why_void
from ledger.run.authority import left
from ledger.run.contract import (
    Approval,
    Assumption,
    Constraint,
    Contract,
    Cursor,
    Goal,
    Grant,
    Obligation,
    Observation,
    Plan,
    Review,
    Tally,
)
from ledger.run.known import EffectHistory
from ledger.run.outside import DoneEffect, ElsewhereEffect, FailedEffect, OpenEffect
from ledger.run.rule_words import is_enforced
from ledger.run.standing import Alive, Closing, Hold, Meanwhile, Revoked, Stopped, Suspension
from ledger.run.waiting import Waiting, waiting
from ledger.run.ways_out import WayOut, ways_out
from ledger.values import (
    Ending,
    FrozenMap,
    Id,
    Instant,
    Labels,
    Limits,
    Party,
    Position,
    Principal,
    RunId,
    Runtime,
    Sha256,
    Text,
    Value,
)


class GoalThen(Goal):
    """The goal as it was put at one time, by whom and why. Of one as opened `by` is for whom: its owner."""

    opened_by: Principal | None = None
    """Who opened the run with it; None: it was revised to that."""
    run: RunId
    """The run that it was put to: this one, or one that it goes on from."""


class Kin(Value):
    """A run of the lineage."""

    ended: Ending | None = None
    """None: it has not ended."""
    opened_at: Instant
    parent: Parent | None = None
    """Where it comes from; None: it is the first of the lineage."""
    run: RunId
    successor: RunId | None = None


class ConstraintNow(Constraint):
    """A constraint that was accepted and not withdrawn."""

    claimed: bool
    """A source is named that does not say so."""
    enforced: bool
    """A machine holds acts to its rule; else it is text for model and reviewer."""
    validity: Literal["expired", "in_force", "not_yet"]
    """As of `now`, within the time that it is valid."""


class ObligationNow(Obligation):
    """What is owed."""

    overdue: bool
    """It was due before `now`."""


class AssumptionNow(Assumption):
    """What is taken for granted, and what falls with it."""

    resting: tuple[str, ...]
    """All that rests on it: `goal`, `step:NAME`, `cursor`, `effect:KEY` and other references."""


class ObservationNow(Observation):
    """An observation that must not be relied on, and what rests on it."""

    resting: tuple[str, ...]
    """All that rests on it, as of an assumption."""
    stale_since: Instant | None = None
    """When it went stale; None: it did not, and somebody said that it must not be relied on."""


class GrantNow(Grant):
    """An authority, and what is left of it."""

    lapsed: bool
    """It has ended."""
    left: Totals | None = None
    """What may still be spent, by unit, with what is in flight counted as spent; None: without bound."""
    usable: bool
    """It has not ended, and something is left of each unit of its budget."""


class ApprovalNow(Approval):
    """A request for approval whose act is not done."""

    expired: bool
    """Its time is over."""
    pending: bool
    """Nobody has answered, and somebody still may with what counts."""
    void: Text | None = None
    """Why it binds no more, answered or not: it is to be asked anew."""


class Brief(Value):
    """What somebody who takes over a run must know. `model_dump(mode="json")` is all of it as JSON."""

    alive: Alive
    """The last sign of life of the run's program."""
    approvals: tuple[ApprovalNow, ...]
    assumptions: tuple[AssumptionNow, ...]
    at: Instant
    """Time of the last event it knows of."""
    authority_needed: bool
    """Each act needs a grant in force."""
    closed: Closing | None = None
    constraints: tuple[ConstraintNow, ...]
    cursor: Cursor | None = None
    done: tuple[DoneEffect, ...]
    """Every act of the lineage that happened, in the order of their first intentions."""
    dropped: tuple[Dropped, ...]
    """What a successor was not given, and why."""
    elsewhere: tuple[ElsewhereEffect, ...]
    """What other runs of the lineage have not settled."""
    failed: tuple[FailedEffect, ...]
    """What is known not to have happened."""
    fork_of: RunId | None = None
    """A fork performs nothing."""
    goal: Goal
    goals: tuple[GoalThen, ...]
    """How the goal came to be what it is, the first one first."""
    grants: tuple[GrantNow, ...]
    hash: Sha256
    """Hash of the event at `position`, which binds the brief to the record."""
    held: Hold | None = None
    incarnation: Position
    labels: Labels | None = None
    limits: Limits | None = None
    lineage: tuple[Kin, ...]
    """All runs of it that are found here, this one too, in the order in which they were opened."""
    meanwhile: tuple[Meanwhile, ...]
    """What was said to the run since its last sign of life."""
    next: tuple[WayOut, ...]
    """What leads on, one after another."""
    now: Instant
    """The moment by which time was judged."""
    obligations: tuple[ObligationNow, ...]
    opened_at: Instant
    owner: Party | None = None
    parent: Parent | None = None
    plan: Plan | None = None
    position: Position
    predecessor: RunId | None = None
    resumed_at: Instant
    review: Review | None = None
    revoked: tuple[Revoked, ...]
    run: RunId
    runtime: Runtime | None = None
    status: Literal["closed", "held", "open", "suspended"]
    stopped: Stopped | None = None
    successor: RunId | None = None
    suspended: Suspension | None = None
    tally: Tally
    tenant: Id
    thread: Id | None = None
    unreliable: tuple[ObservationNow, ...]
    """Observations that are stale or were said to be wrong."""
    unsettled: tuple[OpenEffect, ...]
    waiting: tuple[Waiting, ...]
    """Whose answer or act the run waits for."""

    def to_markdown(self) -> str:
        """Write it as Markdown, for people and models.

        The same brief yields the same bytes. Of the acts that are done it shows the last 50.
        """
        from ledger.run.brief_text import render

        return render(self)


class Told(NamedTuple):
    """What a brief holds beside the contract."""

    goals: tuple[GoalThen, ...] = ()
    lineage: tuple[Kin, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    effects: Mapping[str, EffectHistory] = {}
    """Every effect of the lineage by its key, in the order of their first intentions."""
    leases: Mapping[str, datetime] = {}
    """Ends of leases that were renewed, by key."""
    lease_now: datetime | None = None
    """The moment by the clock of leases; None: the same as everywhere."""
    probes: Set[str] = frozenset()
    """Tools that are known here and can be asked."""


def build(contract: Contract, told: Told, now: datetime) -> Brief:
    """Build the brief of a run: the same for the same arguments."""
    lease_now = told.lease_now or now
    known = told.effects.values()
    unsettled = tuple(
        outside.open_effects(contract, told.effects, leases=told.leases, now=lease_now, probes=told.probes)
    )
    own: dict[str, Any] = {
        "approvals": tuple(_approval(contract, item, now) for item in contract.approvals),
        "assumptions": tuple(
            _view(AssumptionNow, item, resting=contract.resting_on(f"assumption:{item.id}"))
            for item in contract.assumptions
        ),
        "constraints": tuple(_constraint(item, now) for item in contract.constraints),
        "done": tuple(outside.done(known)),
        "dropped": told.dropped,
        "elsewhere": tuple(outside.elsewhere(known, contract, lease_now)),
        "failed": tuple(outside.failed(known)),
        "goals": told.goals or (_view(GoalThen, contract.goal, opened_by=None, run=contract.run),),
        "grants": tuple(_grant(item, now) for item in contract.grants),
        "lineage": told.lineage,
        "next": tuple(ways_out(contract, unsettled, now, _open_children(contract, told.lineage))),
        "now": now,
        "obligations": tuple(
            _view(ObligationNow, item, overdue=item.due is not None and item.due <= now)
            for item in contract.obligations
        ),
        "successor": None if contract.closed is None else contract.closed.successor,
        "unreliable": tuple(_unreliable(contract, now)),
        "unsettled": unsettled,
        "waiting": tuple(waiting(contract, now)),
    }
    fields = {name: own[name] if name in own else getattr(contract, name) for name in Brief.model_fields}
    return Brief.unchecked(fields)


def _open_children(contract: Contract, lineage: tuple[Kin, ...]) -> Iterator[str]:
    """Name the runs below this one that have not ended: children, theirs, and successors of these."""
    below = {contract.run}
    for kin in lineage:  # in the order in which they were opened, so each comes after its parent
        parent = kin.parent
        if parent is None or parent.run not in below or kin.run == contract.run:
            continue
        if parent.relation == "child" or (parent.relation == "successor" and parent.run != contract.run):
            below.add(kin.run)
            if kin.ended is None:
                yield kin.run


V = TypeVar("V", bound=Value)


def _view(kind: type[V], item: Value, **more: Any) -> V:
    """Show a member of the contract with what is said of it here; it was checked when it was read."""
    return kind.unchecked({**item.__dict__, **more})


def _constraint(item: Constraint, now: datetime) -> ConstraintNow:
    state = "in_force"
    if item.valid_from is not None and now < item.valid_from:
        state = "not_yet"
    elif item.valid_until is not None and item.valid_until <= now:
        state = "expired"
    enforced = is_enforced(item.rule)
    return _view(ConstraintNow, item, claimed=item.published is False, enforced=enforced, validity=state)


def _approval(contract: Contract, item: Approval, now: datetime) -> ApprovalNow:
    expired = item.expires_at is not None and item.expires_at <= now
    void = why_unbound(contract, item) if is_denied(item) else why_void(contract, item, now)
    pending = item.answered is None and void is None
    return _view(ApprovalNow, item, expired=expired, pending=pending, void=void)


def _grant(item: Grant, now: datetime) -> GrantNow:
    lapsed = item.expires_at is not None and item.expires_at <= now
    rest = None if item.budget is None else FrozenMap((unit, left(item, unit)) for unit in item.budget)
    usable = not lapsed and all((rest or {}).values())
    return _view(GrantNow, item, lapsed=lapsed, left=rest, usable=usable)


def _unreliable(contract: Contract, now: datetime) -> Iterator[ObservationNow]:
    for item in contract.observations:
        since = _stale_since(item, now)
        if since is None and item.invalidated is None:
            continue
        resting = contract.resting_on(f"observation:{item.key}")
        yield _view(ObservationNow, item, resting=resting, stale_since=since)


def _stale_since(item: Observation, now: datetime) -> datetime | None:
    """Tell since when it is stale; one from the future was never fresh, as when a clock fell back."""
    until = item.stale_at
    if until is None:
        return None
    if item.observed_at is not None and item.observed_at > now:
        return now
    return until if until <= now else None
