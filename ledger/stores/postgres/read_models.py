"""Read models in the ledger's schema, with the same walls between tenants as the events have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from psycopg.errors import InsufficientPrivilege
from psycopg.sql import Identifier
from psycopg.types.numeric import Int8

from ledger.stores.builds import Parked, Served
from ledger.stores.postgres.builds import (
    PostgresBuilds,
    cursor_of,
    fetch,
    place_of,
    served_of,
    transaction,
)
from ledger.stores.postgres.errors import unavailable
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.records import PostgresRecords, behind
from ledger.stores.postgres.roles import established, grant_read_models
from ledger.stores.postgres.schema import LOCK
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import in_schema
from ledger.stores.read_model_queries import Dialect, rendered
from ledger.stores.read_model_sql import (
    column_kinds,
    column_names,
    creation,
    listed,
    table_name,
    table_names,
    upsert,
)
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
)

T = TypeVar("T")

_TYPES: Mapping[Kind, str] = {"text": 'text COLLATE "C"', "integer": "bigint", "bytes": "bytea"}
_CASTS: Mapping[type, str] = {str: "text", int: "bigint", bool: "bigint", bytes: "bytea"}
_ARRAYS: Mapping[Kind, str] = {"text": "text[]", "integer": "bigint[]", "bytes": "bytea[]"}


_LOOKING = b"""
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL plan_cache_mode = force_custom_plan;
SET LOCAL enable_seqscan = on;
SET LOCAL enable_bitmapscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
"""
"""Questions join tables, and are planned for what they ask and how large these are: the settings of a session
are made for statements that find single rows."""


class PostgresReadModels(PostgresBuilds):
    """See `ledger.stores.read_models.ReadModels`.

    A page is computed before its transaction begins, and its transaction does not wait for the disk: while it
    is open it holds followers back, as every writer does.
    """

    def __init__(self, readers: Pool, side: Pool, schema: str, where: str) -> None:
        super().__init__(readers, side, schema)
        self._where = where

    def columns(self, model: Model) -> dict[str, tuple[str, ...]]:
        return self._readers.use(lambda session: self._columns(session, model))

    def create(self, model: Model) -> None:
        def step(session: Session) -> None:
            with transaction(session):
                self._execute(session, "lock", LOCK, self._schema)
                # Asked here: another process may make them at the same time.
                there = self._columns(session, model)
                self._make(session, model, [table for table in model.tables if table.name not in there])

        self._side.use(_explained(step, self._where))

    def analyze(self, model: Model) -> None:
        names = ", ".join(f'{self._within}"{table_name(model, table)}"' for table in model.tables)
        # Tables of another owner are passed over, with no more than a warning.
        self._side.use(lambda session: session.command(f"ANALYZE {names}".encode()))

    def rows(self, tenant: str, model: Model, table: str, keys: Iterable[Key]) -> dict[Key, Row]:
        wanted = list(keys)
        if not wanted:
            return {}
        declared = model.table(table)
        names = column_names(declared)
        query = f"{self._select(model, declared)} WHERE tenant = $1 AND {self._among(declared, 2)}"
        values = tenant, *_columns(wanted, len(declared.key))
        found = self._readers.use(lambda session: fetch(session, query, values))
        places = [names.index(name) for name in declared.key]
        return {tuple(row[place] for place in places): row for row in found}

    def page(
        self, tenant: str, model: Model, table: str, *, after: Key | None = None, limit: int = 500
    ) -> list[Row]:
        declared = model.table(table)
        key = listed(declared.key)
        marks = ", ".join(f"${number}" for number in range(3, 3 + len(declared.key)))
        behind = "" if after is None else f" AND ({key}) > ({marks})"
        query = f"{self._select(model, declared)} WHERE tenant = $1{behind} ORDER BY {key} LIMIT $2"
        return self._readers.use(lambda session: fetch(session, query, (tenant, limit, *(after or ()))))

    def look(self, tenant: str, step: Callable[[Look], T]) -> T:
        def read(session: Session) -> T:
            session.command(_LOOKING)
            try:
                found = step(_Look(session, tenant, self._sql, self._within))
                session.command(b"COMMIT")
            finally:
                session.roll_back()
            return found

        return self._readers.use(read)

    def cursors(self, tenant: str) -> list[Cursor]:
        found = self._readers.use(lambda session: self._ask(session, "cursors", tenant))
        return list(map(cursor_of, found))

    def take(
        self, tenant: str, model: Model, *, holder: str, seconds: float, now: datetime | None = None
    ) -> Cursor | None:
        more = model.shape, table_names(model), holder, float(seconds), now
        values = *place_of(tenant, model), *more

        def step(session: Session) -> Cursor | None:
            with transaction(session):
                found = self._ask(session, "take", *values)
                if not found:
                    return None
                taken = cursor_of(found[0])
                self._note_taken(session, tenant, model, taken)
            return taken

        return self._side.use(step)

    def advance(self, tenant: str, model: Model, page: Advance, *, now: datetime | None = None) -> None:
        place = *place_of(tenant, model), page.fence
        values = *cells_of(page.reached), now, float(page.lease_seconds), *place, page.before
        told: list[object] = []

        def step(session: Session) -> None:
            again = bool(told)
            told.append(session)
            with transaction(session):
                # What is lost in a crash is lost with the cursor that says so.
                session.command(b"SET LOCAL synchronous_commit = off")
                if not self._ask(session, "advance", *values):
                    # An answer that was lost with its connection: the page may be kept already.
                    if again and self._ask(session, "stands", *place, page.reached.gid):
                        return
                    raise fenced(tenant, model)
                self._write_rows(session, tenant, model, page)
                self._write_parked(session, tenant, model, page)

        self._side.use(step)

    def release(self, tenant: str, model: Model, fence: int) -> None:
        place = *place_of(tenant, model), fence
        self._side.use(lambda session: self._execute(session, "release", *place))

    def resume(self, tenant: str, model: Model) -> None:
        def step(session: Session) -> None:
            with transaction(session):
                for name in ("resume", "try_again"):
                    self._execute(session, name, *place_of(tenant, model))

        self._side.use(step)

    def behind(self, tenant: str, after: int) -> Behind:
        return self._readers.use(lambda session: behind(session, self._sql, tenant, after))

    # --- tables ----------------------------------------------------------------------------------

    def _make(self, session: Session, model: Model, missing: Iterable[Table]) -> None:
        roles = established(session, self._schema)
        if roles is not None:
            # What is made from here on is the owner's, whoever makes it.
            session.command(f"SET LOCAL ROLE {Identifier(roles.owner).as_string()}".encode())
        for table in missing:
            for statement in creation(model, table, _TYPES, self._within):
                session.command(statement.encode())
            secured = in_schema(_SECURED, self._schema).replace("{table}", table_name(model, table))
            session.command(secured.encode())
        if roles is not None:
            grant_read_models(session, self._schema, roles)

    def _select(self, model: Model, table: Table) -> str:
        return f'SELECT {listed(column_names(table))} FROM {self._within}"{table_name(model, table)}"'

    def _among(self, table: Table, first: int) -> str:
        return f"({listed(table.key)}) IN (SELECT * FROM {_unnest(table, table.key, first)})"

    def _write_rows(self, session: Session, tenant: str, model: Model, page: Advance) -> None:
        for name, changes in page.changes.items():
            table = model.table(name)
            gone = [key for key, row in changes.items() if row is None]
            if gone:
                query = f'DELETE FROM {self._within}"{table_name(model, table)}" WHERE tenant = $1 AND '
                values = tenant, *_columns(gone, len(table.key))
                session.connection.execute((query + self._among(table, 2)).encode(), values, binary=True)
            rows = [row for row in changes.values() if row is not None]
            if rows:
                source = f"SELECT $1::text, * FROM {_unnest(table, column_names(table), 2)}"
                query = upsert(model, table, source, self._within)
                values = tenant, *_columns(rows, len(table.columns) + 1)
                session.connection.execute(query.encode(), values, binary=True)


class _Look(PostgresRecords):
    """See `ledger.stores.read_models.Look`."""

    def __init__(self, session: Session, tenant: str, sql: Mapping[str, str], within: str) -> None:
        super().__init__(session, tenant, sql)
        self._dialect = Dialect(lambda number, cell: f"${number}::{_CASTS[type(cell)]}", within)

    def cursors(self) -> list[Cursor]:
        return list(map(cursor_of, fetch(self._session, self._sql["cursors"], (self._tenant,))))

    def served(self) -> list[Served]:
        return list(map(served_of, fetch(self._session, self._sql["served"], (self._tenant,))))

    def parked(self, model: Model) -> list[Parked]:
        found = fetch(self._session, self._sql["parked"], place_of(self._tenant, model))
        return [Parked(*row) for row in found]

    def select(
        self, query: str, tables: Tables, values: Values, *, upto: int | None = None, until: str | None = None
    ) -> list[tuple[Any, ...]]:
        asked = rendered(query, tables, values, self._dialect, self._tenant, upto=upto, until=until)
        return fetch(self._session, asked.text, tuple(asked.values))


def _explained(step: Callable[[Session], T], where: str) -> Callable[[Session], T]:
    def explained(session: Session) -> T:
        try:
            return step(session)
        except InsufficientPrivilege as error:
            advice = (
                "this login may not make the tables of a projection: let who migrates the ledger run "
                f"intent-ledger project create ({error.diag.message_primary})"
            )
            raise unavailable(where, "no_privilege", advice) from error

    return explained


def _unnest(table: Table, columns: Iterable[str], first: int) -> str:
    kinds = column_kinds(table)
    arrays = [f"${number}::{_ARRAYS[kinds[name]]}" for number, name in enumerate(columns, first)]
    return f"unnest({', '.join(arrays)})"


def _columns(rows: Iterable[tuple[object, ...]], width: int) -> list[list[object]]:
    """Turn rows into a list for each column."""
    found: list[list[object]] = [[] for _ in range(width)]
    for row in rows:
        for column, cell in zip(found, row, strict=True):
            # Of one width: the driver would take the smallest that fits some of a statement's numbers.
            column.append(Int8(cell) if type(cell) is int else cell)
    return found


_SECURED = """
ALTER TABLE {schema}."{table}" ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}."{table}" FORCE ROW LEVEL SECURITY;
CREATE POLICY "{table}_tenant" ON {schema}."{table}" USING (
    (SELECT array_agg(coalesce(members.tenant, '')) FROM {schema}.members WHERE pg_has_role(role, 'USAGE'))
    && ARRAY['', tenant]
);
"""
