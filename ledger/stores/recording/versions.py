"""Finding a place in an aggregate's stream by version, reading as few events as its gaps allow."""

from __future__ import annotations

from ledger.stores.base import StoredRow, StreamHead
from ledger.stores.recording.foreign import Archive, verified


def position_of(version: int, archive: Archive, head: StreamHead) -> int:
    """Find the position of the last event whose version is at most `version`; 0 where there is none.

    Versions rise by one or more from each event to the next, which bounds the place from both ends. Where
    there are no gaps the bounds meet, and nothing is left to search.
    """
    last = _version(archive, head)
    if version >= last:
        return head.position
    first = _version_at(archive, head, 1)
    if version < first:
        return 0
    low = max(1, head.position - (last - version))
    high = min(head.position - 1, version - first + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if _version_at(archive, head, middle) <= version:
            low = middle
        else:
            high = middle - 1
    return low


def _version_at(archive: Archive, head: StreamHead, position: int) -> int:
    return _version(archive, archive.store.read(archive.tenant, head.stream, after=position - 1, limit=1)[0])


def _version(archive: Archive, row: StoredRow | StreamHead) -> int:
    return verified(archive.tenant, row)[1].originator_version
