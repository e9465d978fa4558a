"""Where states of threads are found, and where their contents may be nearer than the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from ledger.adapters.threads.threads import Entry
from ledger.application.saved_states import SavedPart, SavedState


class Located(NamedTuple):
    """A state of a thread, and the run that keeps it."""

    entry: Entry
    state: SavedState
    seen: int
    """Position of the run when the state was looked for; of the newest state of a line it is that of the
    thread's present run: saving says it, to go on from there."""
    dropped: int | None
    """Where states of the run were last dropped then."""
    parts: list[SavedPart] | None = None
    """What was kept of the work after it; None: `ThreadStates.parts` tells."""
    contents: dict[bytes, bytes] | None = None
    """By digest what was read of it and of others at once; what is missing is added as it is read."""


class Nearby(Protocol):
    """Has contents nearer than the ledger, or gets them there; which state is the newest it never says."""

    def contents(self, entry: Entry, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Read contents by their digests, verified; those that are gone are left out.

        Raises:
            IntegrityError: a content is not what was written.
        """

    def stored(self, entry: Entry, line: str | None, id: str, content: bytes) -> None:
        """Take note of a content that the ledger has stored."""


def states_in(entry: Entry) -> Iterator[Located]:
    """Yield the states that one run of a thread keeps, of all lines, the newest first."""
    contract = entry.run.contract
    dropped = None if contract.saved is None else contract.saved.dropped
    for state in entry.run.states.all():
        yield Located(entry, state, contract.position, dropped)
