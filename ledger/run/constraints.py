"""Constraints: what the run accepted, from whom, and how it was tightened, relaxed or withdrawn."""

from __future__ import annotations

from typing import Literal

from ledger.commands import AcceptConstraint, AcknowledgeRevision, WithdrawConstraint
from ledger.events import ConstraintAccepted, ConstraintWithdrawn, RevisionAcknowledged
from ledger.record import Record
from ledger.run.contract import Constraint, Contract, SourceSeen, by_id, states
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    admitted,
    id_in_use,
    is_agent,
    not_open,
    said_by,
    stands_at,
    stated,
)
from ledger.run.fold import Changes, put
from ledger.run.following import followed, followed_with
from ledger.run.sources import Gone, SourceState
from ledger.run.strictness import forbids_as_much, is_as_strict, same_source

# Where a source stands and what is superseded are found out while deciding; the rest is the statement.
_FOUND_OUT = frozenset({"change", "published", "source", "source_position", "supersedes"})


def accepted(contract: Contract, event: ConstraintAccepted, record: Record) -> Changes:
    """The constraint is in force, in the place of the one it supersedes, and its source is followed."""
    more = {
        "accepted_at": record.at,
        "position": record.position,
        "said_by": said_by(record.actor, event.accepted_by),
    }
    view = Constraint.unchecked({**event.__dict__, **more})
    constraints = put(contract.constraints, view)
    added = len(constraints) > len(contract.constraints)
    sources = followed_with(constraints, contract.sources, view, added=added)
    return {"constraints": constraints, "sources": sources}


def withdrawn(contract: Contract, event: ConstraintWithdrawn, record: Record) -> Changes:
    """The constraint is no longer in force; a source that no other one comes from is let go."""
    left = tuple(item for item in contract.constraints if item.id != event.id)
    return {"constraints": left, "sources": followed(left, contract.sources)}


def acknowledged(contract: Contract, event: RevisionAcknowledged, record: Record) -> Changes:
    """The source is followed up to there, for every constraint of it that is in force now."""
    new = SourceSeen(
        position=event.source_position,
        revision=event.source.revision,
        source=event.source.stream,
        stated_at=record.position,
    )
    if any(item.source == new.source and item.position >= new.position for item in contract.sources):
        return {}  # it was followed as far, or farther, before
    seen = tuple(item for item in contract.sources if item.source != new.source)
    return {"sources": followed(contract.constraints, (*seen, new))}


def accept(contract: Contract, command: AcceptConstraint, given: Given) -> Decision:
    """Accept a new id; supersede one in force only with a named change; refuse what its source withdrew."""
    source = None if command.source is None else given.sources[command.source.stream]
    if source is not None:
        command = _with_published_rule(command, source)
        moved = _moved(command, source, given)
        if moved is not None:
            return moved
    old = by_id(contract.constraints, command.id)
    event = _acceptance(command, source, old, given)
    if old is not None:
        # Who does not say who accepts it says nothing else than whoever accepted it first.
        found_out = _FOUND_OUT if command.accepted_by is not None else _FOUND_OUT | {"accepted_by"}
        same = states(old, event, but=found_out) and same_source(event, old)
        # What was only claimed may since have been published: who names a change means to state that.
        if same and (command.change is None or old.published == event.published):
            return stands_at(old.position)
        if command.change is None:
            return id_in_use("constraint", command.id, old.position)
        barred = _barred(contract, event, old, source, given)
        if barred is not None:
            return barred
    elif command.change is not None:
        return not_open("constraint", command.id)
    elif source is not None and is_agent(given.actor):
        unruled = _unruled(command, source, given)
        if unruled is not None:
            return unruled
    guards = {} if source is None else {source.source: source.position}
    return Admitted((event,), guards)


