"""Assumptions: what the run takes for granted, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.commands import MakeAssumption, RefuteAssumption
from ledger.events import AssumptionMade, AssumptionRefuted
from ledger.record import Record
from ledger.run.contract import Assumption, Contract, Refutation, by_id, states
from ledger.run.decision import (
    Decision,
    Given,
    Refusal,
    admitted,
    id_in_use,
    not_open,
    said_by,
    stands_at,
    stated,
)
from ledger.run.fold import Changes, placed, put, replaced

_GROUNDS = frozenset({"rests_on"})


def made(contract: Contract, event: AssumptionMade, record: Record) -> Changes:
    """The assumption is held."""
    view = placed(Assumption, event, record, refuted=None, refuted_again=None)
    changes: Changes = {"assumptions": put(contract.assumptions, view)}
    if contract.refuted:
        changes["refuted"] = tuple(item for item in contract.refuted if item.id != event.id)
    return changes


def refuted(contract: Contract, event: AssumptionRefuted, record: Record) -> Changes:
    """The assumption is marked as refuted by the first evidence, and let go once nothing open rests on it."""
    old = by_id(contract.assumptions, event.id)
    if old is None:
        return {}
    refutation = Refutation(
        at=record.at,
        by=event.by,
        evidence=event.evidence,
        position=record.position,
        said_by=said_by(record.actor, event.by),
    )
    new = old.with_fields({"refuted" if old.refuted is None else "refuted_again": refutation})
    return {"assumptions": replaced(contract.assumptions, old, new)}


def make(contract: Contract, command: MakeAssumption, given: Given) -> Decision:
    """Hold an assumption; the same one stated on other grounds takes its own place, unless it was refuted."""
    event = stated(AssumptionMade, command)
    old = by_id(contract.assumptions, command.id)
    if old is None:
        return on_refuted(contract, command.rests_on) or admitted(event)
    if old.refuted is None and states(old, event):
        return stands_at(old.position)
    if old.refuted is None and states(old, event, but=_GROUNDS):
        return on_refuted(contract, command.rests_on) or admitted(event)
    return id_in_use("assumption", command.id, old.position)


def on_refuted(contract: Contract, refs: Iterable[str]) -> Refusal | None:
    """Refuse to let something new rest on an assumption that is known to be wrong."""
    named = frozenset(refs)
    for wrong in contract.known_wrong if named else ():
        if f"assumption:{wrong.id}" in named:
            assert wrong.refuted is not None
            return Refusal(
                "not_open",
                f"assumption {wrong.id!r} was refuted at position {wrong.refuted.position}: "
                "nothing can rest on it",
                position=wrong.refuted.position,
                evidence={"kind": "assumption", "id": wrong.id},
            )
    return None


def refute(contract: Contract, command: RefuteAssumption, given: Given) -> Decision:
    """A refutation told twice is a repeat; one that adds evidence is recorded, however late it comes."""
    old = by_id(contract.assumptions, command.id)
    for known in () if old is None else (old.refuted, old.refuted_again):
        if known is not None and _same_words(known, command):
            return stands_at(known.position)
    was_made = old is not None
    for record in given.prior:
        event = record.event
        # Assumed once more it is another assumption; what refuted the one before says nothing of it.
        if old is not None and record.position < old.position:
            continue
        was_made = was_made or isinstance(event, AssumptionMade | AssumptionRefuted)
        if isinstance(event, AssumptionRefuted) and _same_words(event, command):
            return stands_at(record.position)
    if not was_made:
        return not_open("assumption", command.id)
    return admitted(stated(AssumptionRefuted, command))


def _same_words(known: Refutation | AssumptionRefuted, command: RefuteAssumption) -> bool:
    return (known.by, known.evidence) == (command.by, command.evidence)


def to_look_up(contract: Contract, command: RefuteAssumption) -> bool:
    """Tell whether only the store knows if an assumption was made, or if this evidence was heard."""
    old = by_id(contract.assumptions, command.id)
    # The contract keeps the first and the last of what refuted an assumption.
    return old is None or old.refuted_again is not None
