"""Looking at sources for somebody who watches them: what they say, and which runs rely on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from ledger.application.ledger import Ledger
from ledger.application.listing import NOT_READ, Unread
from ledger.errors import (
    NotFound,
    RunNotFound,
)
from ledger.run.contract import Constraint, Contract
from ledger.run.sources import Gone, Item, SourceState

Standing = Literal["reworded", "unchanged", "unpublished", "withdrawn"]

_STATUSES = ("open", "held", "suspended", "closed")
"""Those first whose runs may act at any moment."""
_NAMES = 200


class Line(NamedTuple):
    """A source in a list."""

    state: SourceState
    runs: int
    """Runs that hold a constraint from it and have not ended."""
    closed_runs: int


class SourceListing(NamedTuple):
    """The sources of a tenant by id, and the runs that could not be read."""

    sources: tuple[Line, ...]
    unread: tuple[Unread, ...] = ()


class Reliance(NamedTuple):
    """A constraint that a run has from a source, and what became of it there."""

    run: str
    status: str
    """Of the run: open, held, suspended or closed."""
    constraint: Constraint
    now: Standing
    """`unpublished`: the source never published it, or not under this id."""
    item: Item | None
    """What the source says now under this id."""
    gone: Gone | None
    """Who withdrew it, when and why."""
    looked: bool
    """Somebody has looked at the source for this run since: an acceptance, or an acknowledged revision."""

    @property
    def published_as(self) -> str:
        """The id that the source has for it."""
        return item_of(self.constraint)


class Affected(NamedTuple):
    """Who relies on a source: open runs first, then by id. And the runs that could not be read."""

    runs: tuple[Reliance, ...]
    unread: tuple[Unread, ...] = ()


def list_sources(ledger: Ledger) -> SourceListing:
    """List the sources of the tenant with how many runs follow each. It reads the contract of every run.

    A source that nobody has published to is listed where a run claims to have something from it.
    """
    states = ledger.sources()
    counts: dict[str, Counter[bool]] = {source: Counter() for source in states}
    unread: list[Unread] = []
    for one in _contracts(ledger):
        if isinstance(one, Unread):
            unread.append(one)
            continue
        for source in {c.source.stream for c in one.constraints if c.source is not None}:
            counts.setdefault(source, Counter())[one.closed is not None] += 1
    lines = (
        Line(states.get(source) or SourceState(source), count[False], count[True])
        for source, count in sorted(counts.items())
    )
    return SourceListing(tuple(lines), tuple(unread))


def find_source(ledger: Ledger, source: str) -> SourceState:
    """Return what a source says.

    Raises:
        NotFound: nothing was ever published or withdrawn there.
        InvalidInput: the id is not `kind:name`.
    """
    state = ledger.source(source).state
    if state.position == 0:
        raise NotFound(f"no source {source!r} was opened", source=source)
    return state


def affected(
    ledger: Ledger, source: str, id: str | None = None, *, among: Iterable[str] | None = None
) -> Affected:
    """List who relies on a source, or on one constraint of it.

    It reads the contract of every run, or of those of `among`.

    Raises:
        NotFound: nothing was ever published there, and no run has anything from it.
        InvalidInput: the id is not `kind:name`.
    """
    state = ledger.source(source).state
    found: list[Reliance] = []
    unread: list[Unread] = []
    for one in _contracts(ledger, among):
        if isinstance(one, Unread):
            unread.append(one)
        else:
            found += _reliances(one, state, id)
    if state.position == 0 and not found:
        raise NotFound(f"no source {source!r} was opened, and no run has anything from it", source=source)
    found.sort(key=lambda one: (_STATUSES.index(one.status), one.run))
    return Affected(tuple(found), tuple(unread))


def item_of(constraint: Constraint) -> str:
    """Return the id under which the source of a constraint has it."""
    assert constraint.source is not None
    return constraint.source.item or constraint.id


def _reliances(contract: Contract, state: SourceState, id: str | None) -> Iterator[Reliance]:
    seen = max((one.position for one in contract.sources if one.source == state.source), default=0)
    for one in contract.constraints:
        if one.source is None or one.source.stream != state.source:
            continue
        name = item_of(one)
        if id is not None and name != id:
            continue
        item, gone = state.item(name), state.gone(name)
        changed_at = (item or gone).position if item or gone else 0  # type: ignore[union-attr]
        looked = max(one.source_position or 0, seen) >= changed_at
        yield Reliance(contract.run, contract.status, one, _standing(one, item, gone), item, gone, looked)


def _standing(constraint: Constraint, item: Item | None, gone: Gone | None) -> Standing:
    if gone is not None:
        return "withdrawn"
    if item is None:
        return "unpublished"
    return "unchanged" if (item.text, item.rule) == (constraint.text, constraint.rule) else "reworded"


def _contracts(ledger: Ledger, among: Iterable[str] | None = None) -> Iterator[Contract | Unread]:
    for name in _names(ledger) if among is None else among:
        try:
            yield ledger.contract(name)
        except RunNotFound:
            continue
        except NOT_READ as error:
            yield Unread(name, error)


def _names(ledger: Ledger) -> Iterator[str]:
    after = ""
    while heads := ledger.store.heads(ledger.tenant, after=after, prefix="", limit=_NAMES):
        yield from (head.stream for head in heads if not head.stream.startswith("$"))
        after = heads[-1].stream
