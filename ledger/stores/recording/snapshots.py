"""The recorder of an application's snapshots: one stream for each, so that they may come in any order.

Snapshots of one aggregate are taken at versions far apart, and a slow worker may bring an early one after a
later one was stored. A stream of its own lets every snapshot stand at position 1, which only one writer can
take. Its name ends with the version counted down from the top: names are listed in ascending order, so
the latest snapshot comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import AggregateRecorder, IntegrityError, StoredEvent

from ledger.canonical import MAX_INTEGER
from ledger.codec import encode
from ledger.errors import PositionConflict
from ledger.record import ZERO_HASH, Envelope
from ledger.stores.base import Append, StreamAppend
from ledger.stores.recording.errors import translated
from ledger.stores.recording.foreign import FOREIGN, Archive, unwrap, wrap
from ledger.stores.recording.recorder import refuse_tracking

SNAPSHOTS = FOREIGN + "-snapshots:"
"""Before the id of an aggregate and the version: the stream of one snapshot."""

_PAGE = 100


class LedgerSnapshotRecorder(AggregateRecorder):
    """Stores and selects snapshots of aggregates."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Store snapshots durably, all or none.

        Raises:
            IntegrityError: there is a snapshot of that version.
            DataError: a snapshot does not fit into a record of the ledger.
            OperationalError: the store is busy or unavailable.
        """
        refuse_tracking(kwargs)
        if not stored_events:
            return None
        with translated():
            parts = tuple(map(self._part, stored_events))
            if len({part.stream for part in parts}) != len(parts):
                raise IntegrityError("a snapshot stands twice in one insert")
            try:
                self._archive.append(Append(self._archive.tenant, parts))
            except PositionConflict as conflict:
                raise IntegrityError(f"{conflict.run} is taken") from conflict
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Read the snapshots of an aggregate with gt < version ≤ lte."""
        with translated():
            found: list[StoredEvent] = []
            for snapshot in self._latest_first(originator_id, lte):
                enough = desc and limit is not None and len(found) >= limit
                if enough or (gt is not None and snapshot.originator_version <= gt):
                    break
                found.append(snapshot)
        return found if desc else found[::-1][:limit]

    def _part(self, stored: StoredEvent) -> StreamAppend:
        archive, event = self._archive, wrap(stored)
        stream = _stream(self._prefix(stored.originator_id), event.originator_version)
        envelope = Envelope(
            archive.tenant, stream, 1, ZERO_HASH, archive.ids(), archive.clock(), archive.actor
        )
        return StreamAppend(stream, 0, ZERO_HASH, (encode(event, envelope),))

    def _latest_first(self, originator_id: UUID | str, lte: int | None) -> Iterator[StoredEvent]:
        archive, prefix = self._archive, self._prefix(originator_id)
        after = "" if lte is None or lte >= MAX_INTEGER else _stream(prefix, max(lte + 1, -MAX_INTEGER))
        size = 1
        while True:
            heads = archive.store.heads(archive.tenant, prefix=prefix, after=after, limit=size)
            for head in heads:
                yield unwrap(archive.tenant, head, originator_id)
            if len(heads) < size:
                return
            after, size = heads[-1].stream, _PAGE

    def _prefix(self, originator_id: UUID | str) -> str:
        # With its length before it, no id can be taken for the beginning of another.
        text = self._archive.id_text(originator_id)
        return f"{SNAPSHOTS}{len(text)}:{text}:"


def _stream(prefix: str, version: int) -> str:
    return f"{prefix}{MAX_INTEGER - version:017d}"
