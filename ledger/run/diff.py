"""What differs between two contracts: of one run at two positions, or of two runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import JsonValue

from ledger.record import TermsMark
from ledger.run.compared import SECTIONS, Key, Origin, Section, What, members_of
from ledger.run.contract import Contract
from ledger.values import Id, Instant, Position, RunId, Value

__all__ = ["Diff", "Difference", "Origin", "Side", "diff", "side_of"]

_STEP = next(section for section in SECTIONS if section.what == "step")
_PLACE = {section.what: place for place, section in enumerate(SECTIONS)}


class Difference(Value):
    """One member that is not the same in two contracts."""

    change: Literal["added", "removed", "changed", "moved"]
    """Moved: a step that stands elsewhere among those that both plans have; `old`, `new`: its places."""
    id: Id | None = None
    """None: a run has one of it, as a goal or a cursor."""
    new: JsonValue = None
    """What it is, in the fields that are compared, without defaults; None where it was removed."""
    nth: Position = 1
    """Which of several steps of this name it is, as an imported plan may have them."""
    old: JsonValue = None
    """What it was; None where it was added."""
    origin: Origin | None = None
    """Who brought the new state about. Of what was removed only the log knows it."""
    what: What

    @property
    def key(self) -> Key:
        """Id and number, which with kind and change tell it from all others."""
        return self.id or "", self.nth

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that differ; empty where it is no object."""
        old, new = self.old or {}, self.new or {}
        if not isinstance(old, dict) or not isinstance(new, dict):
            return ()
        return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


class Side(Value):
    """Which contract was compared."""

    at: Instant
    """Time of its last event."""
    position: Position
    run: RunId
    status: str
    terms: TermsMark


class Diff(Value):
    """What differs between two contracts; nothing: `differences` is empty."""

    differences: tuple[Difference, ...]
    """By kind in the order of `What`, then by id."""
    new: Side
    old: Side

    @property
    def same_terms(self) -> bool:
        """Whether both bind acts alike: goal, constraints, and grants without what is spent."""
        return self.old.terms.digest == self.new.terms.digest


def side_of(contract: Contract) -> Side:
    """Name a contract that is compared."""
    return Side(
        at=contract.at,
        position=contract.position,
        run=contract.run,
        status=contract.status,
        terms=contract.terms,
    )


def diff(old: Contract, new: Contract) -> tuple[Difference, ...]:
    """Compare two contracts, member by member, by their ids.

    Positions and times of events are no differences, nor are messages, counts and reviews. Ordered by kind,
    then by id. What a removed member was removed by stands in no contract, but in the log between them.
    """
    found = [one for section in SECTIONS for one in _members(section, old, new)]
    found += _moved(old, new)
    # A step that changed and moved keeps that order: sorting is stable.
    return tuple(sorted(found, key=lambda one: (_PLACE[one.what], *one.key)))


def _members(section: Section, old: Contract, new: Contract) -> Iterator[Difference]:
    before, after = members_of(section, old), members_of(section, new)
    was_at, is_at = (_places(before), _places(after)) if section is _STEP else ({}, {})
    for key in before.keys() | after.keys():
        one, other = before.get(key), after.get(key)
        # Folding keeps what no event touched, so that most members need no second look.
        if one is other:
            continue
        was = None if one is None else section.written(one)
        is_now = None if other is None else section.written(other)
        if was == is_now:
            continue
        if one is None or other is None:
            was, is_now = _placed(was, was_at.get(key)), _placed(is_now, is_at.get(key))
        yield Difference(
            change="added" if one is None else "removed" if other is None else "changed",
            id=key[0] or None,
            new=is_now,
            nth=key[1],
            old=was,
            origin=None if other is None else _news(section, old, one, new, other),
            what=section.what,
        )


def _news(section: Section, old: Contract, one: Any, new: Contract, other: Any) -> Origin | None:
    """Tell where a member comes from, unless the contract said that before it changed: money was spent."""
    origin = section.origin(new, other)
    return None if one is not None and origin == section.origin(old, one) else origin


def _placed(member: JsonValue, place: int | None) -> JsonValue:
    """Add the place in the plan to what came or went, where it has one."""
    return {"place": place, **member} if place is not None and isinstance(member, dict) else member


# --- the order of a plan -----------------------------------------------------------------------------


def _places(steps: Iterable[Key]) -> dict[Key, int]:
    """Number the steps of a plan from 1."""
    return {key: place for place, key in enumerate(steps, 1)}


def _moved(old: Contract, new: Contract) -> Iterator[Difference]:
    before, after = list(members_of(_STEP, old)), list(members_of(_STEP, new))
    stayed = _in_order(before, after)
    places = _places(after)
    for place, key in enumerate(before, 1):
        if key in places and key not in stayed:
            yield Difference(
                change="moved",
                id=key[0],
                new={"place": places[key]},
                nth=key[1],
                old={"place": place},
                origin=_STEP.origin(new, key),
                what="step",
            )


def _in_order(one: list[Key], other: list[Key]) -> set[Key]:
    """Choose the most steps that stand in the same order in both plans: the others are the ones that moved.

    Of several choices the same is taken whichever plan is the older one, so that a diff has a mirror image.
    """
    if other < one:
        one, other = other, one
    places = _places(other)
    # The last place and step of the best rising chain of each length, and what came before each step in its.
    ends: list[int] = []
    last: list[Key] = []
    before: dict[Key, Key | None] = {}
    for key in one:
        if key not in places:
            continue
        length = bisect_left(ends, places[key])
        before[key] = last[length - 1] if length else None
        ends[length : length + 1] = [places[key]]
        last[length : length + 1] = [key]
    stayed: set[Key] = set()
    step = last[-1] if last else None
    while step is not None:
        stayed.add(step)
        step = before[step]
    return stayed
