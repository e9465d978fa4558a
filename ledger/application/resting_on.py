"""What saved states of a run are read with: contents that stay as long as one of these states does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from ledger.application.edge import Edge
from ledger.application.reading import contents_of
from ledger.application.saved_states import SavedPart, SavedState
from ledger.application.state_sayings import unframed
from ledger.canonical import invalid
from ledger.errors import IntegrityError, UndecodableRecord

__all__ = ["Fetch", "Resting", "RestingOn"]

Fetch = Callable[[Collection[bytes]], Mapping[bytes, bytes]]
"""Reads contents by their digests; those that are gone are left out."""
_CACHED = 32 * 1024 * 1024
"""Bytes of contents that are held, since states rest on the same."""


class Resting(Protocol):
    """Knows how states are read that rest on others: whoever wrote their contents."""

    def read(self, state: SavedState, content: bytes, fetch: Fetch) -> object:
        """Read a state, all of it, through `fetch`; raise where it cannot be read."""


class RestingOn:
    """Reads states of a run that stay, each once, and notes what it was read with."""

    def __init__(self, edge: Edge, run: str, resting: Resting | None) -> None:
        """Read by what knows how; None: the states are all whole."""
        self._run = run
        self._resting = resting
        self._contents = _Contents(edge, run)
        self._read: set[bytes] = set()
        self._needed: set[bytes] = set()

    def needed(self, stays: Sequence[SavedState | SavedPart]) -> Collection[bytes]:
        """List the contents, by digest, that states and parts need that stay, or stayed when last asked.

        Raises:
            InvalidInput: a state rests on others, and nobody knows how it is read.
            IntegrityError, UndecodableRecord: a state cannot be read.
        """
        self._needed.update(one.digest for one in stays)
        for one in stays:
            if isinstance(one, SavedState) and one.digest not in self._read:
                self._note(one)
                self._read.add(one.digest)
        return self._needed

    def _note(self, state: SavedState) -> None:
        def fetch(digests: Collection[bytes]) -> Mapping[bytes, bytes]:
            self._needed.update(digests)
            return self._contents.fetch(digests)

        with _told(state):
            content = self._contents.fetch([state.digest]).get(state.digest)
            if content is None:
                raise IntegrityError(
                    f"the content of state {state.id!r} of {self._run!r} is gone", digest=state.digest.hex()
                )
            if self._resting is not None:
                self._resting.read(state, content, fetch)
            elif not state.whole:
                raise invalid("resting", f"state {state.id!r} rests on others: say how it is read")


class _Contents:
    """Contents of the states of a run; those that were read last are held."""

    def __init__(self, edge: Edge, run: str) -> None:
        self._edge = edge
        self._run = run
        self._held: dict[bytes, bytes] = {}
        self._size = 0

    def fetch(self, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        wanted = [digest for digest in digests if digest not in self._held]
        if not wanted:
            return {digest: self._held[digest] for digest in digests}
        found = {
            digest: unframed(self._run, content)
            for digest, content in contents_of(self._edge, wanted).items()
        }
        found.update((digest, self._held[digest]) for digest in digests if digest in self._held)
        if self._size > _CACHED:
            self._held.clear()
            self._size = 0
        self._size += sum(len(found[digest]) for digest in wanted if digest in found)
        self._held.update(found)
        return found


@contextmanager
def _told(state: SavedState) -> Iterator[None]:
    """Tell which state it is that cannot be read."""
    try:
        yield
    except (UndecodableRecord, IntegrityError) as error:
        raise type(error)(
            f"state {state.id!r} of {state.run!r} would stay and cannot be read, so nothing goes; drop it by "
            f"name, too: {error}",
            **{**error.data, "run": state.run, "state": state.id, "position": state.position},
        ) from error
