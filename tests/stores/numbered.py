"""A PostgreSQL store whose global positions are counted 1, 2, 3, … so that it can be compared with others."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from ledger.stores.base import Append, Appended, StoredRow, StreamHead
from ledger.stores.postgres.store import PostgresStore
from tests.stores.builder import shown


class Numbered:
    """Answers as the store does, with the rank of each gid in its place; one caller writes through it."""

    def __init__(self, store: PostgresStore, gids: list[int] | None = None) -> None:
        self.store = store
        self.gids = [] if gids is None else gids

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def append(self, append: Append) -> Appended:
        appended = self.store.append(append)
        if not appended.repeated:
            self.gids += appended.gids
        return appended._replace(gids=tuple(map(self._rank, appended.gids)))

    def read(self, tenant: str, stream: str, **page: Any) -> list[StoredRow]:
        return self._ranked(self.store.read(tenant, stream, **page))

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> list[StoredRow]:
        place = 0 if after <= 0 else ([*self.gids, 2**63 - 1][min(after, len(self.gids) + 1) - 1])
        return self._ranked(shown(self.store).tail(after=place, limit=limit, tenant=tenant))

    def find(self, tenant: str, **wanted: Any) -> list[StoredRow]:
        return self._ranked(self.store.find(tenant, **wanted))

    def heads(self, tenant: str, **page: Any) -> list[StreamHead]:
        return [head._replace(gid=self._rank(head.gid)) for head in self.store.heads(tenant, **page)]

    def end(self, *, newest: bool = False) -> int:
        end = shown(self.store).end(newest=newest)
        return self._rank(end) if end else 0

    def _ranked(self, rows: list[StoredRow]) -> list[StoredRow]:
        return [row._replace(gid=self._rank(row.gid)) for row in rows]

    def _rank(self, gid: int) -> int:
        place = bisect_left(self.gids, gid)
        assert self.gids[place] == gid, "what was acknowledged, in rising order, and nothing else is stored"
        return place + 1
