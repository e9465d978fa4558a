"""Contents by place and records of another ledger, in the store that forgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Protocol

from ledger.stores.base import Blob, BlobPlace, BlobRow, Restore, StoredRow
from ledger.stores.contents import already, in_the_way, renewed
from ledger.stores.probe import View
from ledger.stores.wakeup import Wakeup


class Tables(View, Protocol):
    """What it needs of the tables."""

    @property
    def events(self) -> Sequence[StoredRow]: ...

    @property
    def blobs(self) -> Mapping[tuple[str, bytes], dict[str, Blob]]: ...

    def blob_places(self, tenant: str, digests: set[bytes] | None = None) -> Iterator[BlobPlace]: ...

    def blob_row(self, tenant: str, place: BlobPlace) -> BlobRow: ...

    def restore(self, restore: Restore) -> tuple[int, ...]: ...


class MemoryContents(ABC):
    """See `ledger.stores.contents.Moved`."""

    _lock: Lock
    _wakeup: Wakeup

    @abstractmethod
    def _held(self) -> Tables: ...

    def list_blobs(self, tenant: str, *, after: BlobPlace | None = None, limit: int = 500) -> list[BlobRow]:
        with self._lock:
            tables = self._held()
            places = sorted(place for place in tables.blob_places(tenant) if after is None or place > after)
            return [tables.blob_row(tenant, place) for place in places[: max(limit, 0)]]

    def blob_rows(self, tenant: str, digests: Iterable[bytes]) -> list[BlobRow]:
        with self._lock:
            tables = self._held()
            places = sorted(tables.blob_places(tenant, set(digests)))
            return [tables.blob_row(tenant, place) for place in places]

    def kept_blobs(self, tenant: str, digests: Iterable[bytes]) -> list[Blob]:
        with self._lock:
            tables = self._held()
            places = sorted(tables.blob_places(tenant, set(digests)))
            return [tables.blobs[tenant, place.digest][place.kind] for place in places]

    def drop_blobs(
        self, tenant: str, places: Sequence[BlobPlace], *, since: int, but: str
    ) -> list[BlobPlace]:
        with self._lock:
            tables = self._held()
            behind = (tables.events[index] for index in range(max(since, 0), len(tables.events)))
            records = (row.record for row in behind if row.tenant == tenant and row.stream != but)
            kept = renewed(records, {place.digest for place in places})
            dropped = sorted(
                place
                for place in set(places)
                if place.digest not in kept and place.kind in tables.blobs.get((tenant, place.digest), {})
            )
            for place in dropped:
                del tables.blobs[tenant, place.digest][place.kind]
        return dropped

    def restore(self, restore: Restore) -> tuple[int, ...]:
        with self._lock:
            tables = self._held()
            refusal = in_the_way(restore, tables)
            if refusal is not None:
                gids = already(restore, tables)
                if gids is None:
                    raise refusal
                return gids
            gids = tables.restore(restore)
        self._wakeup.announce()
        return gids
