"""The yardstick: the same bytes through Python's sqlite3 alone, as durable as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path

from ledger.record import Row

_TABLE = """
CREATE TABLE events (
    gid INTEGER PRIMARY KEY, tenant TEXT NOT NULL, run TEXT NOT NULL, position INTEGER NOT NULL,
    hash BLOB NOT NULL, key BLOB, act BLOB, claim BLOB, record BLOB NOT NULL
)
"""
_INSERT = "INSERT INTO events (tenant, run, position, hash, key, act, claim, record) VALUES (?,?,?,?,?,?,?,?)"


def connect(path: Path) -> sqlite3.Connection:
    """Connect as durably as the ledger does: WAL, a sync with each commit."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def create(path: Path) -> sqlite3.Connection:
    """Create the table and the one index that a position needs."""
    connection = connect(path)
    connection.execute(_TABLE)
    connection.execute("CREATE UNIQUE INDEX events_place ON events (tenant, run, position)")
    return connection


def insert(connection: sqlite3.Connection, run: str, row: Row) -> None:
    """Insert one row in a transaction of its own."""
    connection.execute(
        _INSERT, ("default", run, row.position, row.hash, row.key, row.act, row.claim, row.record)
    )


def writer(connection: sqlite3.Connection, run: str, row: Row) -> Callable[[], None]:
    """Return a step that inserts a row behind the ones before."""
    places = count(1)
    return lambda: insert(connection, run, row._replace(position=next(places)))
