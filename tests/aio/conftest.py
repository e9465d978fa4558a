"""Ledgers for event loops, of both kinds, on the stores of the application's tests."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ledger import Actor, AsyncLedger, Ledger
from ledger.application.edge import Edge
from ledger.errors import LedgerError
from ledger.stores.base import Append, Appended, FullStore
from ledger.stores.commit import Group
from tests.application.conftest import SetClock
from tests.stores.conftest import KINDS


class Held:
    """A store whose commits a test can hold, count, and let fail."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self._free = threading.Event()
        self._free.set()
        self.begun = threading.Event()
        self.commits: list[list[Append]] = []
        self.fail: Callable[[Append], Exception | None] = lambda append: None
        self._group: Group[Append, Appended] = Group(self._commit, lambda append: 1, max_waiting=100)

    def append(self, append: Append) -> Appended:
        return self.admit(append).submit(append)

    def admit(self, append: Append) -> Group[Append, Appended]:
        return self._group

    def _commit(self, batch: list[Append]) -> list[Appended | Exception]:
        self.begun.set()
        assert self._free.wait(30)
        self.commits.append(batch)
        return [self._settle(append) for append in batch]

    def _settle(self, append: Append) -> Appended | Exception:
        error = self.fail(append)
        if error is not None:
            return error
        try:
            return self._store.append(append)
        except LedgerError as refused:
            return refused

    @property
    def waiting(self) -> int:
        """How many appends wait for the next commit."""
        return len(self._group._queue)

    def let_go(self) -> None:
        """Let commits end again."""
        self._free.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no commit end inside of this."""
        self._free.clear()
        self.begun.clear()
        try:
            yield
        finally:
            self._free.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullStore]:
    store = KINDS[request.param](tmp_path)
    yield store
    store.close()


@pytest.fixture
def held(store: FullStore) -> Held:
    return Held(store)


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks go on until something is the case."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.lowlevel.checkpoint()


def edge_on(store: Any) -> Edge:
    return Edge(store, "default", Actor("service:tests"), SetClock(), pause=lambda attempt: None)


@pytest.fixture
async def ledger(held: Held, anyio_backend: str) -> AsyncIterator[AsyncLedger]:
    async with AsyncLedger(Ledger(edge_on(held))) as ledger:
        yield ledger
