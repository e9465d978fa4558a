"""Records on PostgreSQL, read on one connection."""

from __future__ import annotations

from collections.abc import Mapping

from ledger.stores.base import StoredRow
from ledger.stores.postgres.builds import fetch
from ledger.stores.postgres.session import Session
from ledger.stores.read_models import Behind

_LAST_PLACE = 2**63 - 1


class PostgresRecords:
    """See `ledger.stores.looking.Records`. A transaction is open on the session.

    Args:
        session: the connection.
        tenant: whose records.
        sql: the statements of projections.
    """

    def __init__(self, session: Session, tenant: str, sql: Mapping[str, str]) -> None:
        self._session = session
        self._tenant = tenant
        self._sql = sql

    def read(
        self, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> list[StoredRow]:
        last = _LAST_PLACE if upto is None else max(upto, 0)
        most = _LAST_PLACE if limit is None else max(limit, 0)
        found = self._session.fetch("read", self._tenant, stream, max(after, 0), last, most)
        return list(map(StoredRow._make, found))

    def tail(self, *, after: int = 0, limit: int = 500, everyone: bool = False) -> list[StoredRow]:
        name = "tail" if everyone else "tail_of_tenant"
        place = max(after, 0), max(limit, 0)
        found = self._session.fetch(name, *place, *(() if everyone else (self._tenant,)))
        return list(map(StoredRow._make, found))

    def end(self) -> int:
        found = self._session.fetch("progress")
        return int(found[0][0]) if found else 0

    def behind(self, after: int) -> Behind:
        return behind(self._session, self._sql, self._tenant, after)


def behind(session: Session, sql: Mapping[str, str], tenant: str, after: int) -> Behind:
    """Count the records of a tenant that a projection has yet to handle."""
    events, first = fetch(session, sql["behind"], (after, tenant))[0]
    if first is None:
        return Behind(0, None)
    return Behind(events, fetch(session, sql["record"], (first,))[0][0])
