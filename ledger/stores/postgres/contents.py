"""Contents by place and records of another ledger, on PostgreSQL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from psycopg.pq.abc import PGresult

from ledger.errors import LedgerError
from ledger.stores.base import Append, Blob, BlobPlace, BlobRow, Restore
from ledger.stores.contents import already, in_the_way, renewed, sources_of
from ledger.stores.postgres.errors import contended
from ledger.stores.postgres.plans import more_rows, plan_blobs
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.view import View

T = TypeVar("T")

_FIRST = BlobPlace(b"", "")


class PostgresContents(ABC):
    """See `ledger.stores.contents.Moved`."""

    _readers: Pool
    _server: Server
    _side: Pool

    def list_blobs(self, tenant: str, *, after: BlobPlace | None = None, limit: int = 500) -> list[BlobRow]:
        found = self._fetch("list_blobs", tenant, *(after or _FIRST), max(limit, 0))
        return list(map(BlobRow._make, found))

    def blob_rows(self, tenant: str, digests: Iterable[bytes]) -> list[BlobRow]:
        found = self._fetch("blob_rows", tenant, list(dict.fromkeys(digests)))
        return list(map(BlobRow._make, found))

    def kept_blobs(self, tenant: str, digests: Iterable[bytes]) -> list[Blob]:
        found = self._fetch("kept_blobs", tenant, list(dict.fromkeys(digests)))
        return list(map(Blob._make, found))

    def drop_blobs(
        self, tenant: str, places: Sequence[BlobPlace], *, since: int, but: str
    ) -> list[BlobPlace]:
        def step(session: Session) -> list[BlobPlace]:
            wanted = sorted(set(places))
            locked = session.fetch("lock_blobs", tenant, *_columns(wanted))
            behind = session.fetch("behind", max(since, 0), tenant, but)
            kept = renewed((record for (record,) in behind), {place.digest for place in wanted})
            dropped = [place for place in map(BlobPlace._make, locked) if place.digest not in kept]
            session.execute("drop_blobs", tenant, *_columns(dropped))
            return dropped

        return self._side.use(_in_one(step))

    def restore(self, restore: Restore) -> tuple[int, ...]:
        sources = sources_of(restore)

        def step(session: Session) -> tuple[int, ...] | LedgerError:
            # Heads first, as in every append to a source: who relies on one comes before, or sees it.
            for stream in sources:
                session.fetch("head_for_update", restore.tenant, stream)
            view = View(session)
            refusal = in_the_way(restore, view)
            if refusal is not None:
                return already(restore, view) or refusal
            gids: list[int] = []
            for statement in more_rows(restore.tenant, [(one.stream, one.row) for one in restore.rows]):
                gids += _gids(session.run(*statement))
            if gids and _newest_before(restore, view) > gids[0]:
                # This transaction has had its id for longer than another that has stored something meanwhile.
                return contended(self._server.where)
            for stream, position in sources.items():
                session.execute("move_head", restore.tenant, stream, position)
            for statement in plan_blobs([Append(restore.tenant, (), (), restore.blobs)]):
                session.run(*statement)
            return tuple(gids)

        for stream in sources:
            self.open_head(restore.tenant, stream)
        outcome: tuple[int, ...] | LedgerError = self._side.use(_in_one(step))
        if isinstance(outcome, LedgerError):
            raise outcome
        self._committed()
        return outcome

    @abstractmethod
    def open_head(self, tenant: str, stream: str) -> int: ...

    def _fetch(self, name: str, *values: object) -> list[Any]:
        return self._readers.use(lambda session: session.fetch(name, *values))

    @abstractmethod
    def _committed(self) -> None: ...


def _in_one(step: Callable[[Session], T]) -> Callable[[Session], T]:
    """Run a step in one transaction, which keeps nothing where it fails or returns an error."""

    def run(session: Session) -> T:
        session.command(b"BEGIN")
        try:
            found = step(session)
            if not isinstance(found, LedgerError):
                session.command(b"COMMIT")
        finally:
            session.roll_back()
        return found

    return run


def _columns(places: Sequence[BlobPlace]) -> tuple[list[bytes], list[str]]:
    return [place.digest for place in places], [place.kind for place in places]


def _newest_before(restore: Restore, view: View) -> int:
    """Return the highest global position that one of the rows follows in its stream."""
    first: dict[str, int] = {}
    for one in restore.rows:
        first.setdefault(one.stream, one.row.position)
    before = (
        view.stored(restore.tenant, stream, position - 2, position - 1)
        for stream, position in first.items()
        if position > 1
    )
    return max((found.gid for rows in before for found in rows), default=0)


def _gids(result: PGresult) -> list[int]:
    return [int.from_bytes(result.get_value(row, 0) or b"", "big") for row in range(result.ntuples)]
