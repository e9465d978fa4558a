"""Reading the states of a run: what a handle on the run offers for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.reading import contents_of
from ledger.application.saved_states import (
    NO_DROPS,
    SavedPart,
    SavedState,
    drops_of,
    newest_state,
    parts_of_each,
    saved_parts,
    saved_state,
    saved_states,
    state_and_parts,
)
from ledger.application.state_sayings import unframed
from ledger.run.contract import Contract
from ledger.run.given_up import Drops

LINES_KEPT = 64
"""Lines of a run of which it is kept what was looked up last."""


class FoundState(NamedTuple):
    """A saved state, and what saving another on it has to say."""

    state: SavedState | None
    """None: there is none, or it was dropped."""
    seen: int
    """Position of the run when it was looked for."""
    dropped: int | None
    """Where states of the run were last dropped then."""


class LookedUp(NamedTuple):
    """A saved state that was looked for, with what else is known from doing so."""

    found: FoundState
    closed: bool
    """The run has ended."""
    parts: list[SavedPart] | None
    """What was kept of the work after it; None: `parts` tells."""


class _Kept(NamedTuple):
    """A state that was looked up at a position of its run."""

    position: int
    id: str
    state: SavedState | None
    parts: list[SavedPart] | None


class StateReader:
    """Reads the states of one run, given its contract; it keeps what was dropped."""

    def __init__(self, edge: Edge, run: str) -> None:
        self._edge = edge
        self._run = run
        self._drops = NO_DROPS
        self._kept: dict[str | None, _Kept] = {}

    def newest(self, contract: Contract, line: str | None) -> FoundState:
        """Find the state of a line that was saved last."""
        return self._found(contract, newest_state(self._edge, contract, line, self._dropped(contract)))

    def find(self, contract: Contract, id: str, line: str | None) -> FoundState:
        """Find a state by its name."""
        drops = self._dropped(contract)
        return self._found(contract, saved_state(self._edge, contract.run, line, id, drops))

    def look_up(self, contract: Contract, id: str | None, line: str | None) -> LookedUp:
        """Find a state by its name, or the newest of a line, with what was kept of the work after it."""
        drops, parts = self._dropped(contract), None
        if id is None and contract.saved is not None:
            id = next((one.id for one in contract.saved.lines if one.line == line), None)
        if id is None:
            state = newest_state(self._edge, contract, line, drops)
        else:
            # What was kept after a state stands in the run, too: where that stands still, so does this.
            kept = self._kept.get(line)
            if kept is None or (kept.position, kept.id) != (contract.position, id):
                found = state_and_parts(self._edge, contract.run, line, id, drops)
                kept = _Kept(contract.position, id, *found)
                if len(self._kept) >= LINES_KEPT:
                    self._kept = {}
                self._kept[line] = kept
            state, parts = kept.state, kept.parts
        return LookedUp(self._found(contract, state), contract.closed is not None, parts)

    def all(self, contract: Contract, before: int | None) -> Iterator[SavedState]:
        """Yield the states that are kept, the newest first."""
        return saved_states(self._edge, contract, self._dropped(contract), before=before)

    def parts(self, state: SavedState) -> list[SavedPart]:
        """Read what was kept of the work after a state."""
        return saved_parts(self._edge, state, self._drops)

    def parts_of_each(self, states: Sequence[SavedState]) -> list[list[SavedPart]]:
        """Read what was kept of the work after each of some states."""
        return parts_of_each(self._edge, states, self._drops)

    def contents(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read contents, verified; those that are gone are left out."""
        found = contents_of(self._edge, digests)
        return {digest: unframed(self._run, content) for digest, content in found.items()}

    def _dropped(self, contract: Contract) -> Drops:
        self._drops = drops = drops_of(self._edge, contract, self._drops)
        return drops

    @staticmethod
    def _found(contract: Contract, state: SavedState | None) -> FoundState:
        return FoundState(
            state, contract.position, None if contract.saved is None else contract.saved.dropped
        )


class RunStates:
    """The states that the program of a run saved. A state is read as of the moment it is asked for."""

    def __init__(self, reader: StateReader, look: Callable[[], Contract]) -> None:
        self._reader = reader
        self._look = look

    def newest(self, line: str | None = None) -> FoundState:
        """Find the state of a line that was saved last, branch or not."""
        return self._reader.newest(self._look(), line)

    def find(self, id: str, line: str | None = None) -> FoundState:
        """Find a state by its name."""
        return self._reader.find(self._look(), id, line)

    def look_up(self, id: str | None = None, line: str | None = None) -> LookedUp:
        """Find a state by its name, or the newest of a line, with what was kept of the work after it.

        It asks the store no more often than `find` does.
        """
        return self._reader.look_up(self._look(), id, line)

    def all(self, *, before: int | None = None) -> Iterator[SavedState]:
        """Yield the states of all lines that are kept, the newest first, without their contents.

        Args:
            before: only those that were saved before this position of the run.
        """
        return self._reader.all(self._look(), before)

    def parts(self, state: SavedState) -> list[SavedPart]:
        """Read what was kept of the work after a state, in the order in which it was kept."""
        return self._reader.parts(state)

    def parts_of_each(self, states: Sequence[SavedState]) -> list[list[SavedPart]]:
        """Read what was kept of the work after each of some states, as `parts` does for one.

        It asks the store once for a page of states, but for those that much was kept after.
        """
        return self._reader.parts_of_each(states)

    def contents(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read contents by their digests; those that are gone are left out.

        Raises:
            IntegrityError: a content is not what was written, or none of a state of this run.
        """
        return self._reader.contents(digests)
