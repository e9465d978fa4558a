"""Handles on runs and sources whose methods are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Unpack

from ledger import commands as c
from ledger.aio.checking import read_and_note
from ledger.aio.performing import Driver, Surroundings, block, perform
from ledger.aio.states import AsyncRunStates
from ledger.aio.turns import AsyncTurns
from ledger.application.acting import Doing
from ledger.application.acts import Options, RunActs
from ledger.application.loaded import Loaded
from ledger.application.performing import Block
from ledger.application.reading import loaded
from ledger.application.refreshing import Refreshed, Refreshing
from ledger.application.runs import known
from ledger.application.shared import Shared
from ledger.application.sources import SourceSayings
from ledger.application.statements import Context, Stated
from ledger.application.states import StateReader
from ledger.errors import StoreUnavailable
from ledger.gateway import protocol as p
from ledger.gateway.tools import Tool
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory
from ledger.run.permission import Permission
from ledger.run.sources import SourceState
from ledger.secrets import Secrets


class AsyncRun(RunActs[Coroutine[Any, Any, Stated]]):
    """A run, as one actor writes to it from an event loop: `Run` with everything awaited.

    What several tasks say to one run while an append is under way is decided together and appended once.
    A call that is cancelled has either said nothing or ends when its fate is known.

    Tools and probes are coroutine functions, awaited in the loop, or plain functions, called in threads with
    a copy of the caller's context. A cancelled coroutine function leaves its effect executing, as a crash
    does; of a plain one, which cannot be stopped, the outcome is awaited and recorded first.
    """

    def __init__(
        self,
        turns: AsyncTurns[Contract | None],
        context: Context,
        shared: Shared,
        around: Surroundings,
    ) -> None:
        super().__init__(context, shared.workshop)
        self._shared = shared
        self._turns = turns
        self._around = around
        self._states = AsyncRunStates(StateReader(shared.edge, self.id), self._contract, around.hands)

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

    @property
    def states(self) -> AsyncRunStates:
        """The states that its program saved."""
        return self._states

    async def load(self) -> Loaded:
        """Read the contract, the results its cursor needs and the messages of the window, as of one position.

        A constant number of queries, however long the run is.
        """
        contract = await self._contract()
        return await self._around.hands.read(partial(loaded, self._workshop.edge, contract))

    def effect(
        self, tool: Tool | str, args: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> AbstractAsyncContextManager[Block]:
        """Perform an act whose body is a block: `async with run.effect("refund", {...}) as effect:`.

        As `Run.effect`. A block that is cancelled leaves its effect executing, as a crash does.
        """
        one = self._enclosing(tool, args, options)
        return block(self._driver(one), one)

    async def refresh(self, *, all: bool = False) -> list[Refreshed]:
        """Look again at what something rests on and must not be relied on as it is; as `Run.refresh`.

        Readers of sources are called in a thread; who is cancelled meanwhile waits for them.
        """
        contract = await self._contract()
        refreshing = Refreshing(self._shared, contract, self._context, every=all)
        for checked, stated in await read_and_note(self._shared, refreshing.sources, self.do):
            refreshing.checked(checked, stated)
        for one in refreshing.acts():
            refreshing.asked(one, await self._driver(one.doing).run(p.observe(one.doing.act)))
        return refreshing.ended(await self._contract())

    async def ask(self, known: EffectHistory) -> str:
        """Find out what became of an effect, and record it; as `Run.ask`."""
        return (await self._find_out(known)).found

    async def _find_out(self, known: EffectHistory) -> p.Answer:
        """Ask, and return what the outside said too."""
        one = self._asking(known)
        return await self._driver(one).run(p.find_out(one.act))

    def _perform(self, one: Doing) -> Coroutine[Any, Any, Any]:
        return perform(self._driver(one), one)

    async def _weigh(self, one: Doing) -> Permission:
        found: Permission = await self._turns.weigh(*one.claiming())
        return await self._around.hands.read(partial(one.permitted, found, self._seen()))

    def _driver(self, one: Doing) -> Driver:
        return Driver(one, self._turns, self._around)

    def _seen(self) -> Contract:
        return known(self.id, self._turns.stream.state)

    async def _contract(self) -> Contract:
        return known(self.id, await self._turns.look())

    def _do(
        self, command: c.Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> Coroutine[Any, Any, Stated]:
        return self._turns.do(command, self._surrounded(command, context), expected=expected, again=again)


class AsyncSourceHandle(SourceSayings[Coroutine[Any, Any, Stated]]):
    """A source of constraints, as one actor writes to it from an event loop: `SourceHandle`, awaited."""

    def __init__(
        self, turns: AsyncTurns[SourceState], source: str, context: Context, secrets: Secrets
    ) -> None:
        super().__init__(source, context, secrets)
        self._turns = turns

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._turns.stream!r}>"

    @property
    def state(self) -> Awaitable[SourceState]:
        """What the source says now, to be awaited: `.items .revision .withdrawn .owners .position`."""
        return self._turns.look()

    def _do(self, command: c.Command) -> Coroutine[Any, Any, Stated]:
        return self._turns.do(command, self._context)

    async def _do_known(self, command: c.PublishRevision) -> Stated:
        self._check_known(command, await self.state)
        return await self._do(command)
