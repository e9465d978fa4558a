"""Approvals: which acts wait for a person, and what the first answer was."""

from __future__ import annotations

from ledger.events import ApprovalAnswered, ApprovalRequested
from ledger.record import Record
from ledger.run.contract import Answer, Approval, Contract, by_id
from ledger.run.fold import Changes, placed, replaced


def requested(contract: Contract, event: ApprovalRequested, record: Record) -> Changes:
    """The request waits for an answer, with the terms it was made under."""
    view = placed(Approval, event, record, answered=None, terms=record.terms)
    kept = tuple(item for item in contract.approvals if item.id != event.id)
    return {"approvals": (*kept, view)}


def answered(contract: Contract, event: ApprovalAnswered, record: Record) -> Changes:
    """The request has its answer, if this is the first one in time; later ones are in the record only."""
    old = by_id(contract.approvals, event.id)
    if old is None or old.answered is not None:
        return {}
    if old.expires_at is not None and old.expires_at <= record.at:
        return {}
    new = old.with_fields({"answered": placed(Answer, event, record)})
    return {"approvals": replaced(contract.approvals, old, new)}


def done(approvals: tuple[Approval, ...], key: str) -> tuple[Approval, ...]:
    """Let go of the approvals of an act that is done."""
    if not approvals:
        return approvals
    return tuple(item for item in approvals if item.key != key)
