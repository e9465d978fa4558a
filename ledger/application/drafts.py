"""Drafts: events encoded one after another on top of a state, ready to be appended together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ledger.application.edge import Edge
from ledger.application.kind import Kind, Prior, Seen
from ledger.application.statements import Context
from ledger.canonical import invalid
from ledger.codec import encode
from ledger.events import Event
from ledger.record import Envelope, Record, Row
from ledger.run.decision import Admitted, Refusal
from ledger.run.sources import PREFIX
from ledger.stores.base import Append, Blob, Fresh, Guard, StreamAppend

S = TypeVar("S")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
        "_others",
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
        self._fresh: tuple[Fresh, ...] = ()
        self._others: list[Draft[S]] = []
        self.seen = seen
        """The state after what is drafted, and where it will stand."""
        self.records: list[Record] = []
        self.size = 0
        """Bytes of the records."""

    def admits(self, guards: Mapping[str, int]) -> bool:
        """Tell whether guards agree with those that are here already."""
        mine = self._guards
        return all(mine.get(name, expected) == expected for name, expected in guards.items())

    def holds(self, wanted: Prior) -> bool:
        """Tell whether what is to be looked up in the store is among what is drafted."""
        key, act = wanted.key, wanted.act
        return any(row.key == key is not None or row.act == act is not None for row in self._rows)

    def add(
        self,
        decision: Admitted | Refusal,
        context: Context,
        now: datetime,
        others: Mapping[str, S] = _NOTHING,
    ) -> None:
        """Encode the events of a decision, each on the state that the one before it leaves.

        Args:
            decision: what was decided.
            context: what surrounds the command.
            now: the time it was decided at.
            others: the states of other streams that it adds to; any other that it names begins with it.

        Raises:
            InvalidInput: an event cannot be encoded, or is too large; `path` says where.
        """
        self._add_events(decision.events, context, now)
        if isinstance(decision, Admitted):
            for name, events in decision.beside.items():
                state = others.get(name)
                seen = Seen(state, self._kind.head(state))  # type: ignore[arg-type]
                other: Draft[S] = Draft(self._edge, name, self._kind, seen)  # type: ignore[arg-type]
                other._add_events(events, context, now)
                self._others.append(other)
            if decision.guards:
                self._guards.update(decision.guards)
            if decision.fresh:
                self._fresh += tuple(Fresh(*act) for act in decision.fresh)
        if context.blobs:
            self._blobs += context.blobs

    def _add_events(self, events: Iterable[Event], context: Context, now: datetime) -> None:
        edge, kind = self._edge, self._kind
        state, head = self.seen
        at = now if head.at is None or head.at < now else head.at
        rows: list[Row] = []
        records: list[Record] = []
        folded = 0
        prev, position, size = head.hash, head.position, 0
        for event in events:
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
        self.seen = Seen(state, kind.head(state))

    def append(self) -> Append:
        """Return what is drafted, as a store takes it."""
        parts = tuple(draft._part() for draft in (self, *self._others) if draft._rows)
        guards = tuple(Guard(PREFIX + source, expected) for source, expected in self._guards.items())
        return Append(self._edge.tenant, parts, guards, self._blobs, self._fresh)

    def _part(self) -> StreamAppend:
        first = self._first
        return StreamAppend(self._name, first.position, first.hash, tuple(self._rows), self._kind.is_source)


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
