"""A small ledger in a list for every test to meddle with, and one in a SQLite file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Source, open_ledger
from ledger.integrity.verify import Report, verify
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from ledger.stores.sqlite_inspection import SQLiteStorage
from tests.integrity.book import Book

RUN, OTHER, POLICY = "refund-17", "refund-18", "$source:policy:refunds"

Look = Callable[..., Report]
Meddle = Callable[..., int]


@pytest.fixture
def book() -> Book:
    """Write the sample anew."""
    return Book.sample()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a ledger through its public names."""
    path = tmp_path / "ledger.db"
    with open_ledger(path, actor=Actor("agent:refunds", session="s-1")) as ledger:
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
    return path


@pytest.fixture
def meddle(file: Path) -> Callable[..., int]:
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
def look(file: Path) -> Callable[..., Report]:
    """Verify the file."""

    def run(**options: Any) -> Report:
        store: FullStore = open_store(file)
        with closing(store), SQLiteStorage(file) as storage:
            return verify(store, "default", storage=storage, **options)

    return run