def _with_published_rule(command: AcceptConstraint, source: SourceState) -> AcceptConstraint:
    """Take the rule that a source publishes with the words that are accepted, where none is named.

    A published rule is a rule: to repeat only its words must not take it out of force.
    """
    item = source.item(_item(command))
    if item is None or item.rule is None or command.rule is not None or item.text != command.text:
        return command
    return command.with_fields({"rule": item.rule})


def _unruled(command: AcceptConstraint, source: SourceState, given: Given) -> Refusal | None:
    """Refuse an agent to accept what its source publishes with a rule so that the rule would not bind."""
    item = source.item(_item(command))
    if item is None or item.rule is None:
        return None
    begins, ends = command.valid_from, command.valid_until
    if command.rule is None or not forbids_as_much(command.rule, item.rule):
        how = "without it, or with one that binds less, as far as one can tell"
    elif ends is not None or (begins is not None and begins > given.now):
        how = "for a time of its own"
    else:
        return None
    return Refusal(
        "not_for_agents",
        f"{source.source} publishes {item.id!r} with a rule, and {given.actor.id} would accept it {how}: its "
        "own text brings its own rule, for as long as it stands",
        evidence={
            "command": AcceptConstraint.name,
            "actor": given.actor.id,
            "id": command.id,
            "source": source.source,
            "source_position": source.position,
        },
    )


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
        pointer = pointer.with_fields({"revision": source.revision})
    return stated(
        ConstraintAccepted,
        command,
        accepted_by=command.accepted_by or given.actor.id,
        change=command.change if old is not None else None,
        published=None if source is None else _published(command, source),
        source=pointer,
        source_position=None if source is None else source.position,
        supersedes=None if old is None else old.position,
    )


def _barred(
    contract: Contract,
    event: ConstraintAccepted,
    old: Constraint,
    source: SourceState | None,
    given: Given,
) -> Refusal | None:
    """Refuse an agent what would bind less than before, or would pass over what the source reworded since."""
    if not is_agent(given.actor):
        return None
    if not is_as_strict(event, old):
        return Refusal(
            "not_for_agents",
            f"{given.actor.id} calls it {event.change}, but {event.id!r} would bind less than before, as far "
            "as one can tell; relaxing, and other words or another source, are for people and services",
            position=old.position,
            evidence={"command": AcceptConstraint.name, "actor": given.actor.id, "id": event.id},
        )
    if source is not None and not event.published and is_reworded(contract, old, source):
        return _for_people(old, source)
    return None


def is_reworded(contract: Contract, constraint: Constraint, source: SourceState) -> bool:
    """Tell whether a source got other words for a constraint than its own since somebody last looked."""
    assert constraint.source is not None
    item = source.item(constraint.source.item or constraint.id)
    if item is None or (item.text, item.rule) == (constraint.text, constraint.rule):
        return False
    looked = [constraint.source_position or 0]
    looked += (seen.position for seen in contract.sources if seen.source == source.source)
    return item.position > max(looked)


def _for_people(constraint: Constraint, source: SourceState) -> Refusal:
    assert constraint.source is not None
    id = constraint.source.item or constraint.id
    return Refusal(
        "not_for_agents",
        f"{source.source} reworded {id!r}: an agent accepts the new text, a person may let it stand",
        position=constraint.position,
        evidence={
            "source": source.source,
            "id": constraint.id,
            "source_position": source.position,
            "change": "reworded",
        },
    )


def _item(command: AcceptConstraint) -> str:
    assert command.source is not None
    return command.source.item or command.id


def _published(command: AcceptConstraint, source: SourceState) -> bool:
    item = source.item(_item(command))
    return item is not None and item.text == command.text and item.rule == command.rule


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
    if _published(command, source):
        return _never_said(command, source)
    relied = any(isinstance(event, ConstraintAccepted) and event.published for event in given.earlier)
    named = command.source.revision
    behind = named is not None and source.revision is not None and named != source.revision
    if relied or behind:
        known = source.item(id) is not None
        says = "says something else under" if known else "does not publish"
        return Refusal(
            "contract_changed",
            f"{source.source} {says} {id!r} in revision {source.revision!r}",
            evidence={
                "source": source.source,
                "id": id,
                "source_position": source.position,
                "revision": source.revision,
                "change": "reworded" if known else "absent",
            },
        )
    return None


