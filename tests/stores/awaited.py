"""A store whose appends come from an event loop, for the suite that every store has to pass."""

from __future__ import annotations

from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal

from ledger.aio.hands import Hands
from ledger.application.steps import Send, Steps
from ledger.stores.base import Append, Appended, FullStore


class Awaited:
    """Appends are awaited in a loop of their own; everything else is the store's."""

    def __init__(self, store: FullStore, backend: str = "asyncio") -> None:
        self._store = store
        self._portal = start_blocking_portal(backend)
        self._loop = self._portal.__enter__()
        self._hands = self._loop.call(self._hands_of_loop)
        self._closed = False

    def append(self, append: Append) -> Appended:
        if self._closed:
            return self._store.append(append)
        return self._loop.call(self._append, append)

    def close(self) -> None:
        self._store.close()
        if not self._closed:
            self._closed = True
            self._hands.close()
            self._portal.__exit__(None, None, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def _hands_of_loop(self) -> Hands:
        return Hands(self._store)

    async def _append(self, append: Append) -> Appended:
        answered = anyio.Event()
        outcomes: list[Any] = []

        def done(outcome: Any) -> None:
            outcomes.append(outcome)
            answered.set()

        self._hands.perform(_sent(append), done)
        await answered.wait()
        (outcome,) = outcomes
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, Appended)
        return outcome


def _sent(append: Append) -> Steps[Appended]:
    appended: Appended = yield Send(append)
    return appended
