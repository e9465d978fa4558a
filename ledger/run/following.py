"""How far a run has followed the sources of its constraints: as far as for the one looked at longest ago.

Each constraint counts as far as its own acceptance, or as the last acknowledgement made while it was in
force; a later acceptance speaks for itself alone. See decision 9.
"""

from __future__ import annotations

from ledger.run.contract import Constraint, SourceSeen


def followed(constraints: tuple[Constraint, ...], seen: tuple[SourceSeen, ...]) -> tuple[SourceSeen, ...]:
    """Find how far each source was followed; what was seen before speaks of all these constraints."""
    return _least(constraints, seen, None)


def followed_with(
    constraints: tuple[Constraint, ...], seen: tuple[SourceSeen, ...], newest: Constraint, *, added: bool
) -> tuple[SourceSeen, ...]:
    """Find how far each source was followed; what was seen before speaks of all constraints but the newest.

    `added` says that the newest stands at the end and in nobody's place. Then nothing moves but its own
    source, which is what lets thousands be accepted in a row without looking at all of them each time.
    """
    own = newest.source
    if added:
        name = None if own is None else own.stream
        before = next((item for item in seen if item.source == name), None)
        if own is None or (before is not None and before.position <= _place(newest)):
            return seen
        if before is None:
            return (*seen, _seen(newest))
    # Where the newest lags behind what was seen, that no longer counts for the others either.
    return _least(constraints, _least(constraints, seen, newest), None)


def _least(
    constraints: tuple[Constraint, ...], seen: tuple[SourceSeen, ...], newest: Constraint | None
) -> tuple[SourceSeen, ...]:
    before = {item.source: item for item in seen}
    found: dict[str, Constraint | SourceSeen] = {}
    places: dict[str, int] = {}
    for constraint in constraints:
        if constraint.source is None:
            continue
        name, place = constraint.source.stream, _place(constraint)
        latest: Constraint | SourceSeen = constraint
        earlier = None if constraint is newest else before.get(name)
        if earlier is not None and earlier.position > place:
            latest, place = earlier, earlier.position
        if name not in places or place < places[name]:
            found[name], places[name] = latest, place
    return tuple(_seen(one) for one in found.values())


def _place(constraint: Constraint) -> int:
    return constraint.source_position or 0


def _seen(one: Constraint | SourceSeen) -> SourceSeen:
    if isinstance(one, SourceSeen):
        return one
    assert one.source is not None
    return SourceSeen(
        position=_place(one), revision=one.source.revision, source=one.source.stream, stated_at=one.position
    )
