"""What a store offers to who moves and drops: contents by place, and records as another ledger had them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ledger.errors import LedgerError
from ledger.record import Row

if TYPE_CHECKING:
    from ledger.stores.base import Blob
    from ledger.stores.probe import View


class BlobPlace(NamedTuple):
    """Where a content is kept: the same content in two classes is kept twice."""

    digest: bytes
    kind: str


class BlobRow(NamedTuple):
    """What is known of a content without reading it."""

    digest: bytes
    kind: str
    size: int
    """In bytes."""
    expires_at: str | None

    @property
    def place(self) -> BlobPlace:
        """Where it is kept."""
        return BlobPlace(self.digest, self.kind)


class StreamRow(NamedTuple):
    """One record as it stood in another ledger, bytes and hash as they are."""

    stream: str
    prev: bytes
    """Hash of the record before it in the stream."""
    row: Row
    is_source: bool = False
    """The stream is a source: its head moves with it."""


class Restore(NamedTuple):
    """Records of several streams of one tenant, in the order in which they are followed, and contents."""

    tenant: str
    rows: tuple[StreamRow, ...]
    blobs: tuple[Blob, ...] = ()


class Moved(Protocol):
    """What a store offers to who exports, imports or drops."""

    def list_blobs(self, tenant: str, *, after: BlobPlace | None = None, limit: int = 500) -> list[BlobRow]:
        """List contents by digest and class, a page at a time."""

    def blob_rows(self, tenant: str, digests: Iterable[bytes]) -> list[BlobRow]:
        """Look up in which classes contents are kept, in the order of their places."""

    def kept_blobs(self, tenant: str, digests: Iterable[bytes]) -> list[Blob]:
        """Read contents with their classes, in the order of their places."""

    def drop_blobs(
        self, tenant: str, places: Sequence[BlobPlace], *, since: int, but: str
    ) -> list[BlobPlace]:
        """Delete contents durably, but none that an event behind global position `since` names.

        Events of the stream `but` do not count. Nobody stores such a content again meanwhile without either
        being seen here, or storing it anew. Returns the places that were deleted, in their order.

        Raises:
            StoreUnavailable: with the reason `no_privilege` where this login may not delete contents.
        """

    def restore(self, restore: Restore) -> tuple[int, ...]:
        """Store records as they are, durably and all or none; return their global positions.

        They are given anew, in the order of the rows. Each row stands on the one before it in its stream. The
        same rows again change nothing, and the positions they have are returned.

        Raises:
            PositionConflict: a stream does not stand where the first of its rows expects it.
            EffectInFlight: a claim is taken by another event.
        """


_HEX = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def names_in(record: bytes) -> Iterator[bytes]:
    """Yield every digest that a record may name: whatever looks like one, wherever it stands in it.

    It needs no knowledge of the event, so that what a newer program wrote is seen, too. More digits in a row
    are no digest: each that names a content stands in quotes. So there is at most one in 65 bytes.
    """
    for found in _HEX.finditer(record):
        yield bytes.fromhex(found[0].decode())


def renewed(records: Iterable[bytes], digests: Container[bytes]) -> set[bytes]:
    """Find those of some digests that records name."""
    return {digest for record in records for digest in names_in(record) if digest in digests}


def in_the_way(restore: Restore, view: View) -> LedgerError | None:
    """Say what stands in the way of storing rows; None where nothing does."""
    from ledger.stores.base import StreamAppend
    from ledger.stores.probe import claim_taken, position_conflict

    last: dict[str, tuple[int, bytes]] = {}
    for one in restore.rows:
        row = one.row
        stands = last.get(one.stream)
        if stands is None:
            stands = view.last(restore.tenant, one.stream)
        if stands != (row.position - 1, one.prev):
            part = StreamAppend(one.stream, row.position - 1, one.prev, (row,))
            return position_conflict(part, stands[0])
        last[one.stream] = row.position, row.hash
        holder = None if row.claim is None else view.holder(restore.tenant, row.claim)
        if holder is not None:
            return claim_taken(row, holder)
    return None


def already(restore: Restore, view: View) -> tuple[int, ...] | None:
    """Return where all of the rows stand already, as they are; None where one does not."""
    spans: dict[str, tuple[int, int]] = {}
    for one in restore.rows:
        low, high = spans.get(one.stream, (one.row.position, one.row.position))
        spans[one.stream] = min(low, one.row.position), max(high, one.row.position)
    stored: dict[tuple[str, bytes], int] = {}
    for stream, (low, high) in spans.items():
        for found in view.stored(restore.tenant, stream, low - 1, high):
            stored[stream, found.hash] = found.gid
    gids = [stored.get((one.stream, one.row.hash)) for one in restore.rows]
    return None if None in gids else tuple(gid for gid in gids if gid is not None)


def sources_of(restore: Restore) -> dict[str, int]:
    """Return where each source stream stands when the rows are stored, by name."""
    ends = {one.stream: one.row.position for one in restore.rows if one.is_source}
    return dict(sorted(ends.items()))
