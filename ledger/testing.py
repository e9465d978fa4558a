"""Given, when, then: state what a run decides and what its contract then says, without a store.

    >>> from ledger.commands import CloseRun, DischargeObligation
    >>> from ledger.events import ObligationDischarged, ObligationOpened, RunOpened
    >>> from ledger.testing import given
    >>> from ledger.values import Ending
    >>> promised = given(
    ...     RunOpened(goal="Refund order 17"),
    ...     ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer"),
    ... )
    >>> refused = promised.when(CloseRun(outcome=Ending.COMPLETED)).then_refused("still_open")
    >>> done = promised.when(DischargeObligation(id="tell", evidence="mail 42")).then(
    ...     ObligationDischarged(id="tell", evidence="mail 42")
    ... )
    >>> done.contract.obligations
    ()
    >>> [obligation.id for obligation in done.upto(2).contract.obligations]
    ['tell']

Every step returns a new frozen value, so that a history can be the beginning of many. What is given goes
through the bytes of the record, as it would in a ledger, and is not decided: a history may hold what no
command yields yet.

`ResumeRun` is decided by the resume gate on what is given: the clock, who asks, the sources that stand
`beside` the run, and what `asked` sets. What a command appends to other runs is expected by their names:
`then(…, beside={"run-2": (…,)})`; `among` has the runs that exist already, and `other` goes on with one.

Where what is recorded is not what was asked for, who asked is told so by an error, although it was admitted:
an act waits for a person, an answer does not count. `then_told("approval_required")` expects the error,
`told` has it, and `then` expects the events alone.

Source of the idea: Emmett's and Commanded's specifications of deciders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeVar

from ledger.codec import decode, encode
from ledger.commands import (
    ClaimEffect,
    Command,
    ForkRun,
    NarrowAuthority,
    OpenChild,
    RestartRun,
    ResumeRun,
    RevokeAuthority,
)
from ledger.events import Event
from ledger.gate import Question, judge
from ledger.record import ZERO_HASH, Envelope, Record
from ledger.run.claims import sources_of
from ledger.run.contract import Contract
from ledger.run.decide import decide, told
from ledger.run.decision import Admitted, Decision, Given, Judgement, Looked, PassedOn, Refusal
from ledger.run.looking import looked_among, wanted
from ledger.run.passed_on import Passing, beneath, passing_of
from ledger.run.sources import PREFIX, SourceState, decide_source, evolve_source
from ledger.run.state import evolve
from ledger.values import Actor, Runtime

__all__ = ["START", "Clock", "Decided", "History", "given", "given_source", "seal"]

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When histories begin that say nothing else."""

_TESTER = Actor("service:test")
_ANYWHERE: Final = -1
_ON_ITS_SOURCES: Final = (ClaimEffect, OpenChild, RestartRun, ResumeRun)
"""Commands that are decided on the sources of the constraints, all of them and no other."""

S = TypeVar("S")


