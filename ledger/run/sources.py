"""Source streams: where constraints are published, reworded and withdrawn by those who own them.

A source stream has its own positions and its own fold; runs rely on it by guards. A withdrawal is one event
here: from its commit on, no acceptance that relied on the constraint succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ledger.commands import Command, OpenSource, PublishRevision, WithdrawAtSource
from ledger.events import ConstraintWithdrawnAtSource, Event, SourceOpened, SourceRevised
from ledger.record import Record
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    Ruling,
    admitted,
    id_in_use,
    not_for_agents,
    not_open,
    stands_at,
    stated,
)
from ledger.values import Actor, Published, Rule

PREFIX = "$source:"
"""What the name of a source stream begins with in the store."""


@dataclass(frozen=True, slots=True)
class Item:
    """A constraint as the source publishes it now."""

    id: str
    position: int
    """Position of the source stream where it got this text."""
    published: Published
    revision: str

    @property
    def text(self) -> str:
        return self.published.text

    @property
    def rule(self) -> Rule | None:
        return self.published.rule


@dataclass(frozen=True, slots=True)
class Gone:
    """A constraint that the source withdrew."""

    id: str
    at: datetime
    by: str | None
    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a source says at one position of its stream; 0 is a source nobody opened."""

    source: str
    at: datetime | None = None
    """Time of the last event."""
    items: tuple[Item, ...] = ()
    hash: bytes = bytes(32)
    owners: tuple[str, ...] = ()
    position: int = 0
    revision: str | None = None
    revisions: Mapping[str, int] = field(default_factory=dict)
    """Where each revision was published, the last time it was."""
    withdrawn: tuple[Gone, ...] = ()
    _items: Mapping[str, Item] = field(init=False, repr=False, compare=False)
    _gone: Mapping[str, Gone] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Runs compare thousands of constraints with a source that seldom moves.
        object.__setattr__(self, "_items", {item.id: item for item in self.items})
        object.__setattr__(self, "_gone", {gone.id: gone for gone in self.withdrawn})

    def item(self, id: str) -> Item | None:
        """Find a constraint that is published now."""
        return self._items.get(id)

    def gone(self, id: str) -> Gone | None:
        """Find a constraint that was withdrawn and not published again."""
        return self._gone.get(id)


def evolve_source(state: SourceState, record: Record) -> SourceState:
    """Apply one record of a source stream."""
    state = replace(state, at=record.at, position=record.position, hash=record.hash)
    fold = SOURCE_FOLDS.get(type(record.event))
    return state if fold is None else fold(state, record.event, record)


def _opened(state: SourceState, event: SourceOpened, record: Record) -> SourceState:
    """The source has these owners."""
    return replace(state, owners=event.owners)


def _revised(state: SourceState, event: SourceRevised, record: Record) -> SourceState:
    """The source says what it names in another way, no longer what it withdraws, and all else as before."""
    items = {item.id: item for item in state.items}
    for published in (*event.added, *event.reworded):
        items[published.id] = Item(published.id, record.position, published, event.revision)
    back = {published.id for published in event.added}
    kept = tuple(gone for gone in state.withdrawn if gone.id not in back)
    reason = event.reason or f"not in revision {event.revision}"
    gone = [Gone(id, record.at, event.by, record.position, reason) for id in event.withdrawn]
    state = replace(
        state,
        items=tuple(items.values()),
        revision=event.revision,
        revisions={**state.revisions, event.revision: record.position},
        withdrawn=kept,
    )
    return _take_out(state, gone)


def _withdrawn(state: SourceState, event: ConstraintWithdrawnAtSource, record: Record) -> SourceState:
    """The source no longer says it; runs that accepted it learn so when they next rely on the source."""
    return _take_out(state, [Gone(event.id, record.at, event.by, record.position, event.reason)])


SOURCE_FOLDS: dict[type[Event], Callable[[SourceState, Any, Record], SourceState]] = {
    SourceOpened: _opened,
    SourceRevised: _revised,
    ConstraintWithdrawnAtSource: _withdrawn,
}
"""What each event of a source stream does to what the source says."""


def _take_out(state: SourceState, gone: list[Gone]) -> SourceState:
    ids = {one.id for one in gone}
    return replace(
        state,
        items=tuple(item for item in state.items if item.id not in ids),
        withdrawn=(*(one for one in state.withdrawn if one.id not in ids), *gone),
    )


def decide_source(state: SourceState, command: Command, given: Given) -> Decision:
    """Decide a command that speaks to a source stream."""
    barred = not_for_agents(command, given)
    if barred is not None:
        return barred
    ruling = SOURCE_RULES.get(type(command))
    if ruling is None:
        raise TypeError(f"{command.name} does not speak to a source stream")
    return ruling.decide(state, command, given)


