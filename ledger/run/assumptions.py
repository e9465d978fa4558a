"""Assumptions: what the run takes for granted, and what became of it."""

from __future__ import annotations

from ledger.commands import MakeAssumption, RefuteAssumption
from ledger.events import AssumptionMade, AssumptionRefuted
from ledger.record import Record
from ledger.run.contract import Assumption, Contract, Refutation, by_id, states
from ledger.run.decision import Decision, Given, admitted, id_in_use, not_open, stands_at, stated
from ledger.run.fold import Changes, placed, put, replaced


def made(contract: Contract, event: AssumptionMade, record: Record) -> Changes:
    """The assumption is held."""
    view = placed(Assumption, event, record, refuted=None, refuted_again=None)
    return {"assumptions": put(contract.assumptions, view)}


def refuted(contract: Contract, event: AssumptionRefuted, record: Record) -> Changes:
    """The assumption is marked as refuted by the first evidence, and let go once nothing open rests on it."""
    old = by_id(contract.assumptions, event.id)
    if old is None:
        return {}
    refutation = Refutation(at=record.at, by=event.by, evidence=event.evidence, position=record.position)
    new = old.with_fields({"refuted" if old.refuted is None else "refuted_again": refutation})
    return {"assumptions": replaced(contract.assumptions, old, new)}


def make(contract: Contract, command: MakeAssumption, given: Given) -> Decision:
    event = stated(AssumptionMade, command)
    old = by_id(contract.assumptions, command.id)
    if old is None:
        return admitted(event)
    if old.refuted is None and states(old, event):
        return stands_at(old.position)
    return id_in_use("assumption", command.id, old.position)


def refute(contract: Contract, command: RefuteAssumption, given: Given) -> Decision:
    """A refutation told twice is a repeat; one that adds evidence is recorded as well."""
    old = by_id(contract.assumptions, command.id)
    if old is None:
        return not_open("assumption", command.id)
    for known in (old.refuted, old.refuted_again):
        if known is not None and (known.by, known.evidence) == (command.by, command.evidence):
            return stands_at(known.position)
    return admitted(stated(AssumptionRefuted, command))