def _never_said(command: AcceptConstraint, source: SourceState) -> Refusal | None:
    """Refuse to record, as where the words come from, a revision that did not say them."""
    assert command.source is not None
    named, item = command.source.revision, source.item(_item(command))
    assert item is not None, "only what is published is asked about"
    if named is None or source.revisions.get(named, 0) >= item.position:
        return None
    return Refusal(
        "contract_changed",
        f"{source.source} says these words under {item.id!r} since revision {item.revision!r}, "
        f"it never did in {named!r}",
        evidence={
            "source": source.source,
            "id": item.id,
            "source_position": source.position,
            "revision": item.revision,
            "change": "revision",
        },
    )


def withdraw(contract: Contract, command: WithdrawConstraint, given: Given) -> Decision:
    if by_id(contract.constraints, command.id) is None:
        return not_open("constraint", command.id)
    return admitted(stated(ConstraintWithdrawn, command))


def acknowledge(contract: Contract, command: AcknowledgeRevision, given: Given) -> Decision:
    """Acknowledge where a source stands now; the append fails if it moves meanwhile."""
    source = given.sources[command.source.stream]
    seen = next((seen for seen in contract.sources if seen.source == source.source), None)
    if seen is None:
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
    if seen.position == source.position:
        return stands_at(seen.stated_at)
    fallen = _fallen(contract, source, given)
    if fallen is not None:
        return fallen
    pointer = command.source.with_fields({"revision": source.revision})
    event = stated(RevisionAcknowledged, command, source=pointer, source_position=source.position)
    return Admitted((event,), {source.source: source.position})


def _fallen(contract: Contract, source: SourceState, given: Given) -> Refusal | None:
    """Refuse to acknowledge away what the source withdrew or, for an agent, what it reworded."""
    for constraint in contract.constraints:
        pointer = constraint.source
        if pointer is None or pointer.stream != source.source:
            continue
        withdrawn = _withdrawn(constraint, source)
        if withdrawn is not None:
            return withdrawn
        if is_agent(given.actor) and is_reworded(contract, constraint, source):
            return _for_people(constraint, source)
    return None


def fallen_at_source(contract: Contract, given: Given) -> Refusal | None:
    """Say which constraint in force its source withdrew, or reworded since somebody last looked."""
    for constraint in contract.in_force(given.now):
        pointer = constraint.source
        if pointer is None:
            continue
        # Not to be given a source is a mistake of the caller, and never passed over.
        source = given.sources[pointer.stream]
        withdrawn = _withdrawn(constraint, source)
        if withdrawn is not None:
            return withdrawn
        if is_reworded(contract, constraint, source):
            return _changed(constraint, source, "reworded", source.position)
    return None


def gone_at(constraint: Constraint, source: SourceState) -> Gone | None:
    """Tell when, by whom and why its source withdrew a constraint; None where it did not."""
    assert constraint.source is not None
    return source.gone(constraint.source.item or constraint.id)


def _withdrawn(constraint: Constraint, source: SourceState) -> Refusal | None:
    gone = gone_at(constraint, source)
    return None if gone is None else _changed(constraint, source, "withdrawn", gone.position)


def _changed(
    constraint: Constraint, source: SourceState, change: Literal["reworded", "withdrawn"], place: int
) -> Refusal:
    assert constraint.source is not None
    verb = "withdrew" if change == "withdrawn" else change
    id = constraint.source.item or constraint.id
    return Refusal(
        "contract_changed",
        f"{source.source} {verb} {id!r}, on which {constraint.id!r} rests",
        position=constraint.position,
        evidence={
            "source": source.source,
            "id": constraint.id,
            "source_position": place,
            "change": change,
        },
    )
