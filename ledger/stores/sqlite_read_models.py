"""Read models in the file of the ledger: their changes share the one lock for writing with appends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ledger.errors import InvalidInput
from ledger.stores.read_model_queries import Dialect, rendered
from ledger.stores.read_model_sql import column_names, creation, listed, table_name, upsert
from ledger.stores.read_models import (
    Advance,
    Behind,
    Cursor,
    Key,
    Kind,
    Look,
    Model,
    Reached,
    Row,
    Table,
    Tables,
    Values,
    cells_of,
    fenced,
    may_take,
    reached_of,
)
from ledger.stores.scripts import queries
from ledger.stores.sqlite_errors import is_of_input
from ledger.stores.sqlite_readers import Readers
from ledger.stores.sqlite_writer import Writer
from ledger.stores.stamps import system_clock
from ledger.values.times import read_time, write_time

T = TypeVar("T")

TYPES: Mapping[Kind, str] = {"text": "TEXT", "integer": "INTEGER", "bytes": "BLOB"}

DIALECT = Dialect(mark=lambda number, cell: f"?{number}")


class SQLiteReadModels:
    """See `ledger.stores.read_models.ReadModels`."""

    def __init__(self, writer: Writer, readers: Readers) -> None:
        self._writer = writer
        self._readers = readers
        self._sql = queries("sqlite", "projections")

    def columns(self, model: Model) -> dict[str, tuple[str, ...]]:
        return self._readers.fetch_as_of_one_moment(lambda connection: self._columns(connection, model))

    def create(self, model: Model) -> None:
        def step(cursor: sqlite3.Cursor) -> None:
            # Asked here: another process may make them at the same time.
            there = self._columns(cursor, model)
            for table in model.tables:
                if table.name not in there:
                    for statement in creation(model, table, TYPES):
                        cursor.execute(statement)

        self._writer.run(step)

    def rows(self, tenant: str, model: Model, table: str, keys: Iterable[Key]) -> dict[Key, Row]:
        declared = model.table(table)
        where = " AND ".join(f'"{name}" = ?' for name in ("tenant", *declared.key))
        query = _select(model, declared) + f" WHERE {where}"

        def step(connection: sqlite3.Connection) -> dict[Key, Row]:
            found = ((key, connection.execute(query, (tenant, *key)).fetchone()) for key in keys)
            return {key: row for key, row in found if row is not None}

        return self._readers.fetch_as_of_one_moment(step)

    def page(
        self, tenant: str, model: Model, table: str, *, after: Key | None = None, limit: int = 500
    ) -> list[Row]:
        declared = model.table(table)
        key = listed(declared.key)
        behind = "" if after is None else f" AND ({key}) > ({', '.join('?' * len(after))})"
        query = _select(model, declared) + f' WHERE "tenant" = ?{behind} ORDER BY {key} LIMIT ?'
        return self._readers.fetch(query, (tenant, *(after or ()), limit))

    def forget(self, tenant: str, model: Model) -> None:
        def step(cursor: sqlite3.Cursor) -> None:
            cursor.execute(self._sql["forget"], _place(tenant, model))
            there = self._columns(cursor, model)
            for table in (table for table in model.tables if table.name in there):
                cursor.execute(f'DELETE FROM "{table_name(model, table)}" WHERE "tenant" = ?', (tenant,))

        self._writer.run(step)

    def look(self, tenant: str, step: Callable[[Look], T]) -> T:
        cursors = self._sql["cursors"]
        return self._readers.fetch_as_of_one_moment(
            lambda connection: step(SQLiteLook(connection, tenant, cursors))
        )

    def cursors(self, tenant: str) -> list[Cursor]:
        return list(map(_cursor, self._readers.fetch(self._sql["cursors"], (tenant,))))

    def take(
        self, tenant: str, model: Model, *, holder: str, seconds: float, now: datetime | None = None
    ) -> Cursor | None:
        place = _place(tenant, model)

        def step(cursor: sqlite3.Cursor) -> Cursor | None:
            # Read within the transaction, after any wait for it.
            moment = system_clock() if now is None else now
            row = cursor.execute(self._sql["cursor"], place).fetchone()
            if row is None:
                found = Cursor(*place, model.shape, Reached(), moment, None, None, 0)
            else:
                found = _cursor(row)
            if not may_take(found, holder, moment):
                return None
            until = moment + timedelta(seconds=seconds)
            taken = found._replace(holder=holder, until=until, fence=found.fence + 1)
            updated_at = write_time(taken.updated_at)
            values = (*place, taken.shape, updated_at, holder, write_time(until), taken.fence)
            cursor.execute(self._sql["take"], values)
            return taken

        return self._writer.run(step)

    def advance(self, tenant: str, model: Model, page: Advance, *, now: datetime | None = None) -> None:
        def step(cursor: sqlite3.Cursor) -> None:
            moment = system_clock() if now is None else now
            until = write_time(moment + timedelta(seconds=page.lease_seconds))
            where = *_place(tenant, model), page.fence, page.before
            values = *cells_of(page.reached), write_time(moment), until, *where
            if cursor.execute(self._sql["advance"], values).rowcount != 1:
                raise fenced(tenant, model)
            try:
                self._write_rows(cursor, tenant, model, page)
            except Exception as error:
                if is_of_input(error):
                    raise InvalidInput(
                        f"SQLite cannot store these rows: {error}", path="rows", reason=str(error)
                    ) from error
                raise

        self._writer.run(step, durable=False)

    def release(self, tenant: str, model: Model, fence: int) -> None:
        place = *_place(tenant, model), fence
        self._writer.run(lambda cursor: cursor.execute(self._sql["release"], place).rowcount)

    def resume(self, tenant: str, model: Model) -> None:
        place = _place(tenant, model)
        self._writer.run(lambda cursor: cursor.execute(self._sql["resume"], place).rowcount)

    def behind(self, tenant: str, after: int) -> Behind:
        def step(connection: sqlite3.Connection) -> Behind:
            events, first = connection.execute(self._sql["behind"], (after, tenant)).fetchone()
            if first is None:
                return Behind(0, None)
            return Behind(events, connection.execute(self._sql["record"], (first,)).fetchone()[0])

        return self._readers.fetch_as_of_one_moment(step)

    def _columns(
        self, connection: sqlite3.Connection | sqlite3.Cursor, model: Model
    ) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for table in model.tables:
            columns = connection.execute(self._sql["columns"], (table_name(model, table),)).fetchall()
            if columns:
                found[table.name] = tuple(name for (name,) in columns)
        return found

    def _write_rows(self, cursor: sqlite3.Cursor, tenant: str, model: Model, page: Advance) -> None:
        for name, changes in page.changes.items():
            table = model.table(name)
            gone = [(tenant, *key) for key, row in changes.items() if row is None]
            if gone:
                where = " AND ".join(f'"{column}" = ?' for column in ("tenant", *table.key))
                cursor.executemany(f'DELETE FROM "{table_name(model, table)}" WHERE {where}', gone)
            rows = [(tenant, *row) for row in changes.values() if row is not None]
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                cursor.executemany(upsert(model, table, f"VALUES ({marks})"), rows)


class SQLiteLook:
    """See `ledger.stores.read_models.Look`."""

    def __init__(self, connection: sqlite3.Connection, tenant: str, cursors: str) -> None:
        self._connection = connection
        self._tenant = tenant
        self._cursors = cursors

    def cursors(self) -> list[Cursor]:
        return list(map(_cursor, self._connection.execute(self._cursors, (self._tenant,)).fetchall()))

    def select(
        self, query: str, tables: Tables, values: Values, *, upto: int | None = None, until: str | None = None
    ) -> list[tuple[Any, ...]]:
        asked = rendered(query, tables, values, DIALECT, self._tenant, upto=upto, until=until)
        return self._connection.execute(asked.text, asked.values).fetchall()


def _select(model: Model, table: Table) -> str:
    return f'SELECT {listed(column_names(table))} FROM "{table_name(model, table)}"'


def _place(tenant: str, model: Model) -> tuple[str, str, int]:
    return tenant, model.projection, model.version


def _cursor(row: tuple[Any, ...]) -> Cursor:
    tenant, projection, version, shape, *where, updated_at, holder, until, fence = row
    reached = reached_of(where)
    lapses = None if until is None else read_time(until)
    return Cursor(tenant, projection, version, shape, reached, read_time(updated_at), holder, lapses, fence)
