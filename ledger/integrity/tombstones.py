"""What the tenant's own stream says of contents that were dropped on purpose.

A tombstone explains the absence of a content to the records that were written before its cutoff, and to no
other: who named the content again later had it stored again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from ledger.codec import decode
from ledger.events import ContentExpired
from ledger.integrity.reader import Stored
from ledger.record import short_digest

OWN_STREAM = "$ledger"
"""Name of the tenant's own stream."""

_DIGEST_BYTES = 32
_MOST = 100_000
"""Tombstones looked through for one digit; each names up to 500 contents."""


class ExpiredContent(NamedTuple):
    """Stands where a content would, had it not been dropped on purpose."""

    digest: str
    """SHA-256 of what it was, as the records name it."""
    at: datetime
    """When it was decided, by the ledger's clock."""
    by: str
    """Who decided it."""
    reason: str
    cutoff: datetime
    """No record that was written at this time or later names it."""
    position: int
    """Position of the event in the tenant's own stream."""
    classes: tuple[str, ...] = ()
    """Classes of content that were asked for; none: every class."""
    run: str | None = None
    """The run that was asked for, where nothing but its records named the content."""


class Finder(Protocol):
    """Where tombstones are looked up."""

    def find(
        self,
        tenant: str,
        *,
        key: bytes | None = None,
        act: bytes | None = None,
        claim: bytes | None = None,
        limit: int = 100,
    ) -> Sequence[Stored]: ...


def bucket(prefix: str) -> bytes:
    """Return the key under which the tombstones of digests that begin with a hexadecimal digit are found."""
    return short_digest("expired", OWN_STREAM, prefix)


def tombstones(finder: Finder, tenant: str, digests: Iterable[bytes]) -> dict[bytes, ExpiredContent]:
    """Find what is said of contents: of each the tombstone with the latest cutoff; others are left out.

    It reads the tombstones of one digit at a time: each holds up to 33 kB, and there are as many as 500
    contents of that digit expired.

    Raises:
        ChainBroken, StoreError: a tombstone is not what was written, or cannot be read.
    """
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for digest in digests:
        if len(digest) == _DIGEST_BYTES:
            wanted[digest.hex()[0]].add(digest.hex())
    found: dict[bytes, ExpiredContent] = {}
    for prefix, names in sorted(wanted.items()):
        for row in finder.find(tenant, key=bucket(prefix), limit=_MOST):
            for one in _named(row, tenant, names):
                digest = bytes.fromhex(one.digest)
                if digest not in found or found[digest].cutoff < one.cutoff:
                    found[digest] = one
    return found


def _named(row: Stored, tenant: str, names: set[str]) -> Iterable[ExpiredContent]:
    record = decode(row.record, row.hash, run=row.stream, position=row.position, tenant=tenant)
    event = record.event
    if not isinstance(event, ContentExpired) or row.stream != OWN_STREAM:
        return
    for name in names.intersection(event.digests):
        yield ExpiredContent(
            name, record.at, event.by, event.reason, event.cutoff, record.position, event.classes, event.run
        )
