"""The ledger's own events for eventsourcing's projections: a recorder that only reads.

The id of an originator is the stream (a run, or a source `$source:…`), its version the position, the topic
the event's name and version (`goal.revised@1`), the state the bytes of the record. The stored hash comes
along, so that who decodes can verify first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Never
from uuid import UUID

from eventsourcing.persistence import Notification, NotSupportedError, StoredEvent

from ledger.record import broken, digest, parse
from ledger.stores.base import FullStore, StoredRow
from ledger.stores.recording.errors import translated
from ledger.stores.recording.foreign import FOREIGN, head_of
from ledger.stores.recording.ordered import OrderedRecorder
from ledger.stores.recording.sequence import ApplicationSequence


@dataclass(frozen=True)
class RecordedEvent(StoredEvent):
    """An event of the ledger."""

    hash: bytes
    """The stored hash of `state`, the bytes of the record."""


@dataclass(frozen=True)
class RecordedNotification(Notification):
    """An event of the ledger and its global position."""

    hash: bytes
    """The stored hash of `state`, the bytes of the record."""


class RunRecorder(OrderedRecorder):
    """Reads the runs and sources of a tenant; only the ledger itself appends to them."""

    def __init__(self, store: FullStore, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._sequence = ApplicationSequence(store, tenant, _is_ours, _notification)

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Never:
        """Refuse; a run is written through the ledger's commands.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("this recorder only reads: runs are written through the ledger")

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[RecordedEvent]:
        """Read the events of a run with gt < position ≤ lte."""
        stream = str(originator_id)
        if not _is_ours(stream):
            return []
        with translated():
            after = max(gt or 0, 0)
            upto = lte
            if desc and limit is not None:
                head = head_of(self._store, self._tenant, stream)
                end = 0 if head is None else head.position
                upto = end if lte is None else min(lte, end)
                after = max(after, upto - limit)
            rows = self._store.read(self._tenant, stream, after=after, upto=upto, limit=limit)
            return [_event(row) for row in (reversed(rows) if desc else rows)]


def topic_of(name: object, version: object) -> str:
    """Write the topic of an event: `goal.revised@1`."""
    return f"{name}@{version}"


def _is_ours(stream: str) -> bool:
    return not stream.startswith(FOREIGN)


def _event(row: StoredRow) -> RecordedEvent:
    return RecordedEvent(row.stream, row.position, _topic(row), row.record, row.hash)


def _notification(row: StoredRow) -> Notification:
    return RecordedNotification(row.stream, row.position, _topic(row), row.record, row.gid, row.hash)


def _topic(row: StoredRow) -> str:
    if digest(row.record) != row.hash:
        raise broken(row.stream, row.position, "the record does not have the stored hash")
    fields = parse(row.record, run=row.stream, position=row.position)
    return topic_of(fields.get("name"), fields.get("version"))