class Clock:
    """A clock that stands still until it is set: pass it where a ledger takes its clock."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float = 1) -> datetime:
        """Move on by some seconds, or back; return the time it is then."""
        self.now += timedelta(seconds=seconds)
        return self.now


class _Kind(NamedTuple, Generic[S]):
    """How a kind of stream is folded and decided."""

    evolve: Callable[[S, Record], S]
    decide: Callable[[S, Command, Given], Decision]


_RUN: _Kind[Contract | None] = _Kind(evolve, decide)
_SOURCE: _Kind[SourceState] = _Kind(evolve_source, decide_source)


@dataclass(frozen=True, slots=True, repr=False)
class History(Generic[S]):
    """What happened in one stream so far, and who is about to ask what at which moment."""

    stream: str
    """Id of the run, or `$source:…`."""
    state: S
    """The fold of all records: a Contract (None before the first event) or a SourceState."""
    kind: _Kind[S]
    start: S
    """The state before the first record."""
    tenant: str = "default"
    records: tuple[Record, ...] = ()
    now: datetime = START
    actor: Actor = _TESTER
    sources: Mapping[str, SourceState] = field(default_factory=dict)
    others: Mapping[str, History[Contract | None]] = field(default_factory=dict)
    asking: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        told = "".join(f"\n  {record.position} {record.event!r}" for record in self.records)
        return f"<{self.stream} at {self.now.isoformat()}, by {self.actor.id}:{told or ' nothing'}>"

    @property
    def contract(self) -> Contract:
        """The contract, where the stream is a run that was opened."""
        if not isinstance(self.state, Contract):
            raise AssertionError(f"{self.stream!r} has no contract: {self.state!r}")
        return self.state

    @property
    def position(self) -> int:
        """Position of the last record; 0 where there is none."""
        return len(self.records)

    # --- what else is given ----------------------------------------------------------------------

    def at(self, now: datetime) -> History[S]:
        """Set the clock."""
        return replace(self, now=now)

    def later(self, **span: float) -> History[S]:
        """Move the clock on, by what `timedelta` takes: `later(hours=2)`."""
        return replace(self, now=self.now + timedelta(**span))

    def by(self, actor: Actor | str) -> History[S]:
        """Let somebody else write and ask from here on."""
        return replace(self, actor=Actor(actor) if isinstance(actor, str) else actor)

    def beside(self, *sources: History[SourceState]) -> History[S]:
        """Let source streams stand beside the run; one that is not named was never opened."""
        return replace(
            self, sources={**self.sources, **{other.state.source: other.state for other in sources}}
        )

    def among(self, *runs: History[Contract | None]) -> History[S]:
        """Let other runs exist; one that is not named was never opened."""
        return replace(self, others={**self.others, **{run.stream: run for run in runs}})

    def other(self, run: str) -> History[Contract | None]:
        """Go on with another run: at the same time, with the same sources, this one now among the others."""
        others = {name: one for name, one in self.others.items() if name != run}
        if isinstance(self.state, Contract):
            others[self.stream] = replace(self, others={})  # type: ignore[assignment]
        found = self.others[run]
        return replace(found, now=self.now, actor=self.actor, sources=self.sources, others=others)

    def asked(self, **how: Any) -> History[S]:
        """Say how the gate is asked: any of what `ledger.gate.Question` takes beside what is given already.

        `check_every`, `idle_seconds`, `lease_now`, `leases`, `live_seconds`.
        """
        return replace(self, asking={**self.asking, **how})

    def also(self, *events: Event) -> History[S]:
        """Add events at the time the clock shows."""
        state, records = self.state, self.records
        for event in events:
            terms = state.terms if isinstance(state, Contract) and event.binds_terms else None
            before = records[-1] if records else None
            envelope = Envelope(
                tenant=self.tenant,
                run=self.stream,
                position=len(records) + 1,
                prev=ZERO_HASH if before is None else before.hash,
                id=f"event-{len(records) + 1}",
                at=self.now if before is None else max(self.now, before.at),
                actor=self.actor,
                terms=terms,
            )
            record = _through_bytes(event, envelope)
            state = self.kind.evolve(state, record)
            records = (*records, record)
        return replace(self, state=state, records=records)

    def upto(self, place: int | datetime) -> History[S]:
        """Go back to a position, or to the last one at or before a moment."""
        kept = tuple(
            record
            for record in self.records
            if (record.at if isinstance(place, datetime) else record.position) <= place  # type: ignore[operator]
        )
        state = self.start
        for record in kept:
            state = self.kind.evolve(state, record)
        now = kept[-1].at if kept else self.now
        return replace(self, state=state, records=kept, now=now)

    # --- what is asked ---------------------------------------------------------------------------

    def judged(self, *, runtime: Runtime | None = None, take_over: bool = False) -> Judgement:
        """Ask the gate whether the run may go on; nothing is decided or recorded."""
        question = Question(
            actor=self.actor,
            now=self.now,
            above={name: one.contract for name, one in self.others.items() if one.state is not None},
            runtime=runtime,
            sources=self._sources_of(self.contract),
            take_over=take_over,
            **self.asking,
        )
        return judge(self.contract, question)

    def _sources_of(self, contract: Contract) -> dict[str, SourceState]:
        return {name: self.sources.get(name, SourceState(name)) for name in sources_of(contract)}

    def _lineage(self) -> tuple[Record, ...]:
        """Return the records of the runs that share keys with this one, in the order of their times."""
        root = self.contract.root
        kin = (one.records for one in self.others.values() if one.state and one.contract.root == root)
        records = [record for one in kin for record in one] + list(self.records)
        return tuple(sorted(records, key=lambda record: record.at))

    def when(
        self,
        command: Command,
        *,
        incarnation: int | None = None,
        prior: Iterable[Record] = (),
        earlier: Iterable[Event] = (),
        looked: Looked | None = None,
        secret: str | None = None,
        authenticated_answers: bool = False,
        unread: Mapping[str, str] | None = None,
    ) -> Decided[S]:
        """Decide a command.

        Args:
            command: the request or report.
            incarnation: which one the caller belongs to; None: the present one.
            prior: what the store holds under the command's key, oldest first, where the contract cannot tell.
            earlier: what the command yielded before a guard moved.
            looked: what the store holds of the effect it speaks of; None: what this run holds of it.
            secret: where the arguments of an act hold a secret, and why it is taken for one.
            authenticated_answers: whether only people who are authenticated are heard.
            unread: runs that cannot be read, and may have some of a grant that is to end, each with the code
                of the error.
        """
        state = self.state
        judged, then, sources = None, None, self._named(command)
        if isinstance(state, Contract):
            asked_of = wanted(state, command) if looked is None else None
            looked = looked if asked_of is None else looked_among(asked_of, self._lineage())
            if isinstance(command, _ON_ITS_SOURCES):
                sources = self._sources_of(state)
            if isinstance(command, ResumeRun):
                judged = self.judged(runtime=command.runtime, take_over=command.take_over)
            if isinstance(command, ForkRun) and command.at <= self.position:
                then = self.upto(command.at).contract
        asked = Given(
            actor=self.actor,
            now=self.now,
            run=self.stream,
            incarnation=incarnation,
            prior=tuple(prior),
            sources=sources,
            earlier=tuple(earlier),
            looked=looked,
            secret=secret,
            authenticated_answers=authenticated_answers,
            lease_now=self.asking.get("lease_now"),
            judged=judged,
            others={name: one.contract for name, one in self.others.items() if one.state is not None},
            then=then,
            passed_on=self._passed_on(command)._replace(unread=unread or {}),
        )
        return Decided(self, command, self.kind.decide(self.state, command, asked))

    def _passed_on(self, command: Command) -> PassedOn:
        """Find what the other runs have of a grant that is to end."""
        state = self.state
        if not isinstance(state, Contract) or not isinstance(command, NarrowAuthority | RevokeAuthority):
            return PassedOn()
        said = {run: passing_of(one.records) for run, one in self.others.items()}
        said[self.stream] = passing_of(self.records)
        return beneath(state, command.id, lambda run: said.get(run, Passing()))

    def _named(self, command: Command) -> dict[str, SourceState]:
        source = getattr(command, "source", None)
        named = {} if source is None else {source.stream: SourceState(source.stream)}
        return {**named, **self.sources}


@dataclass(frozen=True, slots=True)
class Decided(Generic[S]):
    """What became of a command."""

    history: History[S]
    """What it was decided on."""
    command: Command
    decision: Decision

    @property
    def after(self) -> History[S]:
        """The history with what the decision appends, be it admitted or refused; to other runs as well."""
        beside = self.decision.beside if isinstance(self.decision, Admitted) else {}
        return self.history.also(*self.decision.events).among(
            *(self._added(run, events) for run, events in beside.items())
        )

    @property
    def told(self) -> Refusal | None:
        """What who asked is told, although it was admitted: what is recorded is not what they asked for.

        None where it is, and where it was refused: then the decision says why.
        """
        state = self.after.state
        if isinstance(self.decision, Refusal) or not isinstance(state, Contract):
            return None
        return told(state, self.command, self.after.records[self.history.position :])

    def _added(self, run: str, events: tuple[Event, ...]) -> History[Contract | None]:
        history = self.history
        found = history.others.get(run)
        if found is None:
            found = given(run=run, tenant=history.tenant)
        return replace(found, now=max(found.now, history.now), actor=history.actor).also(*events)

    def then(self, *events: Event, beside: Mapping[str, Iterable[Event]] | None = None) -> History[S]:
        """Expect that the command yields exactly these events; return the history with them.

        Args:
            events: of this run.
            beside: what is appended to other runs with them, by their ids; None: nothing.
        """
        __tracebackhide__ = True
        others = {run: tuple(theirs) for run, theirs in (beside or {}).items()}
        decision = self.decision
        if (
            not isinstance(decision, Admitted)
            or (decision.events, decision.beside) != (events, others)
            or not (events or others)
        ):
            told = "".join(f"\nand beside, of {run!r}:{_listed(theirs)}" for run, theirs in others.items())
            self._fail("events " + _listed(events) + told)
        return self.after

    def then_stands_at(self, position: int) -> History[S]:
        """Expect that the same was stated at this position already, so that nothing is appended."""
        __tracebackhide__ = True
        decision = self.decision
        if (
            not isinstance(decision, Admitted)
            or decision.events
            or decision.beside
            or decision.position != position
        ):
            self._fail(f"that it stands at position {position}")
        return self.history

    def then_refused(
        self, rule: str, *, position: int | None = _ANYWHERE, events: Iterable[Event] = ()
    ) -> History[S]:
        """Expect a refusal by this rule, e.g. `"not_open"`; return the history with what it records.

        Args:
            rule: stable code of the rule.
            position: of the event it rests on, where that matters.
            events: what is appended although the command is refused, e.g. the suspension at a limit.
        """
        __tracebackhide__ = True
        decision, recorded = self.decision, tuple(events)
        if (
            not isinstance(decision, Refusal)
            or decision.rule != rule
            or decision.events != recorded
            or position not in (_ANYWHERE, decision.position)
        ):
            place = "" if position == _ANYWHERE else f" resting on position {position}"
            self._fail(f"the refusal {rule}{place} recording {_listed(recorded)}")
        return self.after

    def then_told(self, rule: str, *events: Event) -> History[S]:
        """Expect that it is admitted, and told by this rule not to be what was asked for.

        Args:
            rule: stable code of the rule, e.g. `"approval_required"`.
            events: exactly what is appended; none: whatever is.

        Returns:
            The history with what is appended.
        """
        __tracebackhide__ = True
        said, appended = self.told, self.decision.events
        if said is None or said.rule != rule or (events and appended != events):
            recorded = f" recording {_listed(events)}" if events else ""
            self._fail(f"that it is told {rule}{recorded}")
        return self.after

    def _fail(self, expected: str) -> NoReturn:
        __tracebackhide__ = True
        said = self.told
        also = "" if said is None else f"\ntold {said.rule} ({said.message})"
        raise AssertionError(
            f"{self.command!r}\non {self.history.stream!r} at position {self.history.position}\n"
            f"expected {expected}\nbut was {_told(self.decision)}{also}"
        )


def given(
    *events: Event,
    run: str = "run-1",
    tenant: str = "default",
    actor: Actor | str = _TESTER,
    at: datetime = START,
    sources: Iterable[History[SourceState]] = (),
) -> History[Contract | None]:
    """Begin with the events of a run; without any it was never opened."""
    history: History[Contract | None] = History(run, None, _RUN, None, tenant, now=at)
    return history.by(actor).beside(*sources).also(*events)


def given_source(
    source: str, *events: Event, actor: Actor | str = _TESTER, at: datetime = START
) -> History[SourceState]:
    """Begin with the events of a source stream, `kind:name`; without any nobody opened it."""
    state = SourceState(source)
    history: History[SourceState] = History(PREFIX + source, state, _SOURCE, state, now=at)
    return history.by(actor).also(*events)


def seal(*events: Event, **more: Any) -> tuple[Record, ...]:
    """Turn the events of a run into the chained records that a ledger would hold; `more` as `given` takes."""
    return given(*events, **more).records


def _through_bytes(event: Event, envelope: Envelope) -> Record:
    row = encode(event, envelope)
    return decode(row.record, row.hash, run=envelope.run, position=envelope.position)


def _listed(events: Iterable[Event]) -> str:
    return "".join(f"\n  {event!r}" for event in events) or "none"


def _told(decision: Decision) -> str:
    if isinstance(decision, Refusal):
        place = "" if decision.position is None else f" resting on position {decision.position}"
        return f"refused by {decision.rule}{place} ({decision.message}), recording {_listed(decision.events)}"
    if decision.events or decision.beside:
        beside = (f"\nand beside, of {run!r}:{_listed(events)}" for run, events in decision.beside.items())
        return "events " + _listed(decision.events) + "".join(beside)
    return f"a repeat of position {decision.position}"
