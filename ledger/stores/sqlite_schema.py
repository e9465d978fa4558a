"""The schema of a SQLite ledger: which one a file has, and how it gets this program's."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ledger.errors import SchemaMismatch
from ledger.stores.scripts import migrations, statements
from ledger.stores.sqlite_errors import unavailable


def supported_version() -> int:
    """Return the newest schema this program knows."""
    return migrations("sqlite")[-1].version


def recognise(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a file, 0 where the ledger has no tables in it yet.

    Other programs may keep tables of theirs in the same file.

    Raises:
        SchemaMismatch: a newer program has migrated it.
        StoreUnavailable: a table of the ledger's name is somebody else's.
    """
    tables = _tables(connection)
    if "ledger_migrations" not in tables:
        if "events" in tables:
            raise unavailable(path, "not_a_ledger", "another program keeps a table `events` in this database")
        return 0
    found: int = connection.execute("SELECT coalesce(max(version), 0) FROM ledger_migrations").fetchone()[0]
    supported = supported_version()
    if found > supported:
        raise SchemaMismatch(
            f"{path} has schema {found}, this program knows up to {supported}: upgrade intent-ledger",
            found=found,
            supported=supported,
        )
    return found


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file to this program's schema, all steps in one transaction; nothing is done where it has it.

    Raises:
        SchemaMismatch, StoreUnavailable: as `recognise`.
    """
    if recognise(connection, path) == supported_version():
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again: another process may have been here since.
        for step in migrations("sqlite")[recognise(connection, path) :]:
            for statement in statements(step.script, sqlite3.complete_statement):
                connection.execute(statement)
            connection.execute("INSERT INTO ledger_migrations VALUES (?, ?)", (step.version, step.name))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _tables(connection: sqlite3.Connection) -> set[str]:
    # All in one statement: between two, another thread or process may create the ledger.
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
