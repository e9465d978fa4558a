"""Builds of projections on PostgreSQL: which one is served, and how one is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

from psycopg.sql import Identifier

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
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import statements
from ledger.stores.read_model_sql import table_name, table_names
from ledger.stores.read_models import Advance, Cursor, Model, is_replaced, may_serve, reached_of

BATCH = 5_000
"""How many rows are deleted at once."""


class PostgresBuilds:
    """What PostgreSQL does about `ledger.stores.read_models.Serving`, and the statements of projections.

    In every transaction cursors are locked before what is served.
    """

    def __init__(self, readers: Pool, side: Pool, schema: str) -> None:
        self._readers = readers
        self._side = side
        self._schema = schema
        self._sql = projection_statements(schema)
        self._within = f"{Identifier(schema).as_string()}."

    def forget(self, tenant: str, model: Model) -> None:
        place = place_of(tenant, model)

        def begin(session: Session) -> list[str]:
            there = self._columns(session, model)
            names = [table_name(model, table) for table in model.tables if table.name in there]
            with transaction(session):
                if not self._ask(session, "going", *place) and self._has_rows(session, tenant, names):
                    # Of a cursor that was lost: nobody begins before they are gone, too.
                    self._execute(session, "new_going", *place, table_names(model))
                found, one = self._held(session, tenant, model, None)
                left = when_forgotten(found, one)
                if left is None:
                    self._execute(session, "unserve", *place[:2])
                elif left != found:
                    self._keep(session, left)
            return names

        def some_of(name: str) -> Callable[[Session], int]:
            table = self._table(name)
            # Somebody else may have come to the end of it since, and begun anew.
            rows = f"SELECT ctid FROM {table} WHERE tenant = $1 AND {self._sql['is_going']} LIMIT {BATCH}"
            query = f"DELETE FROM {table} WHERE ctid = ANY (ARRAY({rows}))"
            return lambda session: session.connection.execute(query.encode(), place).rowcount

        def end(session: Session) -> None:
            with transaction(session):
                if self._ask(session, "forget", *place):
                    self._execute(session, "unpark_all", *place)

        for name in self._side.use(begin):
            while self._side.use(some_of(name)) == BATCH:
                pass
        self._side.use(end)

    def served(self, tenant: str) -> list[Served]:
        found = self._readers.use(lambda session: self._ask(session, "served", tenant))
        return list(map(served_of, found))

    def plan(self, tenant: str, model: Model, *, now: datetime | None = None) -> None:
        def step(session: Session) -> None:
            with transaction(session):
                self._execute(session, "first_served", *place_of(tenant, model), now)
                found, one = self._held(session, tenant, model, now)
                self._keep_changed(session, found, when_planned(found, one))

        self._side.use(step)

    def serve(
        self,
        tenant: str,
        model: Model,
        *,
        fence: int | None = None,
        even_behind: bool = False,
        now: datetime | None = None,
    ) -> bool:
        def step(session: Session) -> bool:
            with transaction(session):
                rows = self._ask(session, "cursors_held", tenant, model.projection)
                cursors = {one.build: one for one in map(cursor_of, rows)}
                found, one = self._held(session, tenant, model, now)
                if found is not None and found.build == model.build:
                    # Perhaps by this very call, whose answer was lost with its connection.
                    return True
                if not may_serve(tenant, model, found, cursors, fence=fence, even_behind=even_behind):
                    return False
                self._keep_changed(session, found, when_served(found, one))
                if found is not None and is_replaced(found, model):
                    self._execute(session, "lose", tenant, model.projection, *found.build)
            return True

        return self._side.use(step)

    def parked(self, tenant: str, model: Model) -> list[Parked]:
        place = place_of(tenant, model)
        found = self._readers.use(lambda session: self._ask(session, "parked", *place))
        return [Parked(*row) for row in found]

    # --- within a transaction --------------------------------------------------------------------

    def _note_taken(self, session: Session, tenant: str, model: Model, taken: Cursor) -> None:
        """Serve a build that was taken where none is, or let it be the next."""
        self._execute(session, "first_served", *place_of(tenant, model), taken.updated_at)
        if taken.fence == 1:
            found, one = self._held(session, tenant, model, taken.updated_at)
            self._keep_changed(session, found, when_taken(found, one, first=True))

    def _write_parked(self, session: Session, tenant: str, model: Model, page: Advance) -> None:
        place = place_of(tenant, model)
        for run, parked in page.parked.items():
            if parked is None:
                self._execute(session, "unpark", *place, run)
            else:
                self._execute(session, "park", *place, *parked)

    def _held(
        self, session: Session, tenant: str, model: Model, now: datetime | None
    ) -> tuple[Served | None, Served]:
        """Lock what is served; return it, and a build as it would be served now."""
        rows = self._ask(session, "served_one", tenant, model.projection)
        moment = self._ask(session, "moment", now)[0][0].astimezone(UTC)
        one = Served(tenant, model.projection, model.build, moment)
        return (served_of(rows[0]) if rows else None), one

    def _keep_changed(self, session: Session, found: Served | None, served: Served) -> None:
        if served != found:
            self._keep(session, served)

    def _keep(self, session: Session, served: Served) -> None:
        place = served.tenant, served.projection
        self._execute(session, "keep_served", *place, served.since, *cells_of_served(served))

    def _columns(self, session: Session, model: Model) -> dict[str, tuple[str, ...]]:
        names = {table_name(model, table): table.name for table in model.tables}
        found: dict[str, tuple[str, ...]] = {}
        for table, column in self._ask(session, "columns", self._schema, list(names)):
            found[names[table]] = (*found.get(names[table], ()), column)
        return found

    def _has_rows(self, session: Session, tenant: str, names: list[str]) -> bool:
        queries = (f"SELECT 1 FROM {self._table(name)} WHERE tenant = $1 LIMIT 1" for name in names)
        return any(fetch(session, query, (tenant,)) for query in queries)

    def _table(self, name: str) -> str:
        return f"{self._within}{Identifier(name).as_string()}"

    def _ask(self, session: Session, name: str, *values: object) -> list[Any]:
        return fetch(session, self._sql[name], values)

    def _execute(self, session: Session, name: str, *values: object) -> None:
        session.connection.execute(self._sql[name].encode(), values)


@cache
def projection_statements(schema: str) -> Mapping[str, str]:
    """Return the statements about projections of a schema."""
    return statements(schema, "projections")


def fetch(session: Session, query: str, values: tuple[object, ...]) -> list[Any]:
    """Run a query and return its rows."""
    return session.connection.execute(query.encode(), values, binary=True).fetchall()


@contextmanager
def transaction(session: Session) -> Iterator[None]:
    """Commit what the block does, or nothing of it."""
    session.command(b"BEGIN")
    try:
        yield
        session.command(b"COMMIT")
    finally:
        session.roll_back()


def place_of(tenant: str, model: Model) -> tuple[str, str, int, int]:
    """Return the key of a cursor."""
    return tenant, model.projection, model.version, model.slot


def cursor_of(row: tuple[Any, ...]) -> Cursor:
    """Read a cursor out of its row."""
    tenant, projection, version, shape, *where, updated_at, holder, until, fence, slot, tables = row
    return Cursor(
        tenant,
        projection,
        version,
        shape,
        reached_of(where),
        updated_at.astimezone(UTC),
        holder,
        None if until is None else until.astimezone(UTC),
        fence,
        slot,
        tuple(tables.split()),
    )


def served_of(row: tuple[Any, ...]) -> Served:
    """Read what is served out of its row."""
    tenant, projection, version, slot, since, *others = row
    previous, after = (
        None if one is None else Build(one, of) for one, of in zip(others[::2], others[1::2], strict=True)
    )
    return Served(tenant, projection, Build(version, slot), since.astimezone(UTC), previous, after)
