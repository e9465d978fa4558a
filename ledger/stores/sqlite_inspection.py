"""Look at a SQLite file without changing it: is it a ledger, of which schema, are its guards in place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ledger.stores.scripts import migrations, statements
from ledger.stores.sqlite_errors import is_busy, translate, unavailable
from ledger.stores.sqlite_file import connect
from ledger.stores.sqlite_schema import recognise, supported_version


class Inspection(NamedTuple):
    """What a SQLite file looks like from outside."""

    schema: int
    """0: no ledger is in it."""
    supported: int
    """The newest schema this program knows."""
    journal_mode: str
    altered: tuple[str, ...]
    """Tables, indexes and triggers of the ledger that are missing or not as the migrations make them."""
    size: int
    """Bytes of the file."""
    log_size: int
    """Bytes of the write-ahead log beside it."""
    locked: bool
    """Another connection held the write lock all through `busy_seconds`."""


def schema_of(path: Path) -> int:
    """Return the schema version of a file, 0 where no ledger is in it.

    Raises:
        StoreUnavailable: there is no such file, or it is no database; `reason` says which.
        SchemaMismatch: a newer program has migrated it.
    """
    try:
        with closing(_existing(path)) as connection:
            return recognise(connection, path)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def inspect(path: Path, *, busy_seconds: float = 2.0) -> Inspection:
    """Look at a file that is a ledger, or might be.

    Raises:
        StoreUnavailable, SchemaMismatch: as `schema_of`.
    """
    try:
        with closing(_existing(path)) as connection:
            schema = recognise(connection, path)
            return Inspection(
                schema=schema,
                supported=supported_version(),
                journal_mode=connection.execute("PRAGMA journal_mode").fetchone()[0],
                altered=_altered(connection, schema),
                size=path.stat().st_size,
                log_size=_size(path.with_name(path.name + "-wal")),
                locked=_locked(connection, busy_seconds),
            )
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _existing(path: Path) -> sqlite3.Connection:
    # Not `mode=ro`: such a connection would leave the log's files behind when it is the last to close.
    path = path.absolute()
    if not path.exists():
        raise unavailable(path, "missing", "there is no such file")
    connection = connect(f"{path.as_uri()}?mode=rw")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _altered(connection: sqlite3.Connection, schema: int) -> tuple[str, ...]:
    """Compare the schema with what the migrations make in an empty database."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for step in migrations("sqlite")[:schema]:
            for statement in statements(step.script, sqlite3.complete_statement):
                fresh.execute(statement)
        found, expected = _objects(connection), _objects(fresh)
    return tuple(sorted(name for name, text in expected.items() if found.get(name) != text))


def _objects(connection: sqlite3.Connection) -> dict[str, str]:
    query = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    return dict(connection.execute(query).fetchall())


def _locked(connection: sqlite3.Connection, busy_seconds: float) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise
        return True
    connection.execute("ROLLBACK")
    return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
