"""A run, two sources and whoever asks, in any order: what is decided keeps every promise of the rules."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ledger import commands as c
from ledger import events as e
from ledger.record import Record
from ledger.run.approvals import why_void
from ledger.run.contract import Contract, by_id
from ledger.run.decide import may_refuse, may_yield
from ledger.run.decision import Admitted, Refusal, is_agent
from ledger.run.sources import SourceState
from ledger.testing import Decided, History, given, given_source
from ledger.values import Actor
from tests.run.histories import ACTORS, SOURCES, SPANS, about_what_waits, asked
from tests.run.test_state import assert_named_once, load, saved
from tests.strategies import FEW, NOON, command, commands, event

ENDING = (
    c.DischargeObligation,
    c.RevokeAuthority,
    c.TransferObligation,
    c.WaiveObligation,
    c.WithdrawConstraint,
)
"""What they act on is not open afterwards, so that the same again is refused as such."""

OUTSIDE: tuple[type[e.Event], ...] = (
    e.ApprovalAnswered,
    e.ApprovalRequested,
    e.EffectCompensated,
    e.EffectFailed,
    e.EffectIntended,
    e.EffectRefused,
    e.EffectStarted,
    e.EffectSucceeded,
    e.EffectUnknown,
    e.ResumeRefused,
)
"""Events that an import or another run brings, or that nothing asked for here comes to often."""


class Rules(RuleBasedStateMachine):
    """Asks a run and its sources, and compares what stands with what was said, event by event."""

    def __init__(self) -> None:
        super().__init__()
        self.run: History[Contract | None] = given(at=NOON)
        self.sources: dict[str, History[SourceState]] = {}

    @initialize(opening=command(c.OpenRun, FEW))
    def open(self, opening: c.Command) -> None:
        self._ask(self.run, opening)

    @rule(one=asked(), actor=ACTORS, span=SPANS, late=st.booleans())
    def ask(self, one: c.Command, actor: Actor, span: float, late: bool) -> None:
        if one.stream == "run":
            self.run = self.run.by(actor).later(seconds=span)
            self._ask(self.run, about_what_waits(self.run, one), late)

    @rule(one=commands(FEW), actor=ACTORS)
    def ask_anything(self, one: c.Command, actor: Actor) -> None:
        if one.stream == "run":
            self._ask(self.run.by(actor), one)

    @rule(
        one=st.one_of(
            command(c.PublishRevision, FEW), command(c.WithdrawAtSource, FEW), command(c.OpenSource, FEW)
        ),
        name=SOURCES,
        actor=ACTORS,
    )
    def ask_a_source(self, one: c.Command, name: str, actor: Actor) -> None:
        source = self.sources.get(name) or given_source(name)
        decided = source.by(actor).at(self.run.now).when(one)
        keeps_to_what_is_declared(decided)
        self.sources[name] = decided.after
        self.run = self.run.beside(decided.after)

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        self.run = self.run.also(data.draw(event(data.draw(st.sampled_from(OUTSIDE)), FEW)))

    @rule()
    def resume(self) -> None:
        incarnation = self.run.contract.incarnation + 1
        self.run = self.run.also(e.RunResumed(gap_seconds=0, incarnation=incarnation, prompt_digest="d" * 64))

    def _ask(self, run: History[Contract | None], one: c.Command, late: bool = False) -> None:
        before = None if run.state is None else saved(run.contract)
        incarnation = run.contract.incarnation - 1 if late and run.state is not None else None
        decided = run.when(one, incarnation=incarnation, prior=prior(run, one))
        again = run.when(one, incarnation=incarnation, prior=prior(run, one))
        assert decided.decision == again.decision
        assert before == (None if run.state is None else saved(run.contract))
        keeps_to_what_is_declared(decided)
        self.run = decided.after
        if isinstance(decided.decision, Admitted) and decided.decision.events:
            self._said_again(one, decided.told)

    def _said_again(self, one: c.Command, told: Refusal | None) -> None:
        """Whoever says the same again adds nothing, and is told where it stands or that it has ended.

        What waits for a person is not asked about twice; an answer other than the one that counts is recorded
        each time.
        """
        again = self.run.when(one, prior=prior(self.run, one)).decision
        if told is not None:
            waits = isinstance(one, c.ClaimEffect)
            assert (again.rule if isinstance(again, Refusal) else None) == (told.rule if waits else None)
            assert again.events == () or isinstance(one, c.AnswerApproval)
            return
        if isinstance(one, c.AnswerApproval) and again.events:
            first = by_id(self.run.contract.approvals, one.id)
            assert first is not None
            assert first.answered is not None
            assert (first.answered.by, first.answered.reason) != (one.by, one.reason)
            return
        if isinstance(one, c.RenewAuthority) and one.add_budget:
            return
        if isinstance(one, c.RequestApproval) and not isinstance(again, Refusal) and again.events:
            # What binds no more as soon as it is asked, e.g. by a time that is over, is asked anew each time.
            contract = self.run.contract
            stands = next(item for item in contract.approvals if item.key == one.key)
            assert why_void(contract, stands, max(self.run.now, contract.at)) is not None
            return
        if isinstance(one, c.SaveStatePart | c.DropStates):
            return  # a part is kept, and states are given up, each time that somebody says so
        if isinstance(one, c.ResumeRun) and self.run.contract.held is None:
            return  # it went on; who asks again begins another incarnation
        if isinstance(again, Refusal):
            assert again.rule == ("effect_in_flight" if isinstance(one, c.ClaimEffect) else "not_open")
            assert isinstance(one, (*ENDING, c.ClaimEffect))
        else:
            assert again.events == ()
            assert again.position is not None
            assert type(self.run.records[again.position - 1].event) in may_yield(type(one))

    # --- what must always hold -------------------------------------------------------------------

    @invariant()
    def positions_have_no_gap_and_time_never_falls(self) -> None:
        records = self.run.records
        assert [record.position for record in records] == list(range(1, len(records) + 1))
        assert all(one.at <= other.at for one, other in pairwise(records))

    @invariant()
    def what_stands_is_what_was_said(self) -> None:
        if self.run.state is None:
            return
        contract, told = self.run.contract, [record.event for record in self.run.records]
        assert_named_once(contract)
        assert load(saved(contract)) == contract
        assert contract.goal.text == goal_of(told)
        assert {item.id for item in contract.obligations} == still_open(
            told, e.ObligationOpened, ENDS_OBLIGATIONS
        )
        assert {item.id for item in contract.constraints} == still_open(
            told, e.ConstraintAccepted, (e.ConstraintWithdrawn,)
        )
        assert {item.id for item in contract.grants} == still_open(
            told, e.AuthorityGranted, (e.AuthorityRevoked,)
        )
        assert contract.tally.steps == sum(isinstance(event, e.CursorMoved) for event in told)
        assert len(contract.plan.steps if contract.plan else ()) == len(plan_of(told))

    @invariant()
    def agents_wrote_nothing_that_is_for_people(self) -> None:
        for record in self.run.records:
            if is_agent(record.actor):
                assert not isinstance(record.event, FOR_PEOPLE)
                assert getattr(record.event, "change", None) != "relaxed"


ENDS_OBLIGATIONS = (e.ObligationDischarged, e.ObligationWaived, e.ObligationTransferred)
FOR_PEOPLE = (
    e.AuthorityGranted,
    e.AuthorityRenewed,
    e.ConstraintWithdrawn,
    e.ObligationTransferred,
    e.ObligationWaived,
    e.ReviewSigned,
    e.RuntimeAdopted,
)


def keeps_to_what_is_declared(decided: Decided[Contract | None] | Decided[SourceState]) -> None:
    kind, decision = type(decided.command), decided.decision
    assert {type(event) for event in decision.events} <= set(may_yield(kind))
    if isinstance(decision, Refusal):
        assert decision.rule in may_refuse(kind)
        assert not decision.events or decision.rule == "run_is_held" or kind is c.ClaimEffect
    else:
        assert bool(decision.events or decision.beside) == (decision.position is None)
        for theirs in decision.beside.values():
            assert {type(event) for event in theirs} <= set(may_yield(kind))


def prior(run: History[Contract | None], one: c.Command) -> tuple[Record, ...]:
    """Find the events under a command's key, as a store would."""
    if isinstance(one, c.RecordMessage):
        field, value = ("message", "id"), one.id
    elif isinstance(one, c.RecordObservation | c.InvalidateObservation):
        field, value = ("observation", "key"), one.key
    elif isinstance(one, c.RefuteAssumption):
        field, value = ("assumption", "id"), one.id
    else:
        return ()
    return tuple(r for r in run.records if r.event.keyed_by == field and getattr(r.event, field[1]) == value)


def still_open(told: list[e.Event], opens: type[e.Event], ends: tuple[type[e.Event], ...]) -> set[str]:
    names: set[str] = set()
    for one in told:
        if isinstance(one, opens):
            names.add(one.id)  # type: ignore[attr-defined]
        elif isinstance(one, ends):
            names.discard(one.id)  # type: ignore[attr-defined]
    return names


def goal_of(told: list[e.Event]) -> str:
    last = next(event for event in reversed(told) if isinstance(event, e.GoalRevised | e.RunOpened))
    return last.text if isinstance(last, e.GoalRevised) else last.goal


def plan_of(told: list[e.Event]) -> tuple[object, ...]:
    plans = (event.steps for event in reversed(told) if isinstance(event, e.PlanCommitted | e.PlanRevised))
    return next(plans, ())


TestRules = Rules.TestCase
TestRules.settings = settings(stateful_step_count=40)
