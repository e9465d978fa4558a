"""The desk that clients speak to: one ledger, one actor, and the runs that it is at work on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from datetime import datetime
from weakref import WeakValueDictionary

import anyio

from ledger.aio.handles import AsyncRun
from ledger.aio.ledger import AsyncLedger
from ledger.application.ledger import Ledger, edge_of, shared_of
from ledger.gateway.tools import Tool
from ledger.stores.opening import file_of, is_postgres
from ledger.values import Actor, Runtime

_HANDLES = 1000
"""Runs of which it is remembered in which incarnation they were joined."""


class Desk:
    """What one server serves.

    It belongs to the event loop it is made in. A run is joined when it is first written to; when somebody
    else resumes it after that, what is asked of it here is `Superseded`, until the gate was asked again.
    """

    def __init__(
        self,
        ledger: Ledger,
        actor: Actor,
        *,
        runtime: Runtime | None = None,
        tools: Iterable[Tool] = (),
        url: str = "",
    ) -> None:
        self.ledger = ledger
        """For what has no awaited face: to be called in a thread."""
        self.awaited = AsyncLedger(ledger)
        self.actor = actor
        self.runtime = runtime
        for tool in tools:
            self.awaited.register(tool)
        self.tools = frozenset(shared_of(ledger).workshop.tools)
        """Tools whose declarations are known; empty: none was named when the server was started."""
        self.secrets = shared_of(ledger).workshop.secrets
        """What is taken for a secret here."""
        self.hidden = _hidden(url)
        """Texts that no answer tells."""
        self._handles: OrderedDict[str, AsyncRun] = OrderedDict()
        self._turns: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    def beside(self, actor: Actor) -> Desk:
        """Return a desk for another actor, who speaks to the same ledger of the same tools."""
        other = copy(self)
        other.actor = actor
        other._handles = OrderedDict()
        return other

    async def handle(self, run: str) -> AsyncRun:
        """Return the handle by which a run is written to.

        Raises:
            RunNotFound: no such run was opened.
        """
        known = self._handles.get(run)
        if known is not None:
            self._handles.move_to_end(run)
            return known
        found = await self.awaited.run(run, actor=self.actor)
        # Somebody may have joined it meanwhile; then that incarnation counts.
        return self._handles.get(run) or self.keep(found)

    def keep(self, handle: AsyncRun) -> AsyncRun:
        """Write to a run by this handle from now on."""
        self._handles[handle.id] = handle
        self._handles.move_to_end(handle.id)
        if len(self._handles) > _HANDLES:
            self._handles.popitem(last=False)
        return handle

    def turn(self, run: str) -> anyio.Lock:
        """Return what calls to a run hold that must not be made side by side."""
        return self._turns.setdefault(run, anyio.Lock())

    def now(self) -> datetime:
        """Return the time by the clock of the ledger."""
        return edge_of(self.ledger).now()

    async def close(self) -> None:
        """Release the ledger."""
        await self.awaited.close()


def _hidden(url: str) -> tuple[str, ...]:
    if not url:
        return ()
    if is_postgres(url):
        return (url,)
    path = file_of(url)
    if path is None:
        return ()
    # A bare word, as `input`, says nothing of the machine, and may stand in any text; so may `/`.
    names = {
        str(path.absolute()),
        str(path.absolute().parent),
        *(one for one in (url, str(path)) if "/" in one),
    }
    return tuple(sorted((name for name in names if len(name) > 3), key=len, reverse=True))
