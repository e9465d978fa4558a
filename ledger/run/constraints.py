"""Constraints: what the run accepted, from whom, and how it was tightened, relaxed or withdrawn."""

from __future__ import annotations

from ledger.commands import AcceptConstraint, AcknowledgeRevision, WithdrawConstraint
from ledger.events import ConstraintAccepted, ConstraintWithdrawn, RevisionAcknowledged
from ledger.record import Record
from ledger.run.contract import Constraint, Contract, SourceSeen, by_id, states
from ledger.run.decision import Admitted, Decision, Given, Refusal, admitted, id_in_use, not_open, stands_at
from ledger.run.fold import Changes, replaced, without
from ledger.run.sources import SourceState

# Where a source stands and what is superseded are found out while deciding; the rest is the statement.
_FOUND_OUT = frozenset({"change", "published", "source", "source_position", "supersedes"})


def accepted(contract: Contract, event: ConstraintAccepted, record: Record) -> Changes:
    view = Constraint.model_construct(**event.__dict__, accepted_at=record.at, position=record.position)
    old = by_id(contract.constraints, event.id)
    changes: Changes = {
        "constraints": (*contract.constraints, view)
        if old is None
        else replaced(contract.constraints, old, view)
    }
    if event.source is not None:
        changes["sources"] = _seen(
            contract, event.source.stream, event.source_position or 0, event.source.revision
        )
    return changes


def withdrawn(contract: Contract, event: ConstraintWithdrawn, record: Record) -> Changes:
    left = tuple(item for item in contract.constraints if item.id != event.id)
    sources = {item.source.stream for item in left if item.source is not None}
    return {
        "constraints": left,
        "sources": tuple(seen for seen in contract.sources if seen.source in sources),
    }


def acknowledged(contract: Contract, event: RevisionAcknowledged, record: Record) -> Changes:
    return {"sources": _seen(contract, event.source.stream, event.source_position, event.source.revision)}


def _seen(contract: Contract, source: str, position: int, revision: str | None) -> tuple[SourceSeen, ...]:
    old = next((seen for seen in contract.sources if seen.source == source), None)
    if old is not None and old.position > position:
        return contract.sources
    new = SourceSeen(position=position, revision=revision, source=source)
    kept = contract.sources if old is None else without(contract.sources, old)
    return (*kept, new)


def accept(contract: Contract, command: AcceptConstraint, given: Given) -> Decision:
    """Accept a new id; supersede one in force only with a named change; refuse what its source withdrew."""
    source = None if command.source is None else given.sources[command.source.stream]
    if source is not None:
        moved = _moved(command, source, given)
        if moved is not None:
            return moved
    old = by_id(contract.constraints, command.id)
    event = _acceptance(command, source, old, given)
    if old is not None:
        if states(old, event, but=_FOUND_OUT) and _same_source(old, event):
            return stands_at(old.position)
        if command.change is None:
            return id_in_use("constraint", command.id, old.position)
    elif command.change is not None:
        return not_open("constraint", command.id)
    guards = {} if source is None else {source.source: source.position}
    return Admitted((event,), guards)


def _acceptance(
    command: AcceptConstraint, source: SourceState | None, old: Constraint | None, given: Given
) -> ConstraintAccepted:
    pointer = command.source
    if (
        pointer is not None
        and source is not None
        and pointer.revision is None
        and source.revision is not None
    ):
        pointer = pointer.model_copy(update={"revision": source.revision})
    return ConstraintAccepted(
        accepted_by=command.accepted_by or given.actor.id,
        asserted_at=command.asserted_at,
        asserted_by=command.asserted_by,
        change=command.change if old is not None else None,
        id=command.id,
        published=None if source is None else _published(command, source),
        rule=command.rule,
        source=pointer,
        source_position=None if source is None else source.position,
        supersedes=None if old is None else old.position,
        text=command.text,
        valid_from=command.valid_from,
        valid_until=command.valid_until,
    )


def _item(command: AcceptConstraint) -> str:
    assert command.source is not None
    return command.source.item or command.id


def _published(command: AcceptConstraint, source: SourceState) -> bool:
    item = source.item(_item(command))
    return item is not None and item.text == command.text and item.rule == command.rule


def _same_source(old: Constraint, event: ConstraintAccepted) -> bool:
    if old.source is None or event.source is None:
        return old.source is event.source
    # A source that moved on without touching this constraint leaves the statement what it was.
    return (old.source.stream, old.source.item) == (event.source.stream, event.source.item)


def _moved(command: AcceptConstraint, source: SourceState, given: Given) -> Refusal | None:
    """Say why the source no longer bears the acceptance, or None."""
    assert command.source is not None
    id = _item(command)
    gone = source.gone(id)
    if gone is not None:
        return Refusal(
            "contract_changed",
            f"{source.source} withdrew {id!r} at its position {gone.position}: {gone.reason}",
            evidence={
                "source": source.source,
                "id": id,
                "source_position": gone.position,
                "change": "withdrawn",
            },
        )
    relied = any(isinstance(event, ConstraintAccepted) and event.published for event in given.earlier)
    named = command.source.revision
    behind = named is not None and source.revision is not None and named != source.revision
    if (relied or behind) and not _published(command, source):
        return Refusal(
            "contract_changed",
            f"{source.source} says something else under {id!r} in revision {source.revision!r}",
            evidence={
                "source": source.source,
                "id": id,
                "source_position": source.position,
                "revision": source.revision,
                "change": "reworded",
            },
        )
    return None


def withdraw(contract: Contract, command: WithdrawConstraint, given: Given) -> Decision:
    if by_id(contract.constraints, command.id) is None:
        return not_open("constraint", command.id)
    return admitted(ConstraintWithdrawn(by=command.by, id=command.id, reason=command.reason))


def acknowledge(contract: Contract, command: AcknowledgeRevision, given: Given) -> Decision:
    """Acknowledge where a source stands now; the append fails if it moves meanwhile."""
    source = given.sources[command.source.stream]
    known = any(c.source is not None and c.source.stream == source.source for c in contract.constraints)
    if not known:
        return not_open("constraint of source", source.source)
    if source.position == 0:
        return not_open("source", source.source)
    if command.source.revision is not None and command.source.revision != source.revision:
        return Refusal(
            "contract_changed",
            f"{source.source} stands at revision {source.revision!r}, not {command.source.revision!r}",
            evidence={
                "source": source.source,
                "revision": source.revision,
                "source_position": source.position,
            },
        )
    seen = next((seen for seen in contract.sources if seen.source == source.source), None)
    if seen is not None and seen.position == source.position:
        # The run stands where the source stands: there is nothing new to acknowledge.
        return stands_at(contract.position)
    pointer = command.source.model_copy(update={"revision": source.revision})
    event = RevisionAcknowledged(
        by=command.by, reason=command.reason, source=pointer, source_position=source.position
    )
    return Admitted((event,), {source.source: source.position})
