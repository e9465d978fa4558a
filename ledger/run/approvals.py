"""Approvals: which acts wait for a person, and what was answered.

An approval is bound to the act by its key, and so to its arguments; to the terms, the tool's schema and the
runtime under which it was asked for; and to a time. Whether it still binds is judged when it is used, by
claims and by the gate alike: see `why_void`.

The first answer counts that is in time and is a person's, and not that of who asked. What else is answered is
recorded and changes nothing; a denial that comes too late counts all the same, for it allows nothing.

Why so: docs/decisions/0064-an-approval-is-bound-to-what-was-asked.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from ledger.commands import AnswerApproval
from ledger.events import ApprovalAnswered, ApprovalRequested
from ledger.record import Record
from ledger.run.amounts import take_amounts
from ledger.run.contract import WINDOW, Answer, Approval, Contract, Effect, by_id
from ledger.run.decision import (
    Decision,
    Given,
    Refusal,
    acting,
    admitted,
    is_agent,
    run_is_closed,
    stands_at,
    stated,
)
from ledger.run.fold import Changes, placed, replaced
from ledger.run.keys import runtime_digest
from ledger.values import Actor, Party, Runtime

# --- what events do --------------------------------------------------------------------------------


def requested(contract: Contract, event: ApprovalRequested, record: Record) -> Changes:
    """The request waits for an answer, in the place of any earlier one about the act."""
    old = asked_about(contract, event.key)
    said = None if old is None or not is_denied(old) else old.answered
    view = placed(
        Approval,
        event,
        record,
        answered=None,
        heard_until=said.position if said is not None else 0 if old is None else old.heard_until,
        requested_by=acting(record.actor),
        requesters=_people(old),
        terms=record.terms,
    )
    kept = tuple(item for item in contract.approvals if item.id != event.id and item.key != event.key)
    return {"approvals": (*kept, view)}


def _people(old: Approval | None) -> tuple[Party, ...]:
    """List the people who have asked for an act so far. An agent could not answer anyway."""
    if old is None:
        return ()
    asked = dict.fromkeys((*old.requesters, old.requested_by))
    return tuple(one for one in asked if one is not None and one.startswith("human:"))[-WINDOW:]


def answered(contract: Contract, event: ApprovalAnswered, record: Record) -> Changes:
    """The request has its answer, if this is the first that counts; others are in the record only.

    A denial leaves the act refused: what waited for it goes, and the cursor goes where that is to lead.
    """
    old = by_id(contract.approvals, event.id)
    if old is None or old.answered is not None or why_not(old, event, record.actor, record.at) is not None:
        return {}
    new = old.with_fields({"answered": placed(Answer, event, record)})
    approvals = replaced(contract.approvals, old, new)
    if event.answer == "approved":
        return {"approvals": approvals}
    changes: Changes = {"approvals": _bounded(approvals)}
    waiting = next((one for one in contract.effects if one.key == old.key and never_begun(one)), None)
    if waiting is not None:
        changes["effects"] = tuple(one for one in contract.effects if one is not waiting)
        changes["grants"] = _given_back(contract, waiting)
    cursor = contract.cursor
    if (
        cursor is not None
        and cursor.on_denied is not None
        and any(_is_about(ref, old) for ref in cursor.waits_for)
    ):
        changes["cursor"] = cursor.with_fields(
            {
                "at": record.at,
                "needs": (),
                "next": (),
                "node": cursor.on_denied,
                "on_denied": None,
                "position": record.position,
                "waits_for": (),
            }
        )
    return changes


def _is_about(ref: str, approval: Approval) -> bool:
    """Tell whether a cursor that waits for this waits for the act; it may name a request before this one."""
    kind, _, name = ref.partition(":")
    if kind == "approval":
        return name == approval.id or key_of(name) == approval.key
    return kind == "effect" and name == approval.key


def _bounded(approvals: tuple[Approval, ...]) -> tuple[Approval, ...]:
    """Keep the last denials only: a contract does not grow with what was denied."""
    denied = [item for item in approvals if is_denied(item)]
    if len(denied) <= WINDOW:
        return approvals
    return tuple(item for item in approvals if item is not denied[0])


def _given_back(contract: Contract, effect: Effect) -> object:
    grants = contract.grants
    for grant in grants:
        if grant.id in effect.authority and effect.reserved:
            rest = take_amounts(grant.reserved, effect.reserved)
            grants = replaced(grants, grant, grant.with_fields({"reserved": rest}))
    return grants


def done(approvals: tuple[Approval, ...], key: str) -> tuple[Approval, ...]:
    """Let go of the approvals of an act that is done."""
    if not approvals:
        return approvals
    return tuple(item for item in approvals if item.key != key)


# --- what they mean --------------------------------------------------------------------------------


def never_begun(effect: Effect) -> bool:
    """Tell whether an act was only intended: it waits for an answer, and nothing was sent."""
    return effect.status == "pending" and effect.attempt == 0 and effect.witnessed


def asked_about(contract: Contract, key: str) -> Approval | None:
    """Return the request about an act; of each act there is one."""
    return next((item for item in contract.approvals if item.key == key), None)


def is_denied(approval: Approval) -> bool:
    """Tell whether a person said no."""
    return approval.answered is not None and approval.answered.answer == "denied"


WhyNot = Literal["expired", "not_a_person", "requester"]


def why_not(
    approval: Approval, event: ApprovalAnswered | AnswerApproval, actor: Actor, at: datetime
) -> WhyNot | None:
    """Say why an answer does not count, whatever was answered before; None: it does.

    Four eyes: nobody who asked may answer, nor may somebody else write that they did. A service passes on
    what somebody else decided.
    """
    if not event.by.startswith("human:") or is_agent(actor):
        return "not_a_person"
    if _requester(approval, event, actor) is not None:
        return "requester"
    late = approval.expires_at is not None and approval.expires_at <= at
    return "expired" if late and event.answer == "approved" else None


def _requester(approval: Approval, event: ApprovalAnswered | AnswerApproval, actor: Actor) -> Party | None:
    """Name who is on both sides; None: nobody is."""
    who = acting(actor)
    sides = (event.by,) if who.startswith("service:") else (event.by, who)
    return next((one for one in sides if one in (approval.requested_by, *approval.requesters)), None)


def why_void(
    contract: Contract, approval: Approval, now: datetime, runtime: Runtime | None = None
) -> str | None:
    """Say why an approval binds no more to what it was asked under; None: it does.

    Args:
        contract: as it stands.
        approval: of this contract.
        now: the time it is judged at.
        runtime: what would act; None: what the contract says.
    """
    if approval.expires_at is not None and approval.expires_at <= now:
        return f"it was good until {approval.expires_at.isoformat()}"
    return why_unbound(contract, approval, runtime)


def why_unbound(contract: Contract, approval: Approval, runtime: Runtime | None = None) -> str | None:
    """Say what has changed since an approval was asked for, whatever the time; None: nothing it binds to."""
    if approval.terms is not None and approval.terms.digest != contract.terms.digest:
        return f"the terms changed at position {contract.terms.position}"
    if contract.plan is not None and contract.plan.position > approval.position:
        return f"the plan changed at position {contract.plan.position}"
    if contract.adopted is not None and contract.adopted.position > approval.position:
        return f"another runtime was adopted at position {contract.adopted.position}"
    now = contract.runtime if runtime is None else runtime
    if approval.runtime_digest is None or now is None or approval.runtime_digest == runtime_digest(now):
        return None
    return "what would go on has another runtime"


def is_open(contract: Contract, approval: Approval, now: datetime) -> bool:
    """Tell whether a person may still answer with what counts."""
    return approval.answered is None and why_void(contract, approval, max(now, contract.at)) is None


def approval_id(run: str, key: str, position: int) -> str:
    """Name a request: by its act, so that it is found from its id alone, and by where it stands."""
    place = hashlib.sha256(f"{run}\n{position}".encode()).hexdigest()
    return f"{key}-{place[:8]}"


def key_of(approval: str) -> str | None:
    """Return the key of the act that a request is about, from its id; None: it is the id of none."""
    key, dash, place = approval.partition("-")
    return key if len(key) == 64 and dash and place else None


# --- deciding --------------------------------------------------------------------------------------


def answer(contract: Contract, command: AnswerApproval, given: Given) -> Decision:
    """Record the answer, whatever it is to; word for word the answer that counts, it is a repeat.

    Where only authenticated people are heard, what somebody else says is none, and is not recorded: the fold
    counts what is recorded without asking how this ledger was opened.
    """
    if given.authenticated_answers and not _is_authenticated(command, given.actor):
        reason = f"{given.actor.id} is not authenticated as {command.by}, and nobody else is heard here"
        return Refusal("not_authenticated", reason, None, {"by": command.by, "id": command.id})
    old = by_id(contract.approvals, command.id)
    if old is None and command.answer == "denied":
        # A no is to the act, also where that was asked about anew since; a yes is to what was asked.
        old = _asked_anew(contract, command)
        command = command if old is None else command.with_fields({"id": old.id})
    event = stated(ApprovalAnswered, command)
    first = None if old is None else old.answered
    if first is not None and _words(first) == _words(event):
        return stands_at(first.position)
    return admitted(event)


def _asked_anew(contract: Contract, command: AnswerApproval) -> Approval | None:
    """Return the request about the act of an earlier one, where a no to that is one to it."""
    key = key_of(command.id)
    now = None if key is None else asked_about(contract, key)
    if key is None or now is None or not (now.answered is None or is_denied(now)):
        return None
    places = range(now.position - 1, now.heard_until, -1)
    return now if any(approval_id(contract.run, key, at) == command.id for at in places) else None


def _is_authenticated(command: AnswerApproval, actor: Actor) -> bool:
    """Tell whether who answers is proven to be who is named, or passes on what that person decided."""
    return actor.authenticated_by is not None and acting(actor) == command.by


def _words(said: ApprovalAnswered) -> tuple[object, ...]:
    return said.answer, said.by, said.occurred_at, said.reason


def denied(contract: Contract, approval: Approval) -> Refusal:
    """Refuse what a person said no to."""
    said = approval.answered
    assert said is not None
    why = "" if said.reason is None else f": {said.reason}"
    return Refusal(
        "approval_denied",
        f"{said.by} denied it at position {said.position}{why}"[:1000],
        position=said.position,
        evidence={"approval": approval.id, "by": said.by, "key": approval.key},
    )


def told(contract: Contract, records: Sequence[Record]) -> Refusal | None:
    """Say what keeps an answer that was just recorded from counting; None: it counts, or the same does.

    `contract` is that after the records.
    """
    for record in records:
        event = record.event
        if isinstance(event, ApprovalAnswered):
            return _uncounted(contract, event, record)
    return None


def _ended(contract: Contract, event: ApprovalAnswered, place: int) -> Refusal:
    """Say that the run has ended, and what became of the answer all the same."""
    refusal = run_is_closed(contract)
    did = "nothing is begun by it" if event.answer == "approved" else "nothing was begun"
    kept = f"the answer is recorded at position {place}, and {did}"
    return refusal._replace(message=f"{refusal.message}; {kept}")


def _uncounted(contract: Contract, event: ApprovalAnswered, record: Record) -> Refusal | None:
    old, place = by_id(contract.approvals, event.id), record.position
    kept = f"the answer is recorded at position {place} and changes nothing"
    if old is None:
        what = f"no approval {event.id!r:.160} waits in this run"
        if key_of(event.id) is None:
            what += ", and the whole id is needed: of its act 64 digits, a dash and 8 more"
        return Refusal("approval_not_found", f"{what}; {kept}", place, {"id": event.id})
    evidence = {"kind": "approval", "id": old.id}
    first = old.answered
    if first is not None and first.position != place:
        if first.answer == event.answer:
            return None
        what = f"approval {old.id!r} was {first.answer} by {first.by} at position {first.position}"
        back = "; asking anew takes the yes back" if first.answer == "approved" else ""
        return Refusal(
            "not_open",
            f"{what}; {kept}{back}",
            first.position,
            {**evidence, "answer": first.answer, "by": first.by},
        )
    why = why_not(old, event, record.actor, record.at) if first is None else None
    if why == "requester":
        asker = _requester(old, event, record.actor)
        what = f"{asker} asked for what approval {old.id!r} is about, and somebody else has to answer"
        return Refusal("not_by_requester", f"{what}; {kept}", old.position, evidence)
    if why is not None:
        what = f"approval {old.id!r} was good until {old.expires_at}"
        return Refusal("not_open", f"{what}; {kept}", old.position, {**evidence, "why": why})
    return None if contract.closed is None else _ended(contract, event, place)
