"""Writing to one stream: decide, append, and when somebody was first, read and decide again.

A stream appends on the state it has, without reading first; the store tells it when that state is old. What
it refuses, or finds to be said already, it first checks against what the store holds now. Statements that
wait together are decided one after another on the same state and appended together.

Everything here is a generator of steps: who drives it decides how to wait, and drives one at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from functools import partial
from itertools import count
from typing import Generic, TypeVar, cast

from ledger.application.doubts import Doubts, about, cut_short, naming
from ledger.application.drafts import Draft
from ledger.application.edge import Edge
from ledger.application.kind import Found, Kind, Prior
from ledger.application.refusals import refusal_error
from ledger.application.rows import decoded
from ledger.application.statements import Context, Stated, Statement
from ledger.application.steps import Call, Send, Steps
from ledger.application.tip import Tip
from ledger.commands import (
    CloseRun,
    Command,
    DropStates,
    ForkRun,
    NarrowAuthority,
    OpenChild,
    RestartRun,
    ResumeRun,
    RevokeAuthority,
)
from ledger.errors import (
    ActKnown,
    EffectInFlight,
    GuardMoved,
    InvalidInput,
    LedgerError,
    PositionConflict,
    StoreBusy,
    StoreUnavailable,
)
from ledger.events import Event
from ledger.record import Record
from ledger.run.decision import Decision, Given, Refusal
from ledger.run.sources import PREFIX, SourceState
from ledger.stores.base import Appended

log = logging.getLogger("ledger")

S = TypeVar("S")


class Stream(Generic[S]):
    """One stream with the state it is known to have."""

    def __init__(self, edge: Edge, name: str, kind: Kind[S], found: Found[S]) -> None:
        self.edge = edge
        self.name = name
        self.tip = Tip(edge, name, kind, found)
        self._kind = kind
        self.doubts = Doubts(name)
        self._unheard: list[Statement] = []

    @property
    def state(self) -> S:
        """The state as last seen; it may have moved on."""
        return self.tip.seen.state

    @property
    def position(self) -> int:
        """Position of the state as last seen; 0 before the first event."""
        return self.tip.seen.head.position

    def __repr__(self) -> str:
        name, tenant = self.name.removeprefix(PREFIX), self.edge.tenant
        return f"{name!r} of tenant {tenant!r} at position {self.position}"

    def after_fork(self) -> None:
        """Leave to the other process what it is in doubt about."""
        self.doubts.clear()

    def unheard(self, statement: Statement) -> None:
        """Note that who made a statement was interrupted and did not hear what it came to.

        The same words, said next, ask for that. Called from any thread.
        """
        if not statement.weighs:
            self._unheard.append(statement)

    def answer(self, statement: Statement, otherwise: LedgerError) -> Stated:
        """Return what a statement came to, or raise it, as `Doubts.answer`; `otherwise` where it had no turn.

        The same words, said next, then ask for what its earlier tries came to, though it sent nothing here.
        """
        had_no_turn = statement.outcome is None
        try:
            return self.doubts.answer(statement, otherwise)
        except BaseException:
            if had_no_turn and statement.doubts:
                self.unheard(statement)
            raise
        finally:
            del otherwise  # kept here it would hold the frames it came through, and they this

    def settle(self, statements: Sequence[Statement]) -> Steps[None]:
        """Answer each of these statements: its `outcome` is what it came to, or what to raise."""
        while self._unheard:
            self._keep_unheard(self._unheard.pop(0))
        if len(statements) > 1:
            said = [one for one in statements if one.command is not None and not one.weighs]
            yield from self._say_together(said)
        looking = False
        for one in statements:
            if one.command is None:
                looking = True
            elif one.outcome is None:
                try:
                    one.outcome = yield from (self._weigh(one) if one.weighs else self._say(one))
                except Exception as error:  # noqa: BLE001  it is the asker's
                    one.outcome = error
        if looking:
            yield from self._look_for([one for one in statements if one.command is None])
        if self.tip.is_save_due:
            yield from self.tip.save()

    def _keep_unheard(self, statement: Statement) -> None:
        if isinstance(statement.outcome, Stated) and statement.outcome.records:
            statement.doubts = (about(self.name, statement.outcome.records),)
        elif statement.outcome is None and not statement.doubts:
            with suppress(InvalidInput):
                statement.doubts = self.doubts.of(statement)  # it had no turn
        if statement.doubts:
            self.doubts.keep(statement)

    def _look_for(self, looking: Sequence[Statement]) -> Steps[None]:
        try:
            yield from self.tip.look()
        except Exception as error:  # noqa: BLE001
            for one in looking:
                one.outcome = another(error)
        else:
            for one in looking:
                one.outcome = Stated(self.position)

    # --- one statement by itself -----------------------------------------------------------------

    def _weigh(self, statement: Statement) -> Steps[Stated]:
        """Find out what a command would be told now; nothing is appended."""
        command, weigh = statement.command, self._kind.weigh
        assert command is not None
        assert weigh is not None
        yield from self.tip.look()
        given = yield from self._found_out(self.state, statement, self._given(statement, ()), True, True)
        statement.weighed = weigh(self.state, command, given)
        return Stated(self.position)

    def _say(self, statement: Statement) -> Steps[Stated]:
        statement.doubts = self.doubts.of(statement)
        try:
            stated = yield from self._landed_or_tried(statement)
            refusal = yield from self._to_tell(statement, stated)
        except (StoreUnavailable, StoreBusy) as error:
            if not statement.doubts:
                raise
            self.doubts.keep(statement)
            raise naming(error, statement.doubts) from error
        except BaseException:
            if statement.doubts:
                self.doubts.keep(statement)
            raise
        self.doubts.settle(statement)
        if refusal is not None:
            raise refusal_error(refusal)
        return stated

    def _landed_or_tried(self, statement: Statement) -> Steps[Stated]:
        try:
            stated = (yield from self.tip.landed(statement)) if statement.doubts else None
            return stated or (yield from self._try(statement))
        except PositionConflict:
            # What took the place may be what was sent the first time, landed late.
            stated = yield from self.tip.landed(statement)
            if stated is None:
                raise
            return stated

    def _to_tell(self, statement: Statement, stated: Stated) -> Steps[Refusal | None]:
        """Say what to tell who asked, where what is stored is not what they asked for."""
        kind, command = self._kind, statement.command
        if not self._has_to_tell(record.event for record in stated.records):
            return None
        assert command is not None
        state = self.state
        if self.position > stated.position and kind.past is not None:
            # Others have gone on from it, and what it came to is what it came to then.
            state = yield Call(partial(kind.past, self.edge, self.name, stated.position))
        return kind.told(state, command, stated.records)

    def _has_to_tell(self, events: Iterable[Event]) -> bool:
        telling = self._kind.telling
        return bool(telling) and any(isinstance(event, telling) for event in events)

    def _try(self, statement: Statement) -> Steps[Stated]:
        """Decide a command and append what it yields, again and again where somebody was first."""
        command, context, expected = statement.command, statement.context, statement.expected
        assert command is not None
        assert context is not None
        if expected is not None:
            yield from self.tip.expect(expected)
        earlier: tuple[Event, ...] = ()
        looked = searching = False
        for attempt in count():
            state = self.tip.seen.state
            searching = searching or self._kind.is_wanted(state, command)
            given = yield from self._found_out(
                state, statement, self._given(statement, earlier), looked, searching
            )
            decision = self._kind.decide(state, command, given)
            if isinstance(decision, Refusal) or not (decision.events or decision.beside):
                if looked:
                    landed = yield from self.tip.landed(statement)
                    return landed or (yield from self._told(decision, context, given.now))
                # Neither a refusal nor a repeat is told on what may be old: the run, a source, or an effect.
                looked = searching = True
                yield from self.tip.look()
                if expected is not None:
                    yield from self.tip.expect(expected)
                continue
            try:
                draft = self.tip.draft(decision, context, given.now, cast("Mapping[str, S]", given.others))
                return (yield from self.tip.append(draft, statement))
            except (PositionConflict, GuardMoved, ActKnown, EffectInFlight) as lost:
                # A report is decided again until it is stored: refusing it would lose a fact.
                if attempt + 1 >= self.edge.tries and not command.report:
                    raise
                # First the pause, then the look: what is decided on must not have aged meanwhile.
                yield Call(partial(self.edge.pause, attempt))
                looked = False
                if isinstance(lost, GuardMoved):
                    earlier = decision.events
                    continue
                if not isinstance(lost, PositionConflict):
                    searching = True  # the act was begun before, maybe in another run of the lineage
                    continue
                if lost.run != self.name:
                    continue  # another stream that it adds to moved: it is read again
                yield from self._after_conflict(lost, expected)
            landed = yield from self.tip.landed(statement)
            if landed is not None:
                return landed
        raise AssertionError("a count has no end")

    def _given(self, statement: Statement, earlier: tuple[Event, ...]) -> Given:
        context = statement.context
        assert context is not None
        now = self.edge.now()
        return Given(
            context.actor,
            now,
            self.name,
            context.incarnation,
            earlier=earlier,
            secret=context.secret,
            authenticated_answers=self.edge.authenticated_answers,
        )

    def _is_about_more(self, state: S, command: Command) -> bool:
        """Tell whether a command is decided on more than the state."""
        kind = self._kind
        return (
            self._speaks_of_others(state, command)
            or bool(kind.sources(state, command))
            or kind.prior(self.name, state, command) is not None
        )

    def _speaks_of_others(self, state: S, command: Command) -> bool:
        return isinstance(command, LINEAGE) or self._kind.is_bound_above(state, command)

    def _found_out(
        self, state: S, statement: Statement, given: Given, fresh: bool, searching: bool
    ) -> Steps[Given]:
        """Read what a command is decided on beside the state."""
        command, context = statement.command, statement.context
        assert command is not None
        assert context is not None
        if self._kind.judges_leases(command):
            # First the clock, then the lease: one that has lapsed by then is not renewed any more.
            given = given._replace(lease_now=(yield Call(partial(self.edge.lease_now, given.now))))
        if not searching and not self._is_about_more(state, command):
            return given
        wanted = self._kind.prior(self.name, state, command)
        if wanted is not None:
            given = given._replace(prior=(yield Call(partial(self._prior, wanted))))
        sources: dict[str, SourceState] = {}
        if context.sources is not None:
            # The gate is asked rarely, and never on what may be old.
            now = fresh or bool(given.earlier) or context.asking is not None
            for source in self._kind.sources(state, command):
                read = partial(context.sources, source, now)
                sources.update((yield Call(read)))
        if sources:
            given = given._replace(sources=sources)
        if searching:
            look_up = partial(self._kind.look_up, self.edge, state, command, given.for_leases)
            given = given._replace(looked=(yield Call(look_up)))
        return (yield from self._found_beside(state, command, context, given))

    def _found_beside(self, state: S, command: Command, context: Context, given: Given) -> Steps[Given]:
        """Read other streams that a command speaks of, and ask the gate where it does."""
        kind = self._kind
        if self._speaks_of_others(state, command):
            beside = yield Call(partial(kind.beside, self.edge, state, command))
            if beside is not None:
                given = given._replace(others=beside.others, then=beside.then, passed_on=beside.passed_on)
        if context.asking is not None and kind.judge is not None and state is not None:
            given = given._replace(
                judged=(yield Call(partial(kind.judge, self.edge, state, given, context.asking)))
            )
        return given

    def _prior(self, wanted: Prior) -> tuple[Record, ...]:
        rows = self.edge.store.find(self.edge.tenant, **wanted._asdict())
        return tuple(map(decoded, rows))

    def _told(self, decision: Decision, context: Context, now: datetime) -> Steps[Stated]:
        """Return where a repeat stands, or record and raise a refusal."""
        if not isinstance(decision, Refusal):
            assert decision.position is not None
            return Stated(decision.position)
        if decision.events:
            try:
                # Not a try of what was asked: found again it would be taken for that.
                draft = self.tip.draft(decision, context, now)
                yield from self.tip.append(draft, Statement())
            except PositionConflict:
                # Somebody wrote meanwhile; the refusal stands, and the next request will record it.
                log.info("the refusal %s of %s lost a race and was not recorded", decision.rule, self.name)
        raise refusal_error(decision)

    def _after_conflict(self, lost: PositionConflict, expected: int | None) -> Steps[None]:
        records = yield from self.tip.look()
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
            if one.expected is None and one.again is None and not self.doubts.of(one)
        ]
        for attempt in range(self.edge.tries):
            draft, said = yield from self._drafted(waiting)
            if len(said) < 2:
                return
            try:
                result: Appended = yield Send(draft.append())
                yield from self._appended(said, draft, result)
            except PositionConflict as lost:
                if not (yield from self._caught_up(attempt, lost)):
                    return
                continue
            except StoreBusy as error:
                for one, _ in said:
                    one.outcome = another(error)
            except StoreUnavailable as error:
                self._cut(said, draft, error)
            except LedgerError:
                pass  # something of one of them stands in the way of all: each goes by itself
            except BaseException as error:
                self._cut(said, draft, cut_short(error))
                if not isinstance(error, Exception):
                    raise
            return

    def _appended(self, said: Said, draft: Draft[S], result: Appended) -> Steps[None]:
        """Tell each what of it is stored."""
        try:
            records = (yield from self.tip.met(draft)) if result.repeated else self.tip.moved(draft, result)
        except LedgerError as error:
            # All of it is stored, so none goes by itself now, whatever it is that cannot be read.
            raise cut_short(error) from error
        for one, mine in _shares(said, records):
            one.outcome = Stated(mine[-1].position, tuple(mine))

    def _cut(self, said: Said, draft: Draft[S], error: StoreUnavailable) -> None:
        """Tell each that what it said is in doubt."""
        for one, sent in _shares(said, draft.records):
            if one.outcome is None:
                one.doubts = (about(self.name, sent),)
                self.doubts.keep(one)
                one.outcome = naming(error, one.doubts)

    def _caught_up(self, attempt: int, lost: PositionConflict) -> Steps[bool]:
        """Pause and look; False where that does not help."""
        yield Call(partial(self.edge.pause, attempt))
        try:
            records = yield from self.tip.look()
        except Exception:  # noqa: BLE001  each meets it by itself, and is told
            return False
        return bool(records) or lost.actual > lost.expected

    def _drafted(self, waiting: Sequence[Statement]) -> Steps[tuple[Draft[S], Said]]:
        """Decide statements one after another, and draft what they yield; say how many events each has."""
        draft = Draft(self.edge, self.name, self._kind, self.tip.seen)
        said: Said = []
        for one in waiting:
            if draft.size >= TOGETHER_BYTES:
                break
            try:
                assert one.command is not None
                state, given = draft.seen.state, self._given(one, ())
                wanted = self._kind.prior(self.name, state, one.command)
                if self._kind.is_wanted(state, one.command) or (wanted is not None and draft.holds(wanted)):
                    continue  # what the store holds of it may be about to be appended here
                given = yield from self._found_out(state, one, given, False, False)
                decision = self._kind.decide(state, one.command, given)
                if isinstance(decision, Refusal) or not decision.events or not draft.admits(decision.guards):
                    continue
                if decision.beside or self._has_to_tell(decision.events):
                    continue
                assert one.context is not None
                draft.add(decision, one.context, given.now)
            except Exception:  # noqa: BLE001  it meets that again by itself, and is told
                continue
            said.append((one, len(decision.events)))
        return draft, said


def _shares(said: Said, records: Sequence[Record]) -> Iterable[tuple[Statement, Sequence[Record]]]:
    """Deal records out to the statements they come from."""
    first = 0
    for statement, number in said:
        yield statement, records[first : first + number]
        first += number


def another(error: Exception) -> Exception:
    """Return a copy of an error for one more who is told: each raises its own, with its own traceback."""
    if isinstance(error, LedgerError):
        twin = copy(error)
        twin.__cause__ = error
        return twin
    return error


Said = list[tuple[Statement, int]]
"""Statements that were drafted, and how many events each has."""

LINEAGE = (CloseRun, DropStates, ForkRun, NarrowAuthority, OpenChild, RestartRun, ResumeRun, RevokeAuthority)
"""Commands that are decided on more than one run, or by the gate."""

TOGETHER_BYTES = 1024 * 1024
"""Statements that wait are drafted together until their records take so much."""
