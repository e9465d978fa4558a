"""Writing to one stream: decide, append, and when somebody was first, read and decide again.

A handle appends on the state it has, without reading first; the store tells it when that state is old. What
it refuses, or finds to be said already, it first checks against what the store holds now.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from ledger.application.edge import Edge
from ledger.application.refusals import refusal_error
from ledger.codec import decode_chain, encode
from ledger.commands import Command
from ledger.errors import (
    GuardMoved,
    LedgerError,
    PositionConflict,
    StoreUnavailable,
)
from ledger.events import Event
from ledger.record import ZERO_HASH, Envelope, Record, Row, TermsMark
from ledger.run.decision import Decision, Given, Refusal
from ledger.run.sources import PREFIX, SourceState
from ledger.stores import forks
from ledger.stores.base import Append, Blob, Guard, SnapshotRow, StreamAppend
from ledger.values import Actor

log = logging.getLogger("ledger")

S = TypeVar("S")


class Head(NamedTuple):
    """Where a state stands in its stream."""

    position: int
    hash: bytes
    at: datetime | None
    terms: TermsMark | None


NOWHERE = Head(0, ZERO_HASH, None, None)


class Found(Generic[S], NamedTuple):
    """A state as it was read, and the snapshot it was read from."""

    state: S
    snapshot_at: int = 0
    """Position of the snapshot; 0: none."""
    snapshot_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Kind(Generic[S]):
    """What a kind of stream means: how it is folded, decided, and kept in snapshots."""

    head: Callable[[S], Head]
    evolve: Callable[[S, Record], S]
    decide: Callable[[S, Command, Given], Decision]
    load: Callable[[Edge, str], Found[S]]
    """Read the state as it is stored."""
    prior: Callable[[Edge, str, S, Command], Record | None]
    """Find what the store holds under a command's key beyond the state."""
    snapshot: Callable[[S], SnapshotRow] | None = None
    is_source: bool = False


