"""Ledgers on each kind of store, with a clock that stands until it is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.stores.base import FullStore
from tests.stores.conftest import KINDS


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture(autouse=True, scope="package")
def impatient() -> Iterator[None]:
    """Let runners with nothing to do look again sooner than in life, where a fifth of a second is no loss."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("projections.rounds.WAIT_SECONDS", 0.02)
        yield


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullStore]:
    store = KINDS[request.param](tmp_path)
    yield store
    store.close()


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
