"""What was passed on of a grant: to children, to successors, and to narrower grants that took its place.

Each grant says what it was carved from, and each part that went to another run is an event of the run it came
from. Contracts do not hold all of that: a closed run leads on to its successors, and a renewal that adds
budget lets a grant forget where its first part came from, since what is left cannot be told apart any more
when the rest is brought back. The records do hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ledger.events import (
    AuthorityCarved,
    AuthorityGranted,
    AuthorityRevoked,
    Event,
    ObligationOpened,
    RunClosed,
    RunOpened,
)
from ledger.record import Record
from ledger.run.contract import Contract, Grant, by_id
from ledger.run.decision import Given, PassedOn

TELLING = (AuthorityCarved, AuthorityGranted, RunClosed, RunOpened)
"""Events that say where grants come from and where they go."""


class Place(NamedTuple):
    """One grant among all that ever were: ids are free again once a grant was revoked."""

    run: str
    id: str
    position: int


class Passing(NamedTuple):
    """What the records of one run say of its grants."""

    carved: tuple[tuple[str, str], ...] = ()
    """Grants of which a part went to another run, each with that run."""
    granted: Mapping[Place, Place | None] = MappingProxyType({})
    """Each grant it ever had, and the one that it was carved from."""
    predecessor: str | None = None
    successor: str | None = None


def passing_of(records: Iterable[Record]) -> Passing:
    """Read what the records of one run say of its grants; others than `TELLING` say nothing."""
    carved: list[tuple[str, str]] = []
    granted: dict[Place, Place | None] = {}
    predecessor = successor = None
    for record in records:
        event = record.event
        if isinstance(event, AuthorityCarved):
            carved.append((event.id, event.run))
        elif isinstance(event, AuthorityGranted):
            origin = event.carved_from
            granted[Place(record.run, event.id, record.position)] = (
                None if origin is None else Place(origin.run, origin.id, origin.position)
            )
        elif isinstance(event, RunClosed):
            successor = event.successor
        elif isinstance(event, RunOpened) and event.parent is not None:
            predecessor = event.parent.run if event.parent.relation == "successor" else None
    return Passing(tuple(dict.fromkeys(carved)), granted, predecessor, successor)


def stemming(grant: Place, passing: Callable[[str], Passing]) -> tuple[Place, ...]:
    """Find all grants that stem from one, itself left out.

    A successor's grant and its predecessor's are one authority: what the predecessor passed on stems from
    both. What a child has is a part of its parent's, and the parent's is none of the child's.

    Args:
        grant: the grant to begin with.
        passing: returns what the records of a run say; `Passing()` where they cannot be read.
    """
    first = grant
    seen = {first}
    while True:
        here = passing(first.run)
        origin = here.granted.get(first)
        if origin is None or origin in seen or origin.run not in (first.run, here.predecessor):
            break
        first = origin
        seen.add(first)
    found = {first: None}
    waiting = [first]
    while waiting:
        one = waiting.pop()
        here = passing(one.run)
        runs = [one.run, *(run for id, run in here.carved if id == one.id)]
        if here.successor is not None:
            runs.append(here.successor)
        for run in dict.fromkeys(runs):
            for place, origin in passing(run).granted.items():
                if origin == one and place not in found:
                    found[place] = None
                    waiting.append(place)
    found.pop(grant, None)
    return tuple(found)


def beneath(contract: Contract, id: str, passing: Callable[[str], Passing]) -> PassedOn:
    """Find what other runs have of a grant that is to end; `passing` is as for `stemming`."""
    grant = by_id(contract.grants, id)
    if grant is None:
        return PassedOn()
    found: dict[str, set[tuple[str, int]]] = {}
    for place in stemming(Place(contract.run, id, grant.position), passing):
        if place.run != contract.run:
            found.setdefault(place.run, set()).add((place.id, place.position))
    return PassedOn({run: frozenset(places) for run, places in found.items()})


def ended_with(grant: Grant, by: str, reason: str, given: Given) -> Mapping[str, tuple[Event, ...]]:
    """Say what a grant's end comes to in other runs: what was passed on of it ends as well.

    A run that has ended hears nothing: it does nothing any more.
    """
    beside: dict[str, tuple[Event, ...]] = {}
    why = f"it was passed on of grant {grant.id!r} of {given.run!r}, which ended: {reason}"[:4096]
    for run, contract in given.others.items():
        if contract.closed is None and run != given.run:
            events = tuple(
                AuthorityRevoked(by=by, id=held.id, reason=why)
                for held in contract.grants
                if (held.id, held.position) in given.passed_on.grants.get(run, ())
            )
            if events:
                beside[run] = events
    return beside


def not_reached(contract: Contract, grant: Grant, by: str, given: Given) -> Iterable[Event]:
    """Owe a person what could not be done: a run that cannot be read keeps what was passed on to it.

    It stands in nobody's way: what can be ended is ended now.
    """
    for run, code in sorted(given.passed_on.unread.items()):
        id = f"not-reached:{run}"[:200]
        if by_id(contract.obligations, id) is None:
            yield ObligationOpened(
                by=by,
                id=id,
                owed_to=by,
                text=f"{run!r} could not be read ({code}): what was passed on to it of grant {grant.id!r}, "
                "or through it, may be in force there still. Verify that run, and stop its program",
            )
