"""A small ledger in a list for every test to meddle with, and one in a SQLite file and in PostgreSQL."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Source, open_ledger
from ledger.integrity.verify import Report, verify
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from ledger.stores.sqlite_inspection import SQLiteStorage
from tests.integrity.book import Book
from tests.integrity.served import Served, copied, template
from tests.servers import cluster
from tests.stores.secured import Secured

RUN, OTHER, POLICY = "refund-17", "refund-18", "$source:policy:refunds"
LAST = 44
"""Position of the last event of the run."""

Look = Callable[..., Report]
Meddle = Callable[..., int]


@pytest.fixture
def book() -> Book:
    """Write the sample anew."""
    return Book.sample()


def write(address: str | Path) -> None:
    """Write a ledger through its public names."""
    with open_ledger(address, actor=Actor("agent:refunds", session="s-1")) as ledger:
        policy = ledger.source("policy:refunds", actor=Actor("human:kim"))
        policy.publish("1", {"limit": "Never more than 100 EUR", "kind": "Be kind"})
        run = ledger.open_run(RUN, goal="Refund order 17")
        run.accept(
            "limit",
            "Never more than 100 EUR",
            source=Source("policy", "refunds", revision="1"),
            asserted_by="human:kim",
        )
        for number in range(40):
            run.record_message(f"m-{number}", "user", {"text": "x" * 100, "n": number})
        run.revise_goal("Refund order 17 and say so", reason="asked", by="human:kim")
        reviewed = ledger.run(RUN, actor=Actor("human:lee"))
        reviewed.sign_review("reviewed", by="human:lee")
        ledger.open_run(OTHER, goal="Refund order 18")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a ledger into a file."""
    path = tmp_path / "ledger.db"
    write(path)
    return path


@pytest.fixture
def meddle(file: Path) -> Meddle:
    """Run a statement on the file as somebody with its password could; return how many rows it touched."""

    def run(statement: str, *parameters: Any) -> int:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            return connection.execute(statement, parameters).rowcount

    return run


@pytest.fixture
def look(file: Path) -> Look:
    """Verify the file."""

    def run(**options: Any) -> Report:
        store: FullStore = open_store(file)
        with closing(store), SQLiteStorage(file) as storage:
            return verify(store, "default", storage=storage, **options)

    return run


@dataclass(frozen=True)
class Attacked:
    """A ledger that a test meddles with past the store and then verifies."""

    look: Look
    meddle: Meddle
    """Run a statement with `?` for its values and all guards off; return how many rows it touched."""
    rows: Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=["sqlite", *cluster.kinds()])
def attacked(request: pytest.FixtureRequest) -> Attacked:
    """Return the ledger in each store that keeps it."""
    if request.param != "sqlite":
        served: Served = request.getfixturevalue("served_by")(request.param)
        return Attacked(served.look, served.meddle, served.rows)
    file: Path = request.getfixturevalue("file")

    def rows(query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(query).fetchall()

    return Attacked(request.getfixturevalue("look"), request.getfixturevalue("meddle"), rows)


@pytest.fixture
def served_by(templates: Callable[[str], Secured]) -> Iterator[Callable[[str], Served]]:
    """Return a function that copies the ledger into a database of its own on a kind of server."""
    with ExitStack() as stack:
        yield lambda kind: stack.enter_context(copied(templates(kind)))


@pytest.fixture(params=cluster.kinds())
def served(request: pytest.FixtureRequest, served_by: Callable[[str], Served]) -> Served:
    """Return the ledger on each kind of PostgreSQL."""
    return served_by(request.param)


@pytest.fixture(scope="session")
def templates() -> Callable[[str], Secured]:
    """Return a function that writes the ledger once on a kind of server, to be copied."""
    return cache(lambda kind: template(cluster.shared(kind), write))
