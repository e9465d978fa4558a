"""Consent: whether a person has to approve an act that would begin, and whether one has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.commands import ClaimEffect
from ledger.events import ApprovalRequested, Event
from ledger.record import Record
from ledger.run.approvals import (
    approval_id,
    asked_about,
    denied,
    is_denied,
    never_begun,
    why_unbound,
    why_void,
)
from ledger.run.asked import Asked, intended, positions, refused
from ledger.run.contract import Approval, Constraint, Contract
from ledger.run.decision import Refusal
from ledger.run.effects import find
from ledger.run.keys import runtime_digest
from ledger.run.known import after, is_only_intended
from ledger.run.permits import args_of, asking_for_approval, demanding_approval, latest
from ledger.run.questions import asked_before, made


class Waiting(NamedTuple):
    """A person has to approve the act, and is to be asked."""

    events: tuple[Event, ...]
    """What asks."""
    intends: bool
    """The intention of the act is among them."""
    refusal: Refusal
    """What is told to who would act."""


def consent_to(asked: Asked) -> str | Waiting | Refusal | None:
    """Say by which approval an act may begin; None: it needs none.

    A refusal where a person denied it, or was asked and has not answered; `Waiting` where one is to be asked
    now: nobody was, or what was asked does not bind any more.
    """
    contract, command = asked.contract, asked.command
    approval = asked_about(contract, asked.names.key)
    if approval is not None and is_denied(approval) and _unbound(asked, approval) is None:
        said = denied(contract, approval)
        anew = f"{said.message[:900]}; only a person asks anew, with request_approval"
        return refused(asked, said.rule, anew, said.position, **said.evidence)
    demanding = asking_for_approval(asked)
    if approval is not None and is_denied(approval):
        # Who said no is asked again, also where nothing else wants that now: an agent can revise its goal.
        return _to_ask(asked, demanding, f"Before this changed, {denied(contract, approval).message}. ")
    if not demanding and not command.needs_approval:
        return None
    if approval is None:
        return _to_ask(asked, demanding)
    void = (
        _unbound(asked, approval) or why_void(contract, approval, latest(asked)) or _overdue(asked, approval)
    )
    if void is not None:
        return _to_ask(asked, demanding, asked_before(void))
    if approval.answered is not None:
        return approval.id
    why = f"{command.tool!r} waits for a person since position {approval.position}"
    return _required(why, asked.names.key, command, demanding, approval.id, approval.position)


def _unbound(asked: Asked, approval: Approval) -> str | None:
    """Say what it was asked under and is another now, the tool included; time is left out."""
    if approval.tool_schema != asked.command.tool_schema:
        return (
            f"{asked.command.tool!r} takes other arguments, has other defaults or acts on something else "
            "than when it was asked"
        )
    return why_unbound(asked.contract, approval)


def _overdue(asked: Asked, approval: Approval) -> str | None:
    """Say that an agent asked for longer than the tool lets an approval be good; a person may."""
    seconds = asked.command.approval_seconds
    if seconds is None or approval.requested_by is None or not approval.requested_by.startswith("agent:"):
        return None
    if latest(asked) < after(approval.at, seconds):
        return None
    return f"{asked.command.tool!r} lets it be good for {seconds} seconds"


def _is_begun(asked: Asked) -> bool:
    """Tell whether an act is under way or in doubt, here or in another run of the lineage."""
    held, known = find(asked.contract, asked.names.key), asked.looked.effect
    if held is not None and not never_begun(held):
        return True
    return known is not None and not (known.is_settled or is_only_intended(known))


def _to_ask(asked: Asked, demanding: tuple[Constraint, ...], before: str = "") -> Waiting:
    contract, command, key = asked.contract, asked.command, asked.names.key
    # What was begun stays as it is known: an act of which nobody knows must not look as if it waited.
    intends = not _is_begun(asked)
    runtime, seconds = contract.runtime, command.approval_seconds
    id = approval_id(contract.run, key, contract.position + 1 + intends)
    question = made(command.tool, demanding, before)
    request = ApprovalRequested(
        expires_at=None if seconds is None else after(latest(asked), seconds),
        id=id,
        key=key,
        question=question,
        runtime_digest=None if runtime is None else runtime_digest(runtime),
        tool_schema=command.tool_schema,
    )
    events: tuple[Event, ...] = (request,)
    if intends:
        # Nothing is set aside for an act that may never begin, and no grant is drawn on.
        waiting = intended(
            asked, approval=None, authority=(), reserved=None, source_positions=positions(asked) or None
        )
        events = (waiting, request)
    return Waiting(events, intends, _required(question, key, command, demanding))


def _required(
    why: str,
    key: str,
    command: ClaimEffect,
    demanding: tuple[Constraint, ...],
    id: str | None = None,
    position: int | None = None,
) -> Refusal:
    """Refuse what waits for an answer, told the same each time; without an id nobody was asked yet."""
    evidence: dict[str, Any] = {
        "constraints": tuple(one.id for one in demanding),
        "key": key,
        "tool": command.tool,
    }
    if id is not None:
        evidence["id"] = id
    return Refusal("approval_required", f"a person has to approve it: {why}", position, evidence)


def told(contract: Contract, command: ClaimEffect, records: Sequence[Record]) -> Refusal | None:
    """Say what a claim came to that was recorded as waiting for a person; None: it did not come to that.

    `contract` is that after the records.
    """
    for record in records:
        event = record.event
        if isinstance(event, ApprovalRequested):
            demanding = demanding_approval(contract, command.tool, args_of(command), record.at)
            why = event.question or "it was asked for"
            return _required(why, event.key, command, demanding, event.id, record.position)
    return None
