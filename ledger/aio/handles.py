"""Handles on runs and sources whose methods are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ledger import commands as c
from ledger.aio.turns import AsyncTurns
from ledger.application.loaded import Loaded
from ledger.application.runs import known
from ledger.application.sayings import RunSayings
from ledger.application.sources import SourceSayings
from ledger.application.statements import Context, Stated
from ledger.errors import StoreUnavailable
from ledger.run.contract import Contract
from ledger.run.sources import SourceState


class AsyncRun(RunSayings[Coroutine[Any, Any, Stated]]):
    """A run, as one actor writes to it from an event loop: `Run` with everything awaited.

    What several tasks say to one run while an append is under way is decided together and appended once.
    A call that is cancelled has either said nothing or ends when its fate is known.
    """

    def __init__(
        self,
        turns: AsyncTurns[Contract | None],
        context: Context,
        loader: Callable[[Contract], Awaitable[Loaded]],
    ) -> None:
        super().__init__(context)
        self._turns = turns
        self._loader = loader

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._turns.stream!r}>"

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._turns.stream.name

    @property
    def contract(self) -> Awaitable[Contract]:
        """The contract in force, to be awaited: the fold at the present position, read from the store."""
        return self._contract()

    @property
    def position(self) -> int:
        """Position this ledger has seen of the run; others may have gone on."""
        return self._turns.stream.position

    async def load(self) -> Loaded:
        """Read the contract, the results its cursor needs and the messages of the window, as of one position.

        A constant number of queries, however long the run is.
        """
        return await self._loader(await self._contract())

    async def _contract(self) -> Contract:
        return known(self.id, await self._turns.look())

    def _do(
        self, command: c.Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> Coroutine[Any, Any, Stated]:
        return self._turns.do(command, context, expected=expected, again=again)


class AsyncSourceHandle(SourceSayings[Coroutine[Any, Any, Stated]]):
    """A source of constraints, as one actor writes to it from an event loop: `SourceHandle`, awaited."""

    def __init__(self, turns: AsyncTurns[SourceState], source: str, context: Context) -> None:
        super().__init__(source, context)
        self._turns = turns

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._turns.stream!r}>"

    @property
    def state(self) -> Awaitable[SourceState]:
        """What the source says now, to be awaited: `.items .revision .withdrawn .owners .position`."""
        return self._turns.look()

    def _do(self, command: c.Command) -> Coroutine[Any, Any, Stated]:
        return self._turns.do(command, self._context)
