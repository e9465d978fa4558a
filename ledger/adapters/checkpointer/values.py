"""What a `Checkpointer` answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from ledger.adapters.checkpointer.backend import Stored
from ledger.adapters.checkpointer.boundaries import BOUNDARIES, Boundary
from ledger.adapters.checkpointer.messages import Summary


class Checkpoint(NamedTuple):
    """A checkpoint without its state."""

    id: str
    """`NUMBER-BOUNDARY-ID`: those of a thread sort in the order in which they were saved."""
    parent: str | None
    """The one that it was saved on."""
    boundary: Boundary | None
    """Where in its loop the program stood; None where the id does not say."""
    saved_at: datetime | None
    digest: str
    """SHA-256 of its content, in hex."""
    size: int
    """Bytes that it took: of a delta, what was new."""
    whole: bool
    """It rests on no other checkpoint. What is in the archive may, all the same."""
    damaged: str | None
    """What is wrong with it, where its name alone shows that; None does not promise that it can be read."""


class Loaded(NamedTuple):
    """A state that was loaded."""

    state: dict[str, Any]
    checkpoint: Checkpoint
    summaries: tuple[Summary, ...]
    """What stands for messages that left the state, the oldest first."""
    archived: int
    """Messages that are in the archive."""
    fell_back_from: str | None = None
    """The newest checkpoint, which cannot be read: this is an older one. None: this is the one asked for."""


def new_name(number: int, boundary: Boundary, id: str) -> str:
    """Name a checkpoint so that names sort as their numbers do."""
    return f"{number:010}-{boundary}-{id}"


def number_of(id: str | None) -> int | None:
    """Return the number of a checkpoint, 0 of none; None where the name is none of ours."""
    if id is None:
        return 0
    number = id.partition("-")[0]
    return int(number) if len(number) == 10 and number.isascii() and number.isdecimal() else None


def checkpoint_of(stored: Stored) -> Checkpoint:
    """Say what is known of a checkpoint without its content."""
    named = stored.id.split("-", 2)
    boundary = next((one for one in BOUNDARIES if len(named) == 3 and one == named[1]), None)
    return Checkpoint(
        id=stored.id,
        parent=stored.parent,
        boundary=boundary,
        saved_at=stored.at,
        digest=stored.digest,
        size=stored.size,
        whole=stored.whole,
        damaged=stored.damaged,
    )
