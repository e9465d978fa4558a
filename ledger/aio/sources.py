"""All sources of a ledger for an event loop: the names of `Sources`, awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio.to_thread

from ledger.aio.checking import check_due
from ledger.aio.handles import AsyncRun
from ledger.aio.hands import Hands
from ledger.application.all_sources import Readable, every_source, one_source
from ledger.application.checking import Checked, read_source
from ledger.application.shared import Shared
from ledger.run.sources import SourceState


class AsyncSources(Readable):
    """The sources of a ledger. Called and awaited, it reads every source stream of the tenant, by id."""

    def __init__(self, shared: Shared, hands: Hands, run: Callable[[str], Awaitable[AsyncRun]]) -> None:
        super().__init__(shared)
        self._hands = hands
        self._run = run

    async def __call__(self) -> dict[str, SourceState]:
        """Read every source stream of the tenant, by id."""
        return await self._hands.read(partial(every_source, self._shared.edge))

    async def check(
        self, source: str | None = None, *, run: AsyncRun | str | None = None, force: bool = False
    ) -> list[Checked]:
        """Read one source outside, or those of a run's constraints; as `Sources.check`.

        Readers are called in a thread; who is cancelled meanwhile waits for them.
        """
        self._hands.loop.check()
        if source is not None or run is None:
            named = one_source(source, run)
            return [await anyio.to_thread.run_sync(read_source, self._shared, named)]
        handle = await self._run(run) if isinstance(run, str) else run
        return await check_due(self._shared, await handle.contract, handle.do, force=force)
