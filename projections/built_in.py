"""The projections that come with the ledger, by name."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.canonical import invalid
from projections.approvals import Approvals
from projections.assumptions import Assumptions
from projections.authority import Authority
from projections.base import Projection
from projections.constraints import Constraints
from projections.effects import Effects
from projections.goals import Goals
from projections.lives import Lives
from projections.obligations import Obligations
from projections.observations import Observations
from projections.reviews import Reviews
from projections.runs import Runs
from projections.sources import Sources
from projections.timeline import Timeline

BUILT_IN: dict[str, Projection] = {
    one.name: one
    for one in (
        Runs(),
        Timeline(),
        Effects(),
        Authority(),
        Approvals(),
        Obligations(),
        Lives(),
        Reviews(),
        Constraints(),
        Sources(),
        Goals(),
        Assumptions(),
        Observations(),
    )
}
"""The present version of each."""


def named(names: Iterable[str]) -> list[Projection]:
    """Return the projections of some names, or all where none is given.

    Raises:
        InvalidInput: there is none of that name.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in BUILT_IN:
            raise invalid("project", f"there is no projection {name!r:.50}; there are: {', '.join(BUILT_IN)}")
    return [BUILT_IN[name] for name in wanted] if wanted else list(BUILT_IN.values())
