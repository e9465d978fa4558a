"""Contents by place and records of another ledger, in the SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ledger.errors import LedgerError
from ledger.stores.base import Blob, BlobPlace, BlobRow, Restore
from ledger.stores.contents import already, in_the_way, renewed, sources_of
from ledger.stores.sqlite_readers import Readers
from ledger.stores.sqlite_writer import Writer, view_of
from ledger.stores.wakeup import Wakeup

_FIRST = BlobPlace(b"", "")


class SQLiteContents:
    """See `ledger.stores.contents.Moved`."""

    _readers: Readers
    _sql: Mapping[str, str]
    _wakeup: Wakeup
    _writer: Writer

    def list_blobs(self, tenant: str, *, after: BlobPlace | None = None, limit: int = 500) -> list[BlobRow]:
        place = (after or _FIRST)._asdict() | {"tenant": tenant, "limit": max(limit, 0)}
        return list(map(BlobRow._make, self._readers.fetch(self._sql["list_blobs"], place)))

    def blob_rows(self, tenant: str, digests: Iterable[bytes]) -> list[BlobRow]:
        return sorted(map(BlobRow._make, self._fetch_among("blob_rows", "?, ", digests, (tenant,))))

    def kept_blobs(self, tenant: str, digests: Iterable[bytes]) -> list[Blob]:
        return sorted(map(Blob._make, self._fetch_among("kept_blobs", "?, ", digests, (tenant,))))

    def drop_blobs(
        self, tenant: str, places: Sequence[BlobPlace], *, since: int, but: str
    ) -> list[BlobPlace]:
        digests = {place.digest for place in places}

        def step(cursor: sqlite3.Cursor) -> list[BlobPlace]:
            behind = cursor.execute(self._sql["behind"], (max(since, 0), tenant, but))
            kept = renewed((record for (record,) in behind), digests)
            dropped: list[BlobPlace] = []
            for place in sorted(set(places)):
                if place.digest not in kept:
                    cursor.execute(self._sql["drop_blob"], (tenant, *place))
                    dropped += [place] * cursor.rowcount
            return dropped

        return self._writer.run(step)

    def restore(self, restore: Restore) -> tuple[int, ...]:
        def step(cursor: sqlite3.Cursor) -> tuple[int, ...] | LedgerError:
            view = view_of(cursor)
            refusal = in_the_way(restore, view)
            if refusal is not None:
                return already(restore, view) or refusal
            for blob in restore.blobs:
                cursor.execute(self._sql["put_blob"], (restore.tenant, *blob))
            gids: list[int] = []
            for one in restore.rows:
                position, _, hash, key, act, claim, record = one.row
                values = restore.tenant, one.stream, position, hash, key, act, claim, record
                cursor.execute(self._sql["insert"], values)
                gids.append(cursor.lastrowid or 0)
            for stream, position in sources_of(restore).items():
                cursor.execute(self._sql["move_head"], (restore.tenant, stream, position))
            return tuple(gids)

        outcome = self._writer.run(step)
        if isinstance(outcome, LedgerError):
            raise outcome
        self._wakeup.announce()
        return outcome

    def _fetch_among(
        self, query: str, mark: str, digests: Iterable[bytes], more: tuple[str | int, ...]
    ) -> list[Any]:
        """Read the rows of a query that begins with a list of digests, as of one moment."""
        wanted = list(dict.fromkeys(digests))
        one = mark.removesuffix(", ")

        def step(connection: sqlite3.Connection) -> list[Any]:
            found: list[Any] = []
            for start in range(0, len(wanted), _DIGESTS_A_QUERY):
                some = wanted[start : start + _DIGESTS_A_QUERY]
                text = self._sql[query].replace(one, (mark * len(some)).removesuffix(", "), 1)
                found += connection.execute(text, (*some, *more))
            return found

        return self._readers.fetch_as_of_one_moment(step)


_DIGESTS_A_QUERY = 500
