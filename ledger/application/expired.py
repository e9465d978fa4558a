"""Contents that are not here any more: what is said of them where they are read."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.application.edge import Edge
from ledger.errors import HasExpired, NotFound
from ledger.integrity.tombstones import ExpiredContent, tombstones
from ledger.values import write_time

__all__ = ["ExpiredContent", "expired", "gone"]


def expired(edge: Edge, digests: Iterable[bytes]) -> dict[bytes, ExpiredContent]:
    """Find out which contents were dropped on purpose; reads nothing where none is asked for."""
    return tombstones(edge.store, edge.tenant, digests)


def gone(edge: Edge, digest: bytes) -> NotFound:
    """Build the error for a content that is not here: HasExpired where it was dropped on purpose."""
    known = expired(edge, [digest]).get(digest)
    if known is None:
        return NotFound(f"no content with digest {digest.hex()}", digest=digest.hex())
    at = write_time(known.at)
    return HasExpired(
        f"the content with digest {digest.hex()} was dropped at {at} by {known.by}: {known.reason}",
        digest=digest.hex(),
        at=at,
        by=known.by,
        reason=known.reason,
        position=known.position,
    )
