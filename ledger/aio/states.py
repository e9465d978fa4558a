"""The states that the program of a run saved, for an event loop: as `RunStates`, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from ledger.aio.hands import Hands
from ledger.application.saved_states import PAGE, SavedPart, SavedState
from ledger.application.states import FoundState, LookedUp, StateReader
from ledger.run.contract import Contract


class AsyncRunStates:
    """The states that the program of a run saved. A state is read as of the moment it is asked for."""

    def __init__(self, reader: StateReader, look: Callable[[], Awaitable[Contract]], hands: Hands) -> None:
        self._reader = reader
        self._look = look
        self._hands = hands

    async def newest(self, line: str | None = None) -> FoundState:
        """Find the state of a line that was saved last, branch or not."""
        return await self._hands.read(partial(self._reader.newest, await self._look(), line))

    async def find(self, id: str, line: str | None = None) -> FoundState:
        """Find a state by its name."""
        return await self._hands.read(partial(self._reader.find, await self._look(), id, line))

    async def look_up(self, id: str | None = None, line: str | None = None) -> LookedUp:
        """Find a state by its name, or the newest of a line, with what was kept of the work after it."""
        return await self._hands.read(partial(self._reader.look_up, await self._look(), id, line))

    async def all(self, *, before: int | None = None) -> AsyncIterator[SavedState]:
        """Yield the states of all lines that are kept, the newest first, without their contents."""
        states = self._reader.all(await self._look(), before)
        while page := await self._hands.read(lambda: list(islice(states, PAGE))):
            for state in page:
                yield state

    async def parts(self, state: SavedState) -> list[SavedPart]:
        """Read what was kept of the work after a state, in the order in which it was kept."""
        return await self._hands.read(partial(self._reader.parts, state))

    async def parts_of_each(self, states: Sequence[SavedState]) -> list[list[SavedPart]]:
        """Read what was kept of the work after each of some states, as `parts` does for one."""
        return await self._hands.read(partial(self._reader.parts_of_each, states))

    async def contents(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read contents by their digests; those that are gone are left out."""
        return await self._hands.read(partial(self._reader.contents, digests))