class Stated(NamedTuple):
    """What became of a command."""

    position: int
    """Where the statement stands: of the last event appended, or of the first one that said the same."""
    records: tuple[Record, ...] = ()
    """What was appended; empty for a repeat."""

    @property
    def repeated(self) -> bool:
        """The same statement stood there already, and nothing was added."""
        return not self.records


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a command beside its content."""

    actor: Actor
    about: tuple[str, ...] = ()
    blobs: tuple[Blob, ...] = ()
    causation: str | None = None
    checked: bool = False
    """The command was built, and so checked, by the handle that asks."""
    correlation: str | None = None
    incarnation: int | None = None
    sources: Callable[[Command, bool], Mapping[str, SourceState]] = field(default=lambda command, fresh: {})
    """Read the source streams a command names; `fresh` after one of them moved."""


class _Draft(Generic[S], NamedTuple):
    """Events encoded on top of a state, and the state after them."""

    append: Append
    records: tuple[Record, ...]
    state: S


class Stream(Generic[S]):
    """One stream with the state it is known to have. Threads may share it; they take turns."""

    def __init__(self, edge: Edge, name: str, kind: Kind[S], found: Found[S]) -> None:
        self.edge = edge
        self.name = name
        self._kind = kind
        self._lock = threading.RLock()
        self._generation = forks.generation()
        self._begin(found)
        self._doubt: tuple[Command, _Draft[S]] | None = None

    def _begin(self, found: Found[S]) -> None:
        self._state, self._snapshot_at, self._snapshot_bytes = found
        self._head = self._kind.head(self._state)

    @property
    def state(self) -> S:
        """The state as last seen; it may have moved on."""
        return self._state

    @property
    def position(self) -> int:
        """Position of the state as last seen; 0 before the first event."""
        return self._head.position

    def catch_up(self) -> list[Record]:
        """Read and fold what was appended since; return it."""
        with self._turn():
            head = self._head
            if head.position == 0:
                self._begin(self._kind.load(self.edge, self.name))
                return []
            rows = self.edge.store.read(self.edge.tenant, self.name, after=head.position)
            chain = ((row.position, row.hash, row.record) for row in rows)
            records = list(
                decode_chain(
                    chain,
                    run=self.name,
                    after=head.position,
                    prev=head.hash,
                    tenant=self.edge.tenant,
                )
            )
            state = self._state
            for record in records:
                state = self._kind.evolve(state, record)
            self._state, self._head = state, self._kind.head(state)
            return records

    def do(self, command: Command, context: Context, *, expected: int | None = None) -> Stated:
        """Decide a command and append what it yields.

        Where somebody was first it is decided again on what they wrote, unless `expected` names the position
        it is meant for. Raises what a refusal or a conflict stands for.
        """
        with self._turn():
            known = self._settle_doubt(command)
            if known is not None:
                return known
            if expected is not None:
                self.expect(expected)
            earlier: tuple[Event, ...] = ()
            looked = False
            for attempt in count():
                decision = self._decide(command, context, earlier, looked)
                if isinstance(decision, Refusal) or not decision.events:
                    if looked:
                        return self._answer(decision, context)
                    # Neither a refusal nor a repeat is told on what may be old: the run, or a source.
                    looked = True
                    if self.position:
                        self.catch_up()
                    if expected is not None:
                        self.expect(expected)
                    continue
                draft = self._draft(decision.events, context, decision.guards)
                try:
                    return self._append(draft, command)
                except (PositionConflict, GuardMoved) as lost:
                    # A report is decided again until it is stored: refusing it would lose a fact.
                    if attempt + 1 >= self.edge.tries and not command.report:
                        raise
                    # First the pause, then the look: what is decided on must not have aged meanwhile.
                    self.edge.pause(attempt)
                    looked = False
                    if isinstance(lost, GuardMoved):
                        earlier = decision.events
                    else:
                        self._after_conflict(lost, expected)
            raise AssertionError("a count has no end")

    def append(
        self, events: Sequence[Event], context: Context, *, guards: Mapping[str, int] | None = None
    ) -> Stated:
        """Append events that happened elsewhere, without deciding them, at the position last seen.

        Raises:
            PositionConflict: somebody was first.
            GuardMoved: a source stream does not stand where the events rely on it.
        """
        with self._turn():
            return self._append(self._draft(tuple(events), context, guards or {}), None)

    def _turn(self) -> threading.RLock:
        """Return the lock by which threads take turns, a free one in a process that was forked off.

        The thread that held it at the fork is not there, and may have been in the middle of a change.
        """
        if self._generation != forks.generation():
            with forks.one_at_a_time:
                if self._generation != forks.generation():
                    self._lock = threading.RLock()
                    self._head = self._kind.head(self._state)
                    self._doubt = None
                    self._generation = forks.generation()
        return self._lock

    # --- deciding --------------------------------------------------------------------------------

    def _decide(
        self, command: Command, context: Context, earlier: tuple[Event, ...], looked: bool
    ) -> Decision:
        given = Given(
            actor=context.actor,
            now=self.edge.clock(),
            run=self.name,
            incarnation=context.incarnation,
            prior=self._kind.prior(self.edge, self.name, self._state, command),
            sources=context.sources(command, looked or bool(earlier)),
            earlier=earlier,
        )
        return self._kind.decide(self._state, command, given)

    def _answer(self, decision: Decision, context: Context) -> Stated:
        """Return where a repeat stands, or record and raise a refusal."""
        if not isinstance(decision, Refusal):
            assert decision.position is not None
            return Stated(decision.position)
        if decision.events:
            try:
                self._append(self._draft(decision.events, context, {}), None)
            except PositionConflict:
                # Somebody wrote meanwhile; the refusal stands, and the next request will record it.
                log.info("the refusal %s of %s lost a race and was not recorded", decision.rule, self.name)
        raise refusal_error(decision)

    def expect(self, expected: int) -> None:
        """Make sure the stream stands at a position.

        Raises:
            PositionConflict: it does not.
        """
        if self.position < expected:
            self.catch_up()
        if self.position != expected:
            raise PositionConflict(
                f"{self.name!r} stands at position {self.position}, expected was {expected}",
                run=self.name,
                expected=expected,
                actual=self.position,
            )

    def _after_conflict(self, conflict: PositionConflict, expected: int | None) -> None:
        if expected is not None:
            self.catch_up()
            raise conflict
        if not self.catch_up() and conflict.actual <= conflict.expected:
            # Another event stands where ours was seen, or the store was set back to before it: what this
            # handle holds is not what is stored, and deciding again would never end.
            raise conflict

    # --- appending -------------------------------------------------------------------------------

    def _draft(self, events: tuple[Event, ...], context: Context, guards: Mapping[str, int]) -> _Draft[S]:
        """Encode events one after another, each on the state the one before it leaves."""
        edge, kind, state, first = self.edge, self._kind, self._state, self._head
        now = edge.clock()
        at = now if first.at is None or first.at < now else first.at
        rows: list[Row] = []
        records: list[Record] = []
        prev, position = first.hash, first.position
        for event in events:
            position += 1
            terms = kind.head(state).terms if event.binds_terms else None
            envelope = Envelope(
                edge.tenant,
                self.name,
                position,
                prev,
                edge.ids(),
                at,
                context.actor,
                context.causation,
                context.correlation,
                terms,
                context.about,
            )
            row = encode(event, envelope, checked=context.checked)
            record = written(event, envelope, row.hash)
            state = kind.evolve(state, record)
            rows.append(row)
            records.append(record)
            prev = row.hash
        part = StreamAppend(self.name, first.position, first.hash, tuple(rows), kind.is_source)
        held = tuple(Guard(PREFIX + source, expected) for source, expected in guards.items())
        return _Draft(Append(edge.tenant, (part,), held, context.blobs), tuple(records), state)

    def _append(self, draft: _Draft[S], command: Command | None) -> Stated:
        try:
            result = self.edge.store.append(draft.append)
        except StoreUnavailable:
            if command is not None:
                self._doubt = command, draft
            raise
        if result.repeated:
            # What is stored may carry an earlier time than ours, and others may have gone on from it.
            ids = {record.id for record in draft.records}
            mine = tuple(record for record in self.catch_up() if record.id in ids)
            return Stated(draft.records[-1].position, mine)
        self._state, self._head = draft.state, self._kind.head(draft.state)
        self._keep_snapshot()
        records = tuple(
            record._replace(global_position=gid)
            for record, gid in zip(draft.records, result.gids, strict=True)
        )
        return Stated(records[-1].position, records)

    def _settle_doubt(self, command: Command) -> Stated | None:
        """Repeat an append whose fate is not known, when its command comes again.

        The same event ids at the same place are recognised, so that nothing is said twice.
        """
        if self._doubt is None:
            return None
        doubted, draft = self._doubt
        self._doubt = None
        if doubted != command:
            # Something else is said first: the same words later are then meant anew.
            return None
        try:
            return self._append(draft, command)
        except (PositionConflict, GuardMoved):
            return None  # it was not stored, and somebody else was first

    def _keep_snapshot(self) -> None:
        """Save the state now and then; that it fails never matters."""
        make, position = self._kind.snapshot, self.position
        every = SNAPSHOT_EVERY * (1 + self._snapshot_bytes // SNAPSHOT_BYTES)
        if make is None or position - self._snapshot_at < every:
            return
        try:
            snapshot = make(self._state)
            self._snapshot_at, self._snapshot_bytes = position, len(snapshot.state)
            self.edge.store.put_snapshot(self.edge.tenant, self.name, snapshot)
        except LedgerError as error:
            log.warning("no snapshot of %s at %s: %s", self.name, position, error)


SNAPSHOT_EVERY = 16
"""Events between two snapshots of a small contract."""

SNAPSHOT_BYTES = 8192
"""For each so many bytes of a snapshot, the next one comes another `SNAPSHOT_EVERY` events later, so that
writing snapshots never costs more than a tenth of appending."""


def written(event: Event, envelope: Envelope, hash: bytes) -> Record:
    """Build the record of an event that was just encoded, as reading it would."""
    return Record(
        tenant=envelope.tenant,
        run=envelope.run,
        position=envelope.position,
        hash=hash,
        prev=envelope.prev,
        id=envelope.id,
        name=event.name,
        version=event.version,
        at=envelope.at,
        actor=envelope.actor,
        causation=envelope.causation,
        correlation=envelope.correlation,
        terms=envelope.terms,
        about=envelope.about,
        event=event,
    )
