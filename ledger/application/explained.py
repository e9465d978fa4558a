"""Contents that records name and that are not here: of which an event says that they went on purpose."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.expired import expired
from ledger.application.saved_states import SavedPart, SavedState, all_drops, saved_in, state_id
from ledger.record import Record
from ledger.run.given_up import Drops


class Absent(NamedTuple):
    """A content that a record names, and that is not here."""

    digest: bytes
    at: datetime
    """When the record was written."""
    state: SavedState | SavedPart | None
    """The saved state, or the work after one, that it is of; None: it is of none."""


def absent_of(record: Record, digest: bytes) -> Absent:
    """Say of what a content is that is not here."""
    return Absent(digest, record.at, saved_in(record))


def explained(edge: Edge, absent: Iterable[Absent]) -> list[Absent]:
    """Find those of some contents of which an event says that they went on purpose.

    Such an event is a tombstone, or one that gives up the state whose content it was.
    """
    absent = list(absent)
    said = expired(edge, {one.digest for one in absent})
    drops: dict[str, Drops] = {}
    found: list[Absent] = []
    for one in absent:
        if one.digest in said and one.at < said[one.digest].cutoff:
            found.append(one)
        elif one.state is not None:
            run = one.state.run
            if run not in drops:
                drops[run] = all_drops(edge, run)
            if drops[run].dropped(one.state.line, state_id(one.state), one.state.position):
                found.append(one)
    return found
