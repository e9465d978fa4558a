"""Decide what becomes of an append, seeing the store as it stands: the rare, careful half of every append.

The order is part of the contract: repeat, position, guard, claim, act. A repeat comes first because its
events are stored: what has moved since must not turn a lost acknowledgement into a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ledger.errors import ActKnown, EffectInFlight, GuardMoved, IdInUse, LedgerError, PositionConflict
from ledger.record import ZERO_HASH, Row, event_id, same_content
from ledger.stores.base import Append, Appended, Guard, StreamAppend


class Stored(NamedTuple):
    """What the decision needs of one stored event."""

    gid: int
    hash: bytes
    record: bytes


class Place(NamedTuple):
    """Where an event stands."""

    stream: str
    position: int


class View(Protocol):
    """The store as it stands while it decides; nothing else writes meanwhile."""

    def last(self, tenant: str, stream: str) -> tuple[int, bytes]:
        """Return position and hash of the last event of a stream; (0, ZERO_HASH) where there is none."""

    def stored(self, tenant: str, stream: str, after: int, upto: int) -> Sequence[Stored]:
        """Read what stands at after < position ≤ upto, ascending."""

    def head(self, tenant: str, stream: str) -> int | None:
        """Return where the head of a source stream stands, None where it has none."""

    def holder(self, tenant: str, claim: bytes) -> Place | None:
        """Find the event that holds a claim."""

    def intended(self, tenant: str, act: bytes, known: int) -> Place | None:
        """Find the newest event with an act, where more than `known` events have it."""


def decide(append: Append, view: View) -> Appended | LedgerError | None:
    """Return the earlier outcome of a repeat, the refusal, or None where the append may be stored."""
    moved: tuple[StreamAppend, int] | None = None
    for part in append.streams:
        position, digest = view.last(append.tenant, part.stream)
        if position != part.expected or digest != part.prev:
            moved = part, position
            break
    if moved is not None:
        return _earlier(append, view) or position_conflict(*moved)
    for guard in append.guards:
        actual = view.head(append.tenant, guard.stream)
        if actual != guard.expected:
            return _guard_moved(guard, actual)
    return _claimed(append, view) or _known(append, view)


def _earlier(append: Append, view: View) -> Appended | LedgerError | None:
    """Find the same events in their places, as an earlier call stored them."""
    gids: list[int] = []
    changed: tuple[StreamAppend, Row] | None = None
    for part in append.streams:
        there = view.stored(append.tenant, part.stream, part.expected, part.expected + len(part.rows))
        if len(there) != len(part.rows):
            return None
        for row, found in zip(part.rows, there, strict=True):
            if found.hash != row.hash:
                if event_id(found.record, run=part.stream, position=row.position) != row.id:
                    return None
                if changed is None and not same_content(found.record, row.record):
                    changed = part, row
            gids.append(found.gid)
    if changed is not None:
        return _id_in_use(*changed)
    return Appended(tuple(gids), repeated=True)


def _claimed(append: Append, view: View) -> LedgerError | None:
    taken: dict[bytes, Place] = {}
    for place, row in _rows(append):
        if row.claim is not None:
            holder = taken.get(row.claim) or view.holder(append.tenant, row.claim)
            if holder is not None:
                return claim_taken(row, holder)
            taken[row.claim] = place
    return None


def _known(append: Append, view: View) -> ActKnown | None:
    for act, known in append.fresh:
        earlier = view.intended(append.tenant, act, known)
        if earlier is not None:
            return ActKnown(
                f"the act was intended before, at position {earlier.position} of {earlier.stream!r}",
                act=act.hex(),
                run=earlier.stream,
                position=earlier.position,
            )
    return None


def _rows(append: Append) -> Iterator[tuple[Place, Row]]:
    for part in append.streams:
        for row in part.rows:
            yield Place(part.stream, row.position), row


def position_conflict(part: StreamAppend, actual: int) -> PositionConflict:
    """Build the refusal of an append to a stream that stands elsewhere, or holds another event there."""
    where = f"stands at {actual}" if actual != part.expected else "holds another event there"
    return PositionConflict(
        f"the append expected {part.stream!r} at position {part.expected}, it {where}",
        run=part.stream,
        expected=part.expected,
        actual=actual,
    )


def _guard_moved(guard: Guard, actual: int | None) -> GuardMoved:
    where = "has no head" if actual is None else f"stands at {actual}"
    return GuardMoved(
        f"the append relied on {guard.stream!r} at {guard.expected}, it {where}",
        source=guard.stream,
        expected=guard.expected,
        actual=actual,
    )


def _id_in_use(part: StreamAppend, row: Row) -> IdInUse:
    return IdInUse(
        f"event {row.id!r} is stored at position {row.position} of {part.stream!r} with other content",
        rule="event-id",
        position=row.position,
        evidence={"run": part.stream, "id": row.id},
    )


def claim_taken(row: Row, holder: Place) -> EffectInFlight:
    """Build the refusal of a claim that another event holds."""
    return EffectInFlight(
        f"the claim is held by position {holder.position} of {holder.stream!r}",
        key=(row.key or b"").hex(),
        run=holder.stream,
        position=holder.position,
    )


NOTHING = (0, ZERO_HASH)
"""What `View.last` returns of a stream without events."""
