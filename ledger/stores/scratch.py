"""Rows of read models that nobody keeps: made once more, only to be compared.

They lie in a database that SQLite makes for one connection. It grows on the disk where memory is full, and is
gone with the connection, also when the process is killed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ledger.errors import InvalidInput
from ledger.stores.read_model_sql import column_names, creation, listed, table_name, upsert
from ledger.stores.read_models import Changes, Key, Model, Row, Table
from ledger.stores.sqlite_errors import is_of_input, translate
from ledger.stores.sqlite_read_models import TYPES

_TENANT = ""
_WHERE = Path("the database for rows that are compared")


class Scratch:
    """Tables of read models of one tenant, as `ledger.stores.read_models.Kept` has them, without a cursor.

    Raises:
        StoreUnavailable: the disk on which temporary files lie is full, or has failed.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self, model: Model) -> None:
        """Make the tables of a model, without a row; what they held is gone."""

        def step() -> None:
            for table in model.tables:
                self._connection.execute(f'DROP TABLE IF EXISTS "{table_name(model, table)}"')
                for statement in creation(model, table._replace(indexes=()), TYPES):
                    self._connection.execute(statement)

        self._in_one(step)

    def rows(self, model: Model, table: str, keys: Iterable[Key]) -> dict[Key, Row]:
        """Read rows by key; those that are not there are left out."""
        declared = model.table(table)
        where = " AND ".join(f'"{name}" = ?' for name in ("tenant", *declared.key))
        query = f"{_select(model, declared)} WHERE {where}"
        with _translated():
            found = ((key, self._connection.execute(query, (_TENANT, *key)).fetchone()) for key in keys)
            return {key: row for key, row in found if row is not None}

    def page(self, model: Model, table: str, *, after: Key | None, limit: int) -> list[Row]:
        """Read rows in the order of their keys, after a key."""
        declared = model.table(table)
        key = listed(declared.key)
        behind = "" if after is None else f" AND ({key}) > ({', '.join('?' * len(after))})"
        query = f'{_select(model, declared)} WHERE "tenant" = ?{behind} ORDER BY {key} LIMIT ?'
        with _translated():
            return self._connection.execute(query, (_TENANT, *(after or ()), limit)).fetchall()

    def write(self, model: Model, changes: Changes) -> None:
        """Store what a page changes: all of it, or nothing.

        Raises:
            InvalidInput: a row cannot be stored.
        """
        self._in_one(lambda: self._write(model, changes))

    def _write(self, model: Model, changes: Changes) -> None:
        for name, of in changes.items():
            table = model.table(name)
            gone = [(_TENANT, *key) for key, row in of.items() if row is None]
            if gone:
                where = " AND ".join(f'"{column}" = ?' for column in ("tenant", *table.key))
                query = f'DELETE FROM "{table_name(model, table)}" WHERE {where}'
                self._connection.executemany(query, gone)
            rows: list[tuple[Any, ...]] = [(_TENANT, *row) for row in of.values() if row is not None]
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self._connection.executemany(upsert(model, table, f"VALUES ({marks})"), rows)

    def _in_one(self, step: Callable[[], None]) -> None:
        with _translated():
            self._connection.execute("BEGIN")
            try:
                step()
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Lend tables that are gone at the end."""
    # Whoever asks for a look may be answered in another thread.
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False, cached_statements=256)
    with closing(connection):
        for setting in ("temp_store = FILE", "synchronous = OFF", "cache_size = -16384"):
            connection.execute(f"PRAGMA {setting}")
        yield Scratch(connection)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if is_of_input(error):
            raise InvalidInput(
                f"SQLite cannot store these rows: {error}", path="rows", reason=str(error)
            ) from error
        raise translate(error, _WHERE) from error


def _select(model: Model, table: Table) -> str:
    return f'SELECT {listed(column_names(table))} FROM "{table_name(model, table)}"'
