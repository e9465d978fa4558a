"""Writing to one stream: decide, append, and when somebody was first, read and decide again.

A stream appends on the state it has, without reading first; the store tells it when that state is old. What
it refuses, or finds to be said already, it first checks against what the store holds now. Statements that
wait together are decided one after another on the same state and appended together.

Everything here is a generator of steps: who drives it decides how to wait, and drives one at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import count
from typing import Generic, TypeVar

from ledger.application.doubts import Doubt, Doubts
from ledger.application.drafts import Draft
from ledger.application.edge import Edge
from ledger.application.kind import Found, Kind, Seen
from ledger.application.refusals import refusal_error
from ledger.application.rows import chained, decoded
from ledger.application.snapshots import Saving
from ledger.application.statements import Context, Stated, Statement, source_of
from ledger.application.steps import Call, Send, Steps
from ledger.commands import Command
from ledger.errors import GuardMoved, LedgerError, PositionConflict, StoreBusy, StoreUnavailable
from ledger.events import Event
from ledger.record import Record, event_id
from ledger.run.decision import Decision, Given, Refusal
from ledger.stores.base import Appended, StoredRow

log = logging.getLogger("ledger")

S = TypeVar("S")


class Stream(Generic[S]):
    """One stream with the state it is known to have."""

    def __init__(self, edge: Edge, name: str, kind: Kind[S], found: Found[S]) -> None:
        self.edge = edge
        self.name = name
        self._kind = kind
        self._doubts = Doubts(name)
        self._begin(found)

    def _begin(self, found: Found[S]) -> None:
        self._seen = Seen(found.state, self._kind.head(found.state))
        self._saving = Saving(self.edge, self.name, found.snapshot_at, found.snapshot_bytes)

    @property
    def state(self) -> S:
        """The state as last seen; it may have moved on."""
        return self._seen.state

    @property
    def position(self) -> int:
        """Position of the state as last seen; 0 before the first event."""
        return self._seen.head.position

    def after_fork(self) -> None:
        """Leave to the other process what it is in doubt about."""
        self._doubts.clear()

    def settle(self, statements: Sequence[Statement]) -> Steps[None]:
        """Answer each of these statements: its `outcome` is what it came to, or what to raise."""
        if len(statements) > 1:
            yield from self._say_together([one for one in statements if one.command is not None])
        looking = False
        for one in statements:
            if one.command is None:
                looking = True
            elif one.outcome is None:
                try:
                    one.outcome = yield from self._say(one)
                except Exception as error:  # noqa: BLE001  it is the asker's
                    one.outcome = error
        if looking:
            yield from self._look_for([one for one in statements if one.command is None])
        if self._saving.is_due(self.position):
            yield from self._save()

    def _look_for(self, looking: Sequence[Statement]) -> Steps[None]:
        try:
            yield from self.look()
            outcome: Stated | Exception = Stated(self.position)
        except Exception as error:  # noqa: BLE001
            outcome = error
        for one in looking:
            one.outcome = copy(outcome)

    def look(self) -> Steps[list[Record]]:
        """Read and fold what was appended since; return it."""
        if self.position == 0:
            self._begin((yield Call(partial(self._kind.load, self.edge, self.name))))
            return []
        records: list[Record]
        self._seen, records = yield Call(partial(self._read_on, self._seen))
        return records

    def append(self, events: Sequence[Event], context: Context, guards: Mapping[str, int]) -> Steps[Stated]:
        """Append events that happened elsewhere, without deciding them, at the position last seen.

        Raises:
            PositionConflict: somebody was first.
            GuardMoved: a source stream does not stand where the events rely on it.
        """
        stated = yield from self._append(self._draft(events, context, guards), None)
        if self._saving.is_due(self.position):
            yield from self._save()
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
        head = self._seen.head
        rows = self.edge.store.read(self.edge.tenant, self.name, after=head.position - 1, limit=1)
        return [row.hash for row in rows] == [head.hash]

    def _save(self) -> Steps[None]:
        if self._kind.snapshot is not None:
            yield from self._saving.keep(self._kind.snapshot(self._seen.state))

    def _read_on(self, seen: Seen[S]) -> tuple[Seen[S], list[Record]]:
        rows = self.edge.store.read(self.edge.tenant, self.name, after=seen.head.position)
        if not rows:
            return seen, []
        records = list(chained(self.edge, rows, self.name, seen.head.position, seen.head.hash))
        state = seen.state
        for record in records:
            state = self._kind.evolve(state, record)
        return Seen(state, self._kind.head(state)), records

    # --- one statement by itself -----------------------------------------------------------------

    def _say(self, statement: Statement) -> Steps[Stated]:
        doubts = self._doubts.of(statement)
        stated = (yield from self._stored(doubts)) if doubts else None
        if stated is None:
            stated = yield from self._try(statement, doubts)
        self._doubts.settle(statement)
        return stated

    def _try(self, statement: Statement, doubts: tuple[Doubt, ...]) -> Steps[Stated]:
        """Decide a command and append what it yields, again and again where somebody was first."""
        command, context, expected = statement.command, statement.context, statement.expected
        assert command is not None
        assert context is not None
        if expected is not None:
            yield from self.expect(expected)
        earlier: tuple[Event, ...] = ()
        looked = False
        for attempt in count():
            state = self._seen.state
            given = self._given(statement, earlier)
            if self._is_about_more(state, command):
                given = yield from self._found_out(state, statement, given, looked)
            decision = self._kind.decide(state, command, given)
            if isinstance(decision, Refusal) or not decision.events:
                if looked:
                    return (yield from self._told(decision, context))
                # Neither a refusal nor a repeat is told on what may be old: the run, or a source.
                looked = True
                if self.position:
                    yield from self.look()
                if expected is not None:
                    yield from self.expect(expected)
                continue
            try:
                draft = self._draft(decision.events, context, decision.guards)
                return (yield from self._append(draft, statement))
            except (PositionConflict, GuardMoved) as lost:
                # A report is decided again until it is stored: refusing it would lose a fact.
                if attempt + 1 >= self.edge.tries and not command.report:
                    raise
                # First the pause, then the look: what is decided on must not have aged meanwhile.
                yield Call(partial(self.edge.pause, attempt))
                looked = False
                if isinstance(lost, GuardMoved):
                    earlier = decision.events
                    continue
                yield from self._after_conflict(lost, expected)
            # What took the place may be what was sent the first time, landed late.
            landed = yield from self._stored(doubts)
            if landed is not None:
                return landed
        raise AssertionError("a count has no end")

    def _given(self, statement: Statement, earlier: tuple[Event, ...]) -> Given:
        context = statement.context
        assert context is not None
        now = self.edge.clock()
        return Given(context.actor, now, self.name, context.incarnation, earlier=earlier)

    def _is_about_more(self, state: S, command: Command) -> bool:
        """Tell whether a command is decided on more than the state."""
        return source_of(command) is not None or self._kind.prior(self.name, state, command) is not None

    def _found_out(self, state: S, statement: Statement, given: Given, fresh: bool) -> Steps[Given]:
        """Read what a command is decided on beside the state."""
        command, context = statement.command, statement.context
        assert command is not None
        assert context is not None
        digest = self._kind.prior(self.name, state, command)
        if digest is not None:
            given = given._replace(prior=(yield Call(partial(self._prior, digest))))
        source = source_of(command)
        if source is not None and context.sources is not None:
            read = partial(context.sources, source, fresh or bool(given.earlier))
            given = given._replace(sources=(yield Call(read)))
        return given

    def _prior(self, digest: bytes) -> tuple[Record, ...]:
        rows = self.edge.store.find(self.edge.tenant, key=digest, limit=PRIOR)
        return tuple(map(decoded, rows))

    def _told(self, decision: Decision, context: Context) -> Steps[Stated]:
        """Return where a repeat stands, or record and raise a refusal."""
        if not isinstance(decision, Refusal):
            assert decision.position is not None
            return Stated(decision.position)
        if decision.events:
            try:
                yield from self._append(self._draft(decision.events, context, {}), None)
            except PositionConflict:
                # Somebody wrote meanwhile; the refusal stands, and the next request will record it.
                log.info("the refusal %s of %s lost a race and was not recorded", decision.rule, self.name)
        raise refusal_error(decision)

    def _after_conflict(self, lost: PositionConflict, expected: int | None) -> Steps[None]:
        records = yield from self.look()
        if expected is not None:
            raise lost
        if not records and lost.actual <= lost.expected:
            # Another event stands where ours was seen, or the store was set back to before it: what is held
            # here is not what is stored, and deciding again on it would never end.
            raise lost

    # --- several statements together -------------------------------------------------------------

    def _say_together(self, statements: Iterable[Statement]) -> Steps[None]:
        """Answer as many as can be appended together; what needs a closer look is left without an outcome."""
        waiting = [
            one
            for one in statements
            if one.expected is None and one.again is None and not self._doubts.of(one)
        ]
        for attempt in range(self.edge.tries):
            draft, said = yield from self._drafted(waiting)
            if len(said) < 2:
                return
            try:
                result: Appended = yield Send(draft.append())
            except PositionConflict as lost:
                yield Call(partial(self.edge.pause, attempt))
                try:
                    records = yield from self.look()
                except LedgerError:
                    return
                if not records and lost.actual <= lost.expected:
                    return
            except (StoreUnavailable, StoreBusy) as error:
                for one, sent in _shares(said, draft.records):
                    one.outcome = self._not_sent(error, sent, one)
                return
            except LedgerError:
                return  # something of one of them stands in the way of all: each goes by itself
            else:
                repeated = result.repeated
                appended = (yield from self._met(draft)) if repeated else self._moved(draft, result)
                for one, mine in _shares(said, appended):
                    one.outcome = Stated(mine[-1].position, tuple(mine))
                return

    def _drafted(self, waiting: Sequence[Statement]) -> Steps[tuple[Draft[S], list[tuple[Statement, int]]]]:
        """Decide statements one after another, and draft what they yield; say how many events each has."""
        draft = Draft(self.edge, self.name, self._kind, self._seen)
        said: list[tuple[Statement, int]] = []
        for one in waiting:
            if draft.size >= TOGETHER_BYTES:
                break
            try:
                assert one.command is not None
                state, given = draft.seen.state, self._given(one, ())
                if self._is_about_more(state, one.command):
                    given = yield from self._found_out(state, one, given, False)
                decision = self._kind.decide(state, one.command, given)
                if isinstance(decision, Refusal) or not decision.events or not draft.admits(decision.guards):
                    continue
                assert one.context is not None
                draft.add(decision.events, one.context, decision.guards)
            except LedgerError:
                continue
            said.append((one, len(decision.events)))
        return draft, said

    # --- appending -------------------------------------------------------------------------------

    def _draft(self, events: Sequence[Event], context: Context, guards: Mapping[str, int]) -> Draft[S]:
        draft = Draft(self.edge, self.name, self._kind, self._seen)
        draft.add(events, context, guards)
        return draft

    def _append(self, draft: Draft[S], statement: Statement | None) -> Steps[Stated]:
        try:
            result: Appended = yield Send(draft.append())
        except StoreUnavailable as error:
            raise self._not_sent(error, draft.records, statement) from error
        records = (yield from self._met(draft)) if result.repeated else self._moved(draft, result)
        return Stated(draft.records[-1].position, tuple(records))

    def _moved(self, draft: Draft[S], result: Appended) -> list[Record]:
        """Move on to what was appended, and return it."""
        self._seen = draft.seen
        return [
            record._replace(global_position=gid)
            for record, gid in zip(draft.records, result.gids, strict=True)
        ]

    def _met(self, draft: Draft[S]) -> Steps[list[Record]]:
        """Read what was stored already: it may carry an earlier time, and others may have gone on from it."""
        ids = {record.id for record in draft.records}
        return [record for record in (yield from self.look()) if record.id in ids]

    # --- lost acknowledgements -------------------------------------------------------------------

    def _not_sent(
        self, error: LedgerError, records: Sequence[Record], statement: Statement | None
    ) -> LedgerError:
        """Return what to raise where the store did not answer, and keep the doubt about what was sent."""
        if not isinstance(error, StoreUnavailable):
            return copy(error)
        doubt = Doubt.about(self.name, tuple(records))
        if statement is not None:
            self._doubts.keep(statement, doubt)
        return doubt.told(error)

    def _stored(self, doubts: Iterable[Doubt]) -> Steps[Stated | None]:
        """Look whether something that is in doubt was stored; then it is none any more."""
        for doubt in doubts:
            rows = yield Call(partial(self._at_its_place, doubt))
            if tuple(event_id(row.record) for row in rows) == doubt.ids:
                if rows[-1].position > self.position:
                    yield from self.look()
                records = tuple(decoded(row) for row in rows)
                return Stated(records[-1].position, records)
        return None

    def _at_its_place(self, doubt: Doubt) -> list[StoredRow]:
        upto = doubt.after + len(doubt.ids)
        return self.edge.store.read(self.edge.tenant, self.name, after=doubt.after, upto=upto)


def _shares(
    said: Iterable[tuple[Statement, int]], records: Sequence[Record]
) -> Iterable[tuple[Statement, Sequence[Record]]]:
    """Deal records out to the statements they come from."""
    first = 0
    for statement, number in said:
        yield statement, records[first : first + number]
        first += number


PRIOR = 8
"""Newest records under a command's key that it is decided on."""

TOGETHER_BYTES = 1024 * 1024
"""Statements that wait are drafted together until their records take so much."""
