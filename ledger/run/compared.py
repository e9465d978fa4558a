"""What of a contract is compared with another one: which members it has, and which of their fields count.

Where a member stands in its run, and when that was said, is no part of it: two runs may agree on a
constraint that they accepted at different positions. Nor are counts, messages, reviews, the states that a
program saves, what was said to a stopped run, and what only coordinates workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from ledger.run.contract import (
    Approval,
    Assumption,
    Constraint,
    Contract,
    Effect,
    Grant,
    Obligation,
    Observation,
    SourceSeen,
)
from ledger.run.rule_words import is_enforced
from ledger.values import Id, Instant, Party, Position, Step, Text, Value

What = Literal[
    "goal",
    "step",
    "constraint",
    "assumption",
    "obligation",
    "grant",
    "observation",
    "effect",
    "approval",
    "source",
    "runtime",
    "limit",
    "label",
    "owner",
    "thread",
    "authority_needed",
    "cursor",
    "status",
    "incarnation",
]
"""Kinds of members, in the order in which their differences are listed."""

Key = tuple[str, int]
"""Id of a member among its kind, and which of several of that id it is, from 1.

The id is empty for what a run has one of. Only a plan that was imported may name a step twice.
"""


class Origin(Value):
    """Who brought something about, and why: as far as the contract holds it, or the log was read."""

    actor: Id | None = None
    """Who wrote it; known from the log."""
    at: Instant | None = None
    by: Party | None = None
    """Who is said to have done it."""
    event: Id | None = None
    """Name of the event; known from the log."""
    position: Position | None = None
    reason: Text | None = None


class Section(NamedTuple):
    """The members of one kind."""

    what: What
    fields: tuple[str, ...]
    """Fields of the contract that they come from."""
    members: Callable[[Contract], Iterable[tuple[str, Any]]]
    """The members with their ids, in the order of the contract."""
    written: Callable[[Any], JsonValue]
    """What of a member is compared."""
    origin: Callable[[Contract, Any], Origin | None]
    """Where a member comes from, as the contract says."""


def members_of(section: Section, contract: Contract) -> dict[Key, Any]:
    """Return the members of one kind by their keys."""
    found: dict[Key, Any] = {}
    so_far: dict[str, int] = {}
    for id, member in section.members(contract):
        so_far[id] = so_far.get(id, 0) + 1
        found[id, so_far[id]] = member
    return found


# --- members -----------------------------------------------------------------------------------------


def _all(field: str, id: str) -> Callable[[Contract], Iterator[tuple[str, Any]]]:
    """Take the members of a list, with what their ids are kept in."""
    return lambda contract: ((getattr(member, id), member) for member in getattr(contract, field))


def _one(field: str) -> Callable[[Contract], Iterator[tuple[str, Any]]]:
    """Take what a contract has one of, or none."""

    def members(contract: Contract) -> Iterator[tuple[str, Any]]:
        member = getattr(contract, field)
        if member is not None:
            yield "", member

    return members


def _each(field: str) -> Callable[[Contract], Iterator[tuple[str, Any]]]:
    """Take the fields of a value, or the entries of a map, one by one."""

    def members(contract: Contract) -> Iterator[tuple[str, Any]]:
        value: Mapping[str, Any] | Value | None = getattr(contract, field)
        entries = dict(value) if value is not None else {}
        return ((name, entry) for name, entry in entries.items() if entry is not None)

    return members


def _steps(contract: Contract) -> Iterator[tuple[str, Step]]:
    return iter(()) if contract.plan is None else ((step.name, step) for step in contract.plan.steps)


def _itself(contract: Contract) -> Iterator[tuple[str, Contract]]:
    yield "", contract


# --- what is compared --------------------------------------------------------------------------------


def _only(*fields: str) -> Callable[[Value], JsonValue]:
    """Write some fields of a value, without those that are as they are where nobody says otherwise."""
    wanted = set(fields)
    return lambda value: value.model_dump(mode="json", include=wanted, exclude_defaults=True)


def _but(*fields: str) -> Callable[[Value], JsonValue]:
    """Write the other fields of a value, likewise."""
    unwanted = set(fields)
    return lambda value: value.model_dump(mode="json", exclude=unwanted, exclude_defaults=True)


def _plain(value: JsonValue) -> JsonValue:
    return value


def _constraint(item: Constraint) -> JsonValue:
    """Write a constraint, and whether a machine holds acts to it."""
    unwanted = {"accepted_at", "change", "id", "position", "source_position", "supersedes"}
    said = item.model_dump(mode="json", exclude=unwanted, exclude_defaults=True)
    return said | {"enforced": is_enforced(item.rule)}


def _assumption(item: Assumption) -> JsonValue:
    """Write an assumption with what refuted it."""
    evidence = {
        name: refutation.evidence
        for name, refutation in (("refuted", item.refuted), ("refuted_again", item.refuted_again))
        if refutation is not None
    }
    said = item.model_dump(mode="json", include={"rests_on", "text"}, exclude_defaults=True)
    return said | evidence


def _approval(item: Approval) -> JsonValue:
    """Write a request with its answer."""
    request = item.model_dump(
        mode="json",
        include={"expires_at", "key", "question", "runtime_digest", "tool_schema"},
        exclude_none=True,
    )
    if item.answered is not None:
        request |= {"answer": item.answered.answer, "answered_by": item.answered.by}
    return request


def _status(contract: Contract) -> JsonValue:
    """Write how a run stands; one that was suspended may be held and closed as well."""
    more: dict[str, str | None] = {"status": contract.status}
    if contract.suspended is not None:
        more["cause"] = contract.suspended.cause
    if contract.held is not None:
        more["verdict"] = contract.held.verdict.value
    if contract.closed is not None:
        more |= {"outcome": contract.closed.outcome.value, "successor": contract.closed.successor}
    return {name: said for name, said in more.items() if said is not None}


# --- where it comes from -----------------------------------------------------------------------------


def _said(_: Contract, item: Any) -> Origin:
    """Read it off a member that names its place, and maybe who and why."""
    return Origin(
        at=item.at,
        by=getattr(item, "by", None),
        position=item.position,
        reason=getattr(item, "reason", None),
    )


def _from_plan(contract: Contract, _: Step) -> Origin | None:
    return None if contract.plan is None else _said(contract, contract.plan)


def _from_acceptance(_: Contract, item: Constraint) -> Origin:
    return Origin(at=item.accepted_at, by=item.accepted_by, position=item.position)


def _from_assumption(contract: Contract, item: Assumption) -> Origin:
    wrong = item.refuted_again or item.refuted
    if wrong is None:
        return _said(contract, item)
    return Origin(at=wrong.at, by=wrong.by, position=wrong.position, reason=wrong.evidence)


def _from_obligation(contract: Contract, item: Obligation) -> Origin:
    return _said(contract, item)


def _from_grant(_: Contract, item: Grant) -> Origin:
    """A renewal keeps its position only; what is spent has no one origin."""
    if item.renewed_at is not None:
        return Origin(position=item.renewed_at)
    return Origin(at=item.at, by=item.granted_by, position=item.position)


def _from_observation(_: Contract, item: Observation) -> Origin:
    if item.invalidated is not None:
        return Origin(position=item.invalidated_at, reason=item.invalidated)
    return Origin(at=item.at, position=item.position)


def _from_effect(_: Contract, item: Effect) -> Origin:
    """It keeps when its status changed last, and no position of that."""
    return Origin(at=item.at)


def _from_approval(contract: Contract, item: Approval) -> Origin:
    return _said(contract, item if item.answered is None else item.answered)


def _from_source(_: Contract, item: SourceSeen) -> Origin:
    return Origin(position=item.stated_at)


def _from_adoption(contract: Contract, _: str) -> Origin | None:
    if contract.adopted is not None and contract.adopted.position == contract.runtime_position:
        return _said(contract, contract.adopted)
    return None if contract.runtime_position is None else Origin(position=contract.runtime_position)


def _from_status(contract: Contract, _: Contract) -> Origin | None:
    last = contract.closed or contract.held or contract.suspended
    return _from_resume(contract, contract) if last is None else _said(contract, last)


def _from_resume(contract: Contract, _: object) -> Origin | None:
    return None if contract.incarnation == 1 else Origin(at=contract.resumed_at)


def _nowhere(_: Contract, __: object) -> None:
    """What a run was opened with is as old as the run."""


SECTIONS = (
    Section("goal", ("goal",), _one("goal"), _only("rests_on", "text"), _said),
    Section("step", ("plan",), _steps, _but("name"), _from_plan),
    Section(
        "constraint",
        ("constraints",),
        _all("constraints", "id"),
        _constraint,
        _from_acceptance,
    ),
    Section("assumption", ("assumptions",), _all("assumptions", "id"), _assumption, _from_assumption),
    Section(
        "obligation",
        ("obligations",),
        _all("obligations", "id"),
        _only("due", "owed_to", "text"),
        _from_obligation,
    ),
    Section(
        "grant",
        ("grants",),
        _all("grants", "id"),
        _but("at", "carved_from", "id", "position", "renewed_at"),
        _from_grant,
    ),
    Section(
        "observation",
        ("observations",),
        _all("observations", "key"),
        _but("args", "at", "cost", "invalidated_at", "key", "position"),
        _from_observation,
    ),
    # What a successor knows of an effect that it inherited; step, arguments and occurrence are in its key.
    Section(
        "effect",
        ("effects",),
        _all("effects", "key"),
        _only("attempt", "recovery", "status", "tool"),
        _from_effect,
    ),
    Section("approval", ("approvals",), _all("approvals", "id"), _approval, _from_approval),
    Section(
        "source",
        ("sources",),
        _all("sources", "source"),
        _only("position", "revision"),
        _from_source,
    ),
    Section("runtime", ("runtime",), _each("runtime"), _plain, _from_adoption),
    Section("limit", ("limits",), _each("limits"), _plain, _nowhere),
    Section("label", ("labels",), _each("labels"), _plain, _nowhere),
    Section("owner", ("owner",), _one("owner"), _plain, _nowhere),
    Section("thread", ("thread",), _one("thread"), _plain, _nowhere),
    Section("authority_needed", ("authority_needed",), _one("authority_needed"), _plain, _nowhere),
    Section("cursor", ("cursor",), _one("cursor"), _but("at", "position"), _said),
    Section("status", ("closed", "held", "suspended"), _itself, _status, _from_status),
    Section("incarnation", ("incarnation",), _one("incarnation"), _plain, _from_resume),
)