def _open(state: SourceState, command: OpenSource, given: Given) -> Decision:
    if state.position == 0:
        return admitted(stated(SourceOpened, command, source=state.source))
    if state.owners == command.owners:
        return stands_at(1)
    return id_in_use("source", state.source, 1)


def _not_owner(state: SourceState, by: str | None, actor: Actor) -> Refusal | None:
    """Refuse whoever is no owner; a claim in `by` counts only while nobody was authenticated."""
    who = {actor.id, *actor.on_behalf_of}
    if by is not None and actor.authenticated_by is None:
        who = {by}
    if not state.owners or who & set(state.owners):
        return None
    return Refusal(
        "authority_exceeded",
        f"{' for '.join(sorted(who))} is not an owner of {state.source}; "
        f"its owners are {', '.join(state.owners)}",
        position=1,
        evidence={"source": state.source, "owners": list(state.owners), "who": sorted(who)},
    )


def _publish(state: SourceState, command: PublishRevision, given: Given) -> Decision:
    """State what is added, reworded and withdrawn against what is published now."""
    stranger = _not_owner(state, command.by, given.actor)
    if stranger is not None:
        return stranger
    ids = [published.id for published in command.constraints]
    named = frozenset(ids)
    twin = next((id for id in ids if ids.count(id) > 1), None) if len(named) < len(ids) else None
    if twin is not None:
        return Refusal(
            "id_in_use", f"the revision names {twin!r} twice", evidence={"kind": "constraint", "id": twin}
        )
    now = {item.id: item.published for item in state.items}
    added = tuple(one for one in command.constraints if one.id not in now)
    reworded = tuple(one for one in command.constraints if one.id in now and now[one.id] != one)
    omitted = tuple(id for id in now if id not in named)
    if command.revision == state.revision:
        if added or reworded or omitted or not all(map(state.gone, command.withdraw)):
            return _republished(state, command.revision, added)
        return stands_at(state.position)
    wrong = _unconfirmed(state, command, omitted)
    if wrong is not None:
        return wrong
    event = stated(SourceRevised, command, added=added, reworded=reworded, withdrawn=omitted)
    first: tuple[Event, ...] = () if state.position else (SourceOpened(source=state.source),)
    return Admitted((*first, event))


def _republished(state: SourceState, revision: str, added: tuple[Published, ...]) -> Refusal:
    """Refuse other content under the name of the present revision, or what was withdrawn from it since."""
    gone = [one for one in (state.gone(published.id) for published in added) if one is not None]
    if not gone:
        return id_in_use("revision", revision, state.position)
    return Refusal(
        "id_in_use",
        f"revision {revision!r} stands, and {_quoted([one.id for one in gone])} was withdrawn since, at "
        f"position {gone[0].position}: publish it anew under the name of another revision",
        position=gone[0].position,
        evidence={"kind": "revision", "id": revision},
    )


def _unconfirmed(state: SourceState, command: PublishRevision, omitted: tuple[str, ...]) -> Refusal | None:
    """Refuse a revision whose `withdraw` is not exactly what it leaves out."""
    confirmed, left_out = frozenset(command.withdraw), frozenset(omitted)
    unconfirmed = [id for id in omitted if id not in confirmed]
    if unconfirmed:
        return Refusal(
            "contract_changed",
            f"revision {command.revision!r} leaves out and so withdraws {_quoted(unconfirmed)}; "
            "confirm by naming it in `withdraw`",
            position=state.position,
            evidence={"source": state.source, "omitted": unconfirmed},
        )
    surplus = next((id for id in command.withdraw if id not in left_out), None)
    return None if surplus is None else not_open("omitted constraint", surplus)


def _withdraw(state: SourceState, command: WithdrawAtSource, given: Given) -> Decision:
    """Record every withdrawal that says something new, also of what is withdrawn already: it is a report."""
    stranger = _not_owner(state, command.by, given.actor)
    if stranger is not None:
        return stranger
    gone = state.gone(command.id)
    if gone is not None and (gone.by, gone.reason) == (command.by, command.reason):
        return stands_at(gone.position)
    if gone is None and state.item(command.id) is None:
        return not_open("published constraint", command.id)
    return admitted(stated(ConstraintWithdrawnAtSource, command))


SOURCE_RULES: dict[type[Command], Ruling] = {
    OpenSource: Ruling(_open, (SourceOpened,), ("id_in_use",)),
    PublishRevision: Ruling(
        _publish,
        (SourceOpened, SourceRevised),
        ("authority_exceeded", "contract_changed", "id_in_use", "not_open"),
    ),
    WithdrawAtSource: Ruling(_withdraw, (ConstraintWithdrawnAtSource,), ("authority_exceeded", "not_open")),
}
"""The rule of each command that speaks to a source stream."""


def _quoted(ids: list[str]) -> str:
    return ", ".join(map(repr, ids))
