"""Ledgers on each kind of store, with a clock that stands until it is set."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.errors import PositionConflict, StoreBusy
from ledger.stores.base import Append, Appended, FullStore
from tests.stores.conftest import KINDS


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullStore]:
    store = KINDS[request.param](tmp_path)
    yield store
    store.close()


class Wrapped:
    """A store that lets a test step in before or after an append."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.before: Callable[[Append], None] = lambda append: None
        self.after: Callable[[Append], None] = lambda append: None
        self.reads = 0

    def append(self, append: Append) -> Appended:
        self.before(append)
        result = self._store.append(append)
        self.after(append)
        return result

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in ("read", "load"):
            self.reads += 1
        return found


@pytest.fixture
def wrapped(store: FullStore) -> Any:
    return Wrapped(store)


def get_through(say: Callable[[], object]) -> None:
    """Say something beside rivals that never pause, who may win every race of one call or keep the lock."""
    while True:
        try:
            say()
        except (PositionConflict, StoreBusy):
            continue
        return


OpenLedger = Callable[..., Ledger]


@pytest.fixture
def open_on(store: FullStore, clock: SetClock) -> OpenLedger:
    """Open another ledger on the same store."""

    def open_one(tenant: str = "default", store: FullStore = store) -> Ledger:
        return Ledger(Edge(store, tenant, Actor("service:tests"), clock, pause=lambda attempt: None))

    return open_one


@pytest.fixture
def ledger(open_on: OpenLedger) -> Ledger:
    return open_on()
