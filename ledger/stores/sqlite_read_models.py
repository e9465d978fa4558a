"""Read models in the file of the ledger: their changes share the one lock for writing with appends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ledger.errors import InvalidInput
from ledger.stores.builds import (
    Build,
    Parked,
    Served,
    cells_of_served,
    when_forgotten,
    when_planned,
    when_served,
    when_taken,
)
from ledger.stores.read_model_queries import Dialect, rendered
from ledger.stores.read_model_sql import column_names, creation, listed, table_name, table_names, upsert
from ledger.stores.read_models import (
    Advance,
    Behind,
    Cursor,
    Key,
    Kind,
    Look,
    Model,
    Row,
    Table,
    Tables,
    Values,
    cells_of,
    fenced,
    is_replaced,
    may_serve,
    may_take,
    new_cursor,
    reached_of,
)
from ledger.stores.scripts import queries
from ledger.stores.sqlite_errors import is_of_input
from ledger.stores.sqlite_readers import Readers
from ledger.stores.sqlite_records import SQLiteRecords, behind
from ledger.stores.sqlite_writer import Writer
from ledger.stores.stamps import system_clock
from ledger.values.times import read_time, write_time

T = TypeVar("T")

TYPES: Mapping[Kind, str] = {"text": "TEXT", "integer": "INTEGER", "bytes": "BLOB"}

BATCH = 5_000
"""How many rows are deleted at once."""

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

    def analyze(self, model: Model) -> None:
        """Nothing is planned by that here."""

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
        place = _place(tenant, model)

        def begin(cursor: sqlite3.Cursor) -> list[str]:
            moment = system_clock()
            found = self._served(cursor, tenant, model)
            left = when_forgotten(found, Served(tenant, model.projection, model.build, moment))
            if left is None:
                cursor.execute(self._sql["unserve"], place[:2])
            elif left != found:
                self._keep_served(cursor, left)
            cursor.execute(self._sql["going"], (*place, table_names(model), write_time(moment)))
            there = self._columns(cursor, model)
            return [table_name(model, table) for table in model.tables if table.name in there]

        def some_of(name: str) -> Callable[[sqlite3.Cursor], int]:
            # Somebody else may have come to the end of it since, and begun anew.
            rows = f'SELECT rowid FROM "{name}" WHERE "tenant" = ? AND {self._sql["is_going"]} LIMIT {BATCH}'
            query = f'DELETE FROM "{name}" WHERE rowid IN ({rows})'
            return lambda cursor: cursor.execute(query, (tenant, *place)).rowcount

        def end(cursor: sqlite3.Cursor) -> None:
            if cursor.execute(self._sql["forget"], place).rowcount:
                cursor.execute(self._sql["unpark_all"], place)

        for name in self._writer.run(begin):
            while self._writer.run(some_of(name), durable=False) == BATCH:
                pass
        self._writer.run(end)

    def look(self, tenant: str, step: Callable[[Look], T]) -> T:
        return self._readers.fetch_as_of_one_moment(
            lambda connection: step(SQLiteLook(connection, tenant, self._sql))
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
            found = new_cursor(tenant, model, moment) if row is None else _cursor(row)
            if not may_take(found, holder, moment):
                return None
            until = moment + timedelta(seconds=seconds)
            taken = found._replace(holder=holder, until=until, fence=found.fence + 1)
            updated_at = write_time(taken.updated_at)
            more = taken.shape, table_names(model), updated_at, holder, write_time(until), taken.fence
            cursor.execute(self._sql["take"], (*place, *more))
            served = self._served(cursor, tenant, model)
            one = Served(tenant, model.projection, model.build, moment)
            self._keep_changed(cursor, served, when_taken(served, one, first=taken.fence == 1))
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
                self._write_parked(cursor, tenant, model, page)
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
        def step(cursor: sqlite3.Cursor) -> None:
            for name in ("resume", "try_again"):
                cursor.execute(self._sql[name], _place(tenant, model))

        self._writer.run(step)

    def served(self, tenant: str) -> list[Served]:
        return list(map(_served, self._readers.fetch(self._sql["served"], (tenant,))))

    def plan(self, tenant: str, model: Model, *, now: datetime | None = None) -> None:
        def step(cursor: sqlite3.Cursor) -> None:
            found = self._served(cursor, tenant, model)
            one = Served(tenant, model.projection, model.build, system_clock() if now is None else now)
            self._keep_changed(cursor, found, when_planned(found, one))

        self._writer.run(step)

    def serve(
        self,
        tenant: str,
        model: Model,
        *,
        fence: int | None = None,
        even_behind: bool = False,
        now: datetime | None = None,
    ) -> bool:
        def step(cursor: sqlite3.Cursor) -> bool:
            found = self._served(cursor, tenant, model)
            rows = cursor.execute(self._sql["cursors"], (tenant,)).fetchall()
            cursors = {one.build: one for one in map(_cursor, rows) if one.projection == model.projection}
            if not may_serve(tenant, model, found, cursors, fence=fence, even_behind=even_behind):
                return False
            one = Served(tenant, model.projection, model.build, system_clock() if now is None else now)
            self._keep_changed(cursor, found, when_served(found, one))
            if found is not None and is_replaced(found, model):
                cursor.execute(self._sql["lose"], (*_place(tenant, model)[:2], *found.build))
            return True

        return self._writer.run(step)

    def parked(self, tenant: str, model: Model) -> list[Parked]:
        return list(map(_parked, self._readers.fetch(self._sql["parked"], _place(tenant, model))))

    def behind(self, tenant: str, after: int) -> Behind:
        return self._readers.fetch_as_of_one_moment(lambda connection: behind(connection, tenant, after))

    def _served(self, cursor: sqlite3.Cursor, tenant: str, model: Model) -> Served | None:
        row = cursor.execute(self._sql["served_one"], (tenant, model.projection)).fetchone()
        return None if row is None else _served(row)

    def _keep_changed(self, cursor: sqlite3.Cursor, found: Served | None, served: Served) -> None:
        if served != found:
            self._keep_served(cursor, served)

    def _keep_served(self, cursor: sqlite3.Cursor, served: Served) -> None:
        cells = cells_of_served(served)
        place = served.tenant, served.projection
        cursor.execute(self._sql["keep_served"], (*place, write_time(served.since), *cells))

    def _write_parked(self, cursor: sqlite3.Cursor, tenant: str, model: Model, page: Advance) -> None:
        place = _place(tenant, model)
        for run, parked in page.parked.items():
            if parked is None:
                cursor.execute(self._sql["unpark"], (*place, run))
            else:
                cursor.execute(self._sql["park"], (*place, *parked))

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


class SQLiteLook(SQLiteRecords):
    """See `ledger.stores.read_models.Look`."""

    def __init__(self, connection: sqlite3.Connection, tenant: str, sql: Mapping[str, str]) -> None:
        super().__init__(connection, tenant)
        self._sql = sql

    def cursors(self) -> list[Cursor]:
        return list(map(_cursor, self._fetch("cursors", self._tenant)))

    def served(self) -> list[Served]:
        return list(map(_served, self._fetch("served", self._tenant)))

    def parked(self, model: Model) -> list[Parked]:
        return list(map(_parked, self._fetch("parked", *_place(self._tenant, model))))

    def select(
        self, query: str, tables: Tables, values: Values, *, upto: int | None = None, until: str | None = None
    ) -> list[tuple[Any, ...]]:
        asked = rendered(query, tables, values, DIALECT, self._tenant, upto=upto, until=until)
        return self._connection.execute(asked.text, asked.values).fetchall()

    def _fetch(self, name: str, *values: object) -> list[Any]:
        return self._connection.execute(self._sql[name], values).fetchall()


def _select(model: Model, table: Table) -> str:
    return f'SELECT {listed(column_names(table))} FROM "{table_name(model, table)}"'


def _place(tenant: str, model: Model) -> tuple[str, str, int, int]:
    return tenant, model.projection, model.version, model.slot


def _cursor(row: tuple[Any, ...]) -> Cursor:
    tenant, projection, version, shape, *where, updated_at, holder, until, fence, slot, tables = row
    return Cursor(
        tenant,
        projection,
        version,
        shape,
        reached_of(where),
        read_time(updated_at),
        holder,
        None if until is None else read_time(until),
        fence,
        slot,
        tuple(tables.split()),
    )


def _served(row: tuple[Any, ...]) -> Served:
    tenant, projection, version, slot, since, *others = row
    previous, after = (
        None if one is None else Build(one, of) for one, of in zip(others[::2], others[1::2], strict=True)
    )
    return Served(tenant, projection, Build(version, slot), read_time(since), previous, after)


def _parked(row: tuple[Any, ...]) -> Parked:
    run, gid, position, error, events, again = row
    return Parked(run, gid, position, error, events, bool(again))
