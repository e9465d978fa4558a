"""The recorders of an eventsourcing application: its events on the ledger's tables, one stream an aggregate.

Versions of an aggregate rise; they may start anywhere and leave gaps. An insert builds on the last event of
each stream it touches, so the store's rule of one winner for each position also decides who wins a version.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    IntegrityError,
    Notification,
    NotSupportedError,
    OperationalError,
    StoredEvent,
)

from ledger.codec import encode
from ledger.errors import PositionConflict
from ledger.events import ForeignRecorded
from ledger.record import ZERO_HASH, Envelope, Row
from ledger.stores.base import Append, StoredRow, StreamAppend
from ledger.stores.recording.errors import translated
from ledger.stores.recording.foreign import EVENTS, Archive, unwrap, verified, wrap
from ledger.stores.recording.ordered import OrderedRecorder
from ledger.stores.recording.sequence import ApplicationSequence
from ledger.stores.recording.versions import position_of

_TRIES = 64
"""Lost races in a row, each to somebody who stored other versions of the same aggregate."""


class LedgerAggregateRecorder(AggregateRecorder):
    """Stores and selects the events of aggregates."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        """Store events of one or several aggregates durably, all or none.

        Raises:
            IntegrityError: the version of an event is not above all that its aggregate has.
            NotSupportedError: a tracking record is to be stored with them, or the events of an aggregate do
                not stand together: each aggregate is appended in one piece, in another order than given.
            DataError: an event does not fit into a record of the ledger.
            OperationalError: the store is busy or unavailable.
        """
        refuse_tracking(kwargs)
        self._insert(stored_events)
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
        """Read the events of an aggregate with gt < version ≤ lte."""
        with translated():
            archive = self._archive
            stream = EVENTS + archive.id_text(originator_id)
            after, upto = 0, None
            if gt is not None or lte is not None or (desc and limit is not None):
                head = archive.head(stream)
                if head is None:
                    return []
                after = 0 if gt is None else position_of(gt, archive, head)
                upto = head.position if lte is None else position_of(lte, archive, head)
                if desc and limit is not None:
                    after = max(after, upto - limit)
                if after >= upto:
                    return []
            rows = archive.store.read(archive.tenant, stream, after=after, upto=upto, limit=limit)
            return [unwrap(archive.tenant, row, originator_id) for row in (reversed(rows) if desc else rows)]

    def _insert(self, stored_events: Sequence[StoredEvent]) -> list[int]:
        if not stored_events:
            return []
        with translated():
            wanted = self._by_stream(stored_events)
            for _ in range(_TRIES):
                parts = tuple(self._on_top(stream, events) for stream, events in wanted)
                try:
                    return list(self._archive.append(Append(self._archive.tenant, parts)).gids)
                except PositionConflict:
                    # Somebody was first. Whether it was with one of these versions shows on top of theirs.
                    continue
        raise OperationalError(f"{_TRIES} times in a row others appended to the same aggregates: try again")

    def _by_stream(self, stored_events: Sequence[StoredEvent]) -> list[tuple[str, list[ForeignRecorded]]]:
        wanted = [
            (EVENTS + self._archive.id_text(originator_id), [wrap(stored) for stored in events])
            for originator_id, events in groupby(stored_events, lambda stored: stored.originator_id)
        ]
        if len({stream for stream, _ in wanted}) != len(wanted):
            raise NotSupportedError(
                "the events of one aggregate stand apart in one insert: put them next to each other"
            )
        for stream, events in wanted:
            for one, next_one in pairwise(events):
                if next_one.originator_version <= one.originator_version:
                    raise _taken(stream, next_one.originator_version, one.originator_version)
        return wanted

    def _on_top(self, stream: str, events: list[ForeignRecorded]) -> StreamAppend:
        """Encode events on top of the last one that is stored.

        Raises:
            IntegrityError: their versions are not above its version.
        """
        archive = self._archive
        head = archive.head(stream)
        now = archive.clock()
        expected, prev = 0, ZERO_HASH
        if head is not None:
            record, last = verified(archive.tenant, head)
            if events[0].originator_version <= last.originator_version:
                raise _taken(stream, events[0].originator_version, last.originator_version)
            expected, prev, now = head.position, head.hash, max(now, record.at)
        rows: list[Row] = []
        position, before = expected, prev
        for event in events:
            position += 1
            envelope = Envelope(archive.tenant, stream, position, before, archive.ids(), now, archive.actor)
            rows.append(encode(event, envelope))
            before = rows[-1].hash
        return StreamAppend(stream, expected, prev, tuple(rows))


class LedgerApplicationRecorder(LedgerAggregateRecorder, OrderedRecorder):
    """Stores the events of an application, and reads them in the order in which they were stored.

    Notification ids are global positions of the ledger.
    """

    def __init__(self, archive: Archive) -> None:
        super().__init__(archive)
        self._sequence = ApplicationSequence(
            archive.store,
            archive.tenant,
            lambda stream: stream.startswith(EVENTS),
            self._notification,
        )

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> list[int]:
        """Store events as LedgerAggregateRecorder does, and return their notification ids."""
        refuse_tracking(kwargs)
        return self._insert(stored_events)

    def _notification(self, row: StoredRow) -> Notification:
        stored = unwrap(self._archive.tenant, row, self._archive.originator_id(row.stream))
        return Notification(**vars(stored), id=row.gid)


def refuse_tracking(kwargs: dict[str, Any]) -> None:
    """Refuse to store a tracking record with events, which no recorder here can.

    Raises:
        NotSupportedError: there is one among the arguments.
    """
    if kwargs.get("tracking") is not None:
        raise NotSupportedError("the ledger's recorders keep no tracking records: use a tracking recorder")


def _taken(stream: str, version: int, last: int) -> IntegrityError:
    return IntegrityError(
        f"{stream} stands at version {last}, so it cannot take an event of version {version}"
    )
