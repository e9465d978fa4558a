"""Records in the file of the ledger, read on one connection."""

from __future__ import annotations

import sqlite3
from typing import Any

from ledger.stores.base import StoredRow
from ledger.stores.read_models import Behind
from ledger.stores.scripts import queries

_NO_LIMIT = -1
_LAST_PLACE = 2**63 - 1


class SQLiteRecords:
    """See `ledger.stores.looking.Records`. A transaction is open on the connection."""

    def __init__(self, connection: sqlite3.Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def read(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        place = {
            "tenant": self._tenant,
            "stream": stream,
            "after": max(after, 0),
            "upto": _LAST_PLACE if upto is None else max(upto, 0),
            "limit": _NO_LIMIT if limit is None else max(limit, 0),
        }
        return list(map(StoredRow._make, self._query("read", place)))

    def tail(self, *, after: int = 0, limit: int = 500, everyone: bool = False) -> list[StoredRow]:
        place = {"after": max(after, 0), "limit": max(limit, 0), "tenant": self._tenant}
        return list(map(StoredRow._make, self._query("tail" if everyone else "tail_of_tenant", place)))

    def end(self) -> int:
        gid: int = self._query("end", {})[0][0]
        return gid

    def behind(self, after: int) -> Behind:
        return behind(self._connection, self._tenant, after)

    def _query(self, name: str, values: dict[str, object]) -> list[Any]:
        return self._connection.execute(queries("sqlite")[name], values).fetchall()


def behind(connection: sqlite3.Connection, tenant: str, after: int) -> Behind:
    """Count the records of a tenant that a projection has yet to handle."""
    sql = queries("sqlite", "projections")
    events, first = connection.execute(sql["behind"], (after, tenant)).fetchone()
    if first is None:
        return Behind(0, None)
    return Behind(events, connection.execute(sql["record"], (first,)).fetchone()[0])
