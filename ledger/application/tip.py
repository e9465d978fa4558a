"""The tip of a stream: the state as last seen, what is appended on it, and what others appended since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar

from ledger.application.doubts import about, is_from, naming
from ledger.application.drafts import Draft
from ledger.application.edge import Edge
from ledger.application.kind import Found, Kind, Seen
from ledger.application.payloads import CLASSES
from ledger.application.rows import chained, decoded
from ledger.application.snapshots import Saving
from ledger.application.statements import Context, Stated, Statement
from ledger.application.steps import Call, Send, Steps
from ledger.canonical import invalid
from ledger.errors import LedgerError, PositionConflict, StoreUnavailable
from ledger.events import Event
from ledger.record import Record, event_id
from ledger.run.decision import Admitted, Refusal
from ledger.stores.base import Appended, StoredRow
from ledger.values.faults import no_such

S = TypeVar("S")


class Tip(Generic[S]):
    """A stream as it was last seen: read on from there, and append there."""

    __slots__ = ("_saving", "edge", "kind", "name", "seen")

    def __init__(self, edge: Edge, name: str, kind: Kind[S], found: Found[S]) -> None:
        self.edge = edge
        self.name = name
        self.kind = kind
        self._begin(found)

    def _begin(self, found: Found[S]) -> None:
        self.seen = Seen(found.state, self.kind.head(found.state))
        self._saving = Saving(self.edge, self.name, found.snapshot_at, found.snapshot_bytes)

    @property
    def position(self) -> int:
        """Position of the state as last seen; 0 before the first event."""
        return self.seen.head.position

    def look(self) -> Steps[list[Record]]:
        """Read and fold what was appended since; return it."""
        if self.position == 0:
            self._begin((yield Call(partial(self.kind.load, self.edge, self.name))))
            return []
        records: list[Record]
        self.seen, records = yield Call(partial(self._read_on, self.seen))
        return records

    def import_events(
        self, events: Sequence[Event], context: Context, guards: Mapping[str, int]
    ) -> Steps[Stated]:
        """Append events that happened elsewhere, without deciding them, at the position last seen.

        Raises:
            InvalidInput: a content is of no class that the ledger keeps.
            PositionConflict: somebody was first.
            GuardMoved: a source stream does not stand where the events rely on it.
        """
        for blob in context.blobs:
            if blob.kind not in CLASSES:
                # No expiry could name it, and no other ledger would take it in.
                raise invalid("blobs", f"{blob.kind!r:.50}: {no_such('class', blob.kind, CLASSES)}")
        imported = Statement()
        try:
            draft = self.draft(Admitted(tuple(events), guards), context, self.edge.now())
            stated = yield from self.append(draft, imported)
        except StoreUnavailable as error:
            raise naming(error, imported.doubts) from error
        if self.is_save_due:
            yield from self.save()
        return stated

    def expect(self, expected: int) -> Steps[None]:
        """Make sure the stream stands at a position.

        Raises:
            PositionConflict: it does not.
        """
        if self.position < expected:
            yield from self.look()
        if self.position != expected:
            raise PositionConflict(
                f"{self.name!r} stands at position {self.position}, expected was {expected}",
                run=self.name,
                expected=expected,
                actual=self.position,
            )

    def is_stored(self) -> bool:
        """Ask the store whether what was seen last still stands there; it does not where it was set back."""
        head = self.seen.head
        rows = self.edge.store.read(self.edge.tenant, self.name, after=head.position - 1, limit=1)
        return [row.hash for row in rows] == [head.hash]

    @property
    def is_save_due(self) -> bool:
        """Tell whether the last snapshot lies far enough behind."""
        return self._saving.is_due(self.seen.head.position)

    def save(self) -> Steps[None]:
        """Save a snapshot, where this kind of stream has them."""
        if self.kind.snapshot is not None:
            yield from self._saving.keep(self.position, partial(self.kind.snapshot, self.seen.state))

    def _read_on(self, seen: Seen[S]) -> tuple[Seen[S], list[Record]]:
        rows = self.edge.store.read(self.edge.tenant, self.name, after=seen.head.position)
        if not rows:
            return seen, []
        records = list(chained(self.edge, rows, self.name, seen.head.position, seen.head.hash))
        state = seen.state
        for record in records:
            state = self.kind.evolve(state, record)
        return Seen(state, self.kind.head(state)), records

    # --- appending -------------------------------------------------------------------------------

    def draft(
        self,
        decision: Admitted | Refusal,
        context: Context,
        now: datetime,
        others: Mapping[str, S] | None = None,
    ) -> Draft[S]:
        """Draft what was decided on what was seen, and on other streams that it adds to."""
        draft = Draft(self.edge, self.name, self.kind, self.seen)
        draft.add(decision, context, now, others or {})
        return draft

    def append(self, draft: Draft[S], statement: Statement) -> Steps[Stated]:
        """Append a draft; where its fate is not known, note on the statement what is in doubt."""
        try:
            result: Appended = yield Send(draft.append())
            if not result.repeated:
                return Stated(draft.seen.head.position, tuple(self.moved(draft, result)))
        except BaseException as error:
            if isinstance(error, StoreUnavailable) or not isinstance(error, LedgerError):
                self._sent(statement, draft)
            raise
        try:
            return Stated(draft.seen.head.position, tuple((yield from self.met(draft))))
        except BaseException:
            self._sent(statement, draft)
            raise

    def _sent(self, statement: Statement, draft: Draft[S]) -> None:
        # What only begins another stream is found again by the name of that one.
        if draft.records:
            statement.doubts = (about(self.name, draft.records), *statement.doubts)

    def moved(self, draft: Draft[S], result: Appended) -> list[Record]:
        """Move on to what was appended, and return it."""
        self.seen = draft.seen
        # The gids of other streams come behind those of this one.
        gids = result.gids[: len(draft.records)]
        return [Record._make((*record[:-1], gid)) for record, gid in zip(draft.records, gids, strict=True)]

    def met(self, draft: Draft[S]) -> Steps[list[Record]]:
        """Read what was stored already: it may carry an earlier time, and others may have gone on from it."""
        if not draft.records:
            return []
        first, last = draft.records[0].position, draft.records[-1].position
        rows = yield Call(partial(self._at, first - 1, last))
        yield from self.look()
        return list(map(decoded, rows))

    def landed(self, statement: Statement) -> Steps[Stated | None]:
        """Look whether one of the earlier tries was stored; forget those that cannot be any more."""
        doubts = statement.doubts
        for after in dict.fromkeys(doubt.after for doubt in doubts):
            there = [doubt for doubt in doubts if doubt.after == after]
            rows = yield Call(partial(self._at, after, after + max(len(doubt.ids) for doubt in there)))
            ids = tuple(event_id(row.record) for row in rows)
            for doubt in there:
                if doubt.ids and ids[: len(doubt.ids)] == doubt.ids:
                    if after + len(doubt.ids) > self.position:
                        yield from self.look()
                    records = tuple(decoded(row) for row in rows[: len(doubt.ids)])
                    self._refuse_others(statement, records)
                    return Stated(records[-1].position, records)
            if rows:
                # Others stand in its place: it was not stored and never will be.
                statement.doubts = tuple(doubt for doubt in statement.doubts if doubt.after != after)
        return None

    def _refuse_others(self, statement: Statement, records: tuple[Record, ...]) -> None:
        """Refuse to tell what somebody sent with another command as what this one came to."""
        assert statement.command is not None
        if not is_from(statement.command, [record.event for record in records]):
            statement.doubts = ()  # none of them is of this command
            reason = f"that error is of another command: it stored {records[0].name} at {records[0].position}"
            raise invalid("again", reason)

    def _at(self, after: int, upto: int) -> list[StoredRow]:
        return self.edge.store.read(self.edge.tenant, self.name, after=after, upto=upto)
