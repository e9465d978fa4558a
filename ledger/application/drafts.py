"""Drafts: events encoded one after another on top of a state, ready to be appended together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar

from ledger.application.edge import Edge
from ledger.application.kind import Kind, Seen
from ledger.application.statements import Context
from ledger.canonical import invalid
from ledger.codec import encode
from ledger.events import Event
from ledger.record import Envelope, Record, Row
from ledger.run.decision import Admitted, Refusal
from ledger.run.sources import PREFIX
from ledger.stores.base import Append, Blob, Guard, StreamAppend

S = TypeVar("S")


class Draft(Generic[S]):
    """An append in the making. What cannot be encoded leaves it as it was."""

    __slots__ = (
        "_blobs",
        "_edge",
        "_first",
        "_fresh",
        "_guards",
        "_kind",
        "_name",
        "_rows",
        "records",
        "seen",
        "size",
    )

    def __init__(self, edge: Edge, name: str, kind: Kind[S], seen: Seen[S]) -> None:
        self._edge = edge
        self._name = name
        self._kind = kind
        self._first = seen.head
        self._rows: list[Row] = []
        self._guards: dict[str, int] = {}
        self._blobs: tuple[Blob, ...] = ()
        self._fresh: tuple[bytes, ...] = ()
        self.seen = seen
        """The state after what is drafted, and where it will stand."""
        self.records: list[Record] = []
        self.size = 0
        """Bytes of the records."""

    def admits(self, guards: Mapping[str, int]) -> bool:
        """Tell whether guards agree with those that are here already."""
        mine = self._guards
        return all(mine.get(name, expected) == expected for name, expected in guards.items())

    def add(self, decision: Admitted | Refusal, context: Context, now: datetime) -> None:
        """Encode the events of a decision, each on the state that the one before it leaves.

        Raises:
            InvalidInput: an event cannot be encoded, or is too large; `path` says where.
        """
        edge, kind = self._edge, self._kind
        state, head = self.seen
        at = now if head.at is None or head.at < now else head.at
        rows: list[Row] = []
        records: list[Record] = []
        folded = 0
        prev, position, size = head.hash, head.position, 0
        for event in decision.events:
            position += 1
            id = edge.ids()
            if type(id) is not str:
                raise invalid("ids", f"a source of ids returns texts, not {id!r:.50}")
            if event.binds_terms and folded < len(records):
                state, folded = kind.replay(records[folded:], state), len(records)
            envelope = Envelope(
                edge.tenant,
                self._name,
                position,
                prev,
                id,
                at,
                context.actor,
                context.causation,
                context.correlation,
                kind.head(state).terms if event.binds_terms else None,
                context.about,
            )
            row = encode(event, envelope, checked=context.checked)
            rows.append(row)
            records.append(written(event, envelope, row.hash))
            prev = row.hash
            size += len(row.record)
        # Thousands of acceptances come in one import, and each changes the terms, which are long then: they
        # are worked out where an event records them, and at the end.
        state = kind.replay(records[folded:], state)
        self._rows += rows
        self.records += records
        self.size += size
        if isinstance(decision, Admitted):
            if decision.guards:
                self._guards.update(decision.guards)
            if decision.fresh:
                self._fresh += decision.fresh
        if context.blobs:
            self._blobs += context.blobs
        self.seen = Seen(state, kind.head(state))

    def append(self) -> Append:
        """Return what is drafted, as a store takes it."""
        first = self._first
        part = StreamAppend(self._name, first.position, first.hash, tuple(self._rows), self._kind.is_source)
        guards = tuple(Guard(PREFIX + source, expected) for source, expected in self._guards.items())
        return Append(self._edge.tenant, (part,), guards, self._blobs, self._fresh)


def written(event: Event, envelope: Envelope, hash: bytes) -> Record:
    """Build the record of an event that was just encoded, as reading it would."""
    tenant, run, position, prev, id, at, actor, causation, correlation, terms, about = envelope
    name, version = event.name, event.version
    return Record(
        tenant,
        run,
        position,
        hash,
        prev,
        id,
        name,
        version,
        at,
        actor,
        causation,
        correlation,
        terms,
        about,
        event,
    )
