"""Questions about the store that forgets: they run on a copy of its rows in an SQLite of their own."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ledger.stores.base import StoredRow
from ledger.stores.builds import Parked, Served
from ledger.stores.read_model_queries import rendered
from ledger.stores.read_model_sql import all_columns, creation, table_name
from ledger.stores.read_models import Behind, Cursor, Model, Row, Table, Tables, Values
from ledger.stores.sqlite_read_models import DIALECT, TYPES


class MemoryLook:
    """See `ledger.stores.read_models.Look`."""

    def __init__(
        self,
        tenant: str,
        cursors: list[Cursor],
        served: list[Served],
        parked: Mapping[tuple[str, int, int], list[Parked]],
        rows: Mapping[str, list[Row]],
        events: Sequence[StoredRow],
    ) -> None:
        self._tenant = tenant
        self._known = cursors
        self._served = served
        self._parked = parked
        self._rows = rows
        self._events = events
        self._mine: list[StoredRow] | None = None
        self._streams: dict[str, list[StoredRow]] = {}
        self._copied: set[str] = set()
        self._connection = sqlite3.connect(":memory:", isolation_level=None)

    def cursors(self) -> list[Cursor]:
        return self._known

    def served(self) -> list[Served]:
        return self._served

    def parked(self, model: Model) -> list[Parked]:
        return self._parked.get((model.projection, model.version, model.slot), [])

    def select(
        self, query: str, tables: Tables, values: Values, *, upto: int | None = None, until: str | None = None
    ) -> list[tuple[Any, ...]]:
        for name, (model, table) in tables.items():
            if f"{{{name}}}" in query:
                self._copy(model, table)
        asked = rendered(query, tables, values, DIALECT, self._tenant, upto=upto, until=until)
        return self._connection.execute(asked.text, asked.values).fetchall()

    def read(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        if stream not in self._streams:
            self._streams[stream] = [row for row in self._of_tenant() if row.stream == stream]
        rows = self._streams[stream][max(after, 0) : None if upto is None else max(upto, 0)]
        return rows if limit is None else rows[: max(limit, 0)]

    def tail(self, *, after: int = 0, limit: int = 500, everyone: bool = False) -> list[StoredRow]:
        rows = self._events if everyone else self._of_tenant()
        first = bisect_right(rows, max(after, 0), key=lambda row: row.gid)
        return list(rows[first : first + max(limit, 0)])

    def end(self) -> int:
        return len(self._events)

    def behind(self, after: int) -> Behind:
        rows = self.tail(after=after, limit=len(self._events))
        return Behind(len(rows), rows[0].record if rows else None)

    def _of_tenant(self) -> list[StoredRow]:
        if self._mine is None:
            self._mine = [row for row in self._events if row.tenant == self._tenant]
        return self._mine

    def _copy(self, model: Model, table: Table) -> None:
        name = table_name(model, table)
        if name in self._copied:
            return
        self._copied.add(name)
        for statement in creation(model, table, TYPES):
            self._connection.execute(statement)
        marks = ", ".join("?" * len(all_columns(table)))
        rows = ((self._tenant, *row) for row in self._rows.get(name, ()))
        self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
