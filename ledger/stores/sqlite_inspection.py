"""Look at a SQLite file without changing it: is it a ledger, of which schema, are its guards in place."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ledger.integrity.reader import Content, Kept
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


def schema_of(path: Path, *, busy_seconds: float = 10.0) -> int:
    """Return the schema version of a file, 0 where no ledger is in it.

    Raises:
        StoreUnavailable: there is no such file, or it is no database; `reason` says which.
        SchemaMismatch: a newer program has migrated it.
        StoreBusy: another process kept it locked all through `busy_seconds`.
    """
    try:
        with closing(_existing(path, busy_seconds)) as connection:
            return recognise(connection, path)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def inspect(path: Path, *, busy_seconds: float = 2.0) -> Inspection:
    """Look at a file that is a ledger, or might be.

    Raises:
        StoreUnavailable, SchemaMismatch, StoreBusy: as `schema_of`.
    """
    try:
        with closing(_existing(path, busy_seconds)) as connection:
            schema = recognise(connection, path)
            return Inspection(
                schema=schema,
                supported=supported_version(),
                journal_mode=connection.execute("PRAGMA journal_mode").fetchone()[0],
                altered=_altered(connection, schema),
                size=path.stat().st_size,
                log_size=_size(path.with_name(path.name + "-wal")),
                locked=_locked(connection),
            )
    except sqlite3.Error as error:
        raise translate(error, path) from error


class SQLiteStorage:
    """What a SQLite file says of itself to a verification; see `ledger.integrity.reader.Storage`.

    It has a connection of its own and writes nothing. Text that is no UTF-8 comes back as bytes, so that one
    such value hides no other. Global positions are dense: a row takes the highest one plus one, in the
    transaction that stores it, and none is deleted.

    Raises:
        StoreUnavailable: there is no such file.
    """

    dense = True

    def __init__(self, path: Path, *, busy_seconds: float = 10.0) -> None:
        self._path = path
        self._connection = _existing(path, busy_seconds)
        self._connection.text_factory = _text
        self._connection.execute("PRAGMA query_only = ON")

    def __enter__(self) -> SQLiteStorage:
        return self

    def __exit__(self, *raised: object) -> None:
        self._connection.close()

    def damage(self) -> Iterator[str]:
        """Run SQLite's own check, which compares tables and indexes too; it says at most 100 things."""
        return (str(what) for (what,) in self._rows("PRAGMA integrity_check(100)") if what != "ok")

    def unguarded(self) -> tuple[str, ...]:
        """List tables, indexes and triggers that are not as the migrations make them."""
        try:
            return _altered(self._connection, recognise(self._connection, self._path))
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def unseen(self, tenant: str) -> tuple[str, ...]:
        """Say that who can read the file is shown all of it."""
        return ()

    def sees_every_tenant(self) -> bool:
        """Say so too."""
        return True

    def kept(self) -> Iterator[Kept]:
        """Name snapshots, heads and contents of all tenants."""
        return map(Kept._make, self._rows(_KEPT))

    def contents(self, tenant: str, digests: Iterable[bytes]) -> Iterator[Content]:
        """Read every row of content that has one of some digests, one at a time."""
        wanted = list(digests)
        marks = ", ".join("?" * len(wanted))
        query = f"{_CONTENTS} ({marks})"
        return map(Content._make, self._rows(query, tenant, *wanted))

    def _rows(self, query: str, *parameters: object) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(query, parameters)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error


_CONTENTS = "SELECT digest, kind, content, expires_at FROM blobs WHERE tenant = ? AND digest IN"

_KEPT = """
SELECT DISTINCT 'snapshot', tenant, run FROM snapshots
UNION ALL SELECT 'head', tenant, stream FROM heads
UNION ALL SELECT 'content', tenant, digest FROM blobs
"""


def _text(stored: bytes) -> str | bytes:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def _existing(path: Path, busy_seconds: float) -> sqlite3.Connection:
    # Not `mode=ro`: such a connection would leave the log's files behind when it is the last to close.
    path = path.absolute()
    if not path.exists():
        raise unavailable(path, "missing", "there is no such file")
    connection = connect(f"{path.as_uri()}?mode=rw")
    connection.execute("PRAGMA trusted_schema = OFF")
    # Who only looks waits while whoever was the last to use the file closes it, or it is being recovered.
    connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")
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


def _locked(connection: sqlite3.Connection) -> bool:
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
