"""Ledgers in memory, on SQLite and on PostgreSQL, with a clock that a test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.stores.opening import open_store
from ledger.testing import Clock
from tests.stores.conftest import KINDS

Another = Callable[[], Ledger]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    """Return an empty ledger of each kind."""
    edge = Edge(KINDS[request.param](tmp_path), "default", Actor("service:tests"), clock)
    with Ledger(edge) as ledger:
        yield ledger


@pytest.fixture
def another(ledger: Ledger, clock: Clock) -> Another:
    """Return a function that opens a further ledger on the same store: it remembers nothing."""
    return lambda: Ledger(Edge(ledger.store, ledger.tenant, ledger.actor, clock))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def on_file(file: Path, clock: Clock) -> Iterator[Another]:
    """Return a function that opens a ledger on the same SQLite file, with connections of its own."""

    def opened() -> Ledger:
        # Who loses a race tries again at once: in these tests nobody is about to give way.
        edge = Edge(open_store(file), "default", Actor("service:tests"), clock, pause=lambda attempt: None)
        return stack.enter_context(Ledger(edge))

    with ExitStack() as stack:
        yield opened
