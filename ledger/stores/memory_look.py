"""Questions about the store that forgets: they run on a copy of its rows in an SQLite of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from ledger.stores.builds import Parked, Served
from ledger.stores.read_model_queries import rendered
from ledger.stores.read_model_sql import all_columns, creation, table_name
from ledger.stores.read_models import Cursor, Model, Row, Table, Tables, Values
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
    ) -> None:
        self._tenant = tenant
        self._known = cursors
        self._served = served
        self._parked = parked
        self._rows = rows
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
