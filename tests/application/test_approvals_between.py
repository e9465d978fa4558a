"""What happens between an approval and the act: to constraints, time and terms, and during the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger import Actor, Ledger, Retry, Rule, Run, Source
from ledger.errors import (
    ApprovalRequired,
    ConstraintViolated,
    ContractChanged,
    EffectFailed,
    NotOpen,
    OutcomeUnknown,
)
from ledger.events import EffectIntended, EffectStarted
from ledger.gateway.tools import Tool
from ledger.stores.base import Append
from tests.application.approving import (
    ACTS,
    ARGS,
    KIM,
    LEE,
    PROGRAM,
    WAITS,
    asks,
    begin,
    opened,
    paying,
    performs,
)
from tests.application.conftest import SetClock, Wrapped
from tests.application.performing import Outside, names

DESK = Actor("service:desk")
LIMIT, OTHER = "A person approves each refund", "Be polite"
RULE = Rule(tools=("pay",), needs_approval=True)


class Scene:
    """An act that a constraint of a source wants approved, and that was approved; others beside it."""

    def __init__(self, wrapped: Wrapped, clock: SetClock) -> None:
        self.outside, self.wrapped = Outside(), wrapped
        self.tool = paying(self.outside, needs_approval=False)
        self.ledger = opened(wrapped, clock, [self.tool])
        self.aside = opened(wrapped._store, clock, [self.tool])
        self.policy = self.aside.source("policy:refunds")
        self.policy.publish("1", {"approve": LIMIT, "polite": OTHER})
        begin(self.ledger)
        self.desk.accept("approve", LIMIT, asserted_by=KIM, source=Source("policy", "refunds"), rule=RULE)
        self.id = asks(self.ledger).id
        self.aside.approve(self.id, by=KIM)
        self.program = self.ledger.run("r", actor=PROGRAM)
        self.program.contract  # noqa: B018  it has seen the approval

    @property
    def desk(self) -> Run:
        return self.aside.run("r", actor=DESK)

    def just_before_the_claim(self, act: Callable[[], object]) -> None:
        """Do something when the claim was decided and is about to be stored."""

        def first(append: Append) -> None:
            self.wrapped.before = lambda append: None
            act()

        self.wrapped.before = first


@pytest.fixture
def scene(wrapped: Wrapped, clock: SetClock) -> Scene:
    return Scene(wrapped, clock)


def approvals_used(ledger: Ledger) -> list[str | None]:
    events = [record.event for record in ledger.log("r")]
    return [event.approval for event in events if isinstance(event, EffectIntended)]


in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)
"""What no race decides is the same on every store."""


racing_or_not = pytest.mark.parametrize(
    ("store", "racing"),
    [("memory", False), ("memory", True), ("sqlite", True), ("postgres", True)],
    indirect=["store"],
)
"""As the act is claimed on each store, and before."""


# --- at the source ------------------------------------------------------------------------------


@racing_or_not
@pytest.mark.parametrize("change", ["withdrawn", "reworded"])
def test_a_constraint_that_its_source_lets_go_of_after_the_approval_stops_the_act(
    scene: Scene, change: str, racing: bool
) -> None:
    def let_go() -> None:
        if change == "withdrawn":
            scene.policy.withdraw("approve", reason="replaced", by=LEE)
        else:
            scene.policy.publish("2", {"approve": "Nobody refunds", "polite": OTHER})

    if racing:
        scene.just_before_the_claim(let_go)
    else:
        let_go()
    with pytest.raises(ContractChanged) as changed:
        scene.program.perform("pay", ARGS)
    assert changed.value.evidence["change"] == change
    assert scene.outside.calls == 0
    assert names(scene.ledger)[-1] == "effect.refused"


def test_what_else_the_source_says_anew_is_decided_again_and_the_approval_holds(scene: Scene) -> None:
    def publish() -> None:
        scene.policy.publish("2", {"approve": LIMIT, "polite": "Be very polite"})

    scene.just_before_the_claim(publish)
    assert scene.program.perform("pay", ARGS) == {"done": 1}
    assert approvals_used(scene.ledger) == [None, scene.id]
    begun = [record.event for record in scene.ledger.log("r") if isinstance(record.event, EffectIntended)]
    assert [dict(event.source_positions or {}) for event in begun] == [
        {"policy:refunds": 2},
        {"policy:refunds": 3},
    ]


# --- in the run ---------------------------------------------------------------------------------


def _withdraw(run: Run) -> None:
    run.withdraw("approve", reason="not for this order", by=LEE)


def _another(run: Run) -> None:
    run.accept("second", "Two people look", asserted_by=LEE)


def _reword(run: Run) -> None:
    run.accept("approve", "Ask somebody", asserted_by=LEE, change="reworded", rule=RULE)


def _goal(run: Run) -> None:
    run.revise_goal("Refund order 17 in part", reason="the customer asked", by=LEE)


def _forbid(run: Run) -> None:
    run.accept("never", "Refund nothing", asserted_by=LEE, rule=Rule(deny=("pay",)))


@racing_or_not
@pytest.mark.parametrize("change", [_another, _reword, _goal])
def test_what_changes_the_terms_after_the_approval_has_a_person_asked_anew(
    scene: Scene, change: Callable[[Run], None], racing: bool
) -> None:
    if racing:
        scene.just_before_the_claim(lambda: change(scene.desk))
    else:
        change(scene.desk)
    with pytest.raises(ApprovalRequired) as asked:
        scene.program.perform("pay", ARGS)
    assert asked.value.id != scene.id
    assert [one.id for one in scene.ledger.contract("r").approvals] == [asked.value.id]
    scene.aside.approve(asked.value.id, by=KIM)
    assert scene.program.perform("pay", ARGS) == {"done": 1}
    assert approvals_used(scene.ledger)[-1] == asked.value.id


@racing_or_not
def test_where_nothing_wants_an_approval_any_more_the_act_begins_without(scene: Scene, racing: bool) -> None:
    if racing:
        scene.just_before_the_claim(lambda: _withdraw(scene.desk))
    else:
        _withdraw(scene.desk)
    assert scene.program.perform("pay", ARGS) == {"done": 1}
    assert approvals_used(scene.ledger) == [None, None]
    assert scene.ledger.contract("r").approvals == ()


@racing_or_not
def test_an_approval_is_no_leave_to_break_a_rule_that_was_accepted_since(scene: Scene, racing: bool) -> None:
    if racing:
        scene.just_before_the_claim(lambda: _forbid(scene.desk))
    else:
        _forbid(scene.desk)
    with pytest.raises(ConstraintViolated) as violated:
        scene.program.perform("pay", ARGS)
    assert violated.value.evidence["id"] == "never"
    assert scene.outside.calls == 0


def test_what_has_nothing_to_do_with_the_terms_leaves_the_approval_as_it_is(scene: Scene) -> None:
    """It is said between the decision and the append, so the claim is decided again."""

    def others() -> None:
        scene.desk.promise("tell", "Mail the customer", owed_to="customer:17")
        scene.desk.record_message("m-1", "user", "please")
        scene.desk.move("pay")
        scene.desk.assume("returned", "The goods came back")

    scene.just_before_the_claim(others)
    assert scene.program.perform("pay", ARGS) == {"done": 1}
    assert approvals_used(scene.ledger) == [None, scene.id]


def test_a_denial_as_it_is_claimed_comes_too_late_for_an_act_that_was_approved(scene: Scene) -> None:
    said: list[object] = []

    def deny() -> None:
        with pytest.raises(NotOpen):
            scene.aside.deny(scene.id, by=LEE)
        said.append("no")

    scene.just_before_the_claim(deny)
    assert scene.program.perform("pay", ARGS) == {"done": 1}
    assert said == ["no"]


# --- its time -----------------------------------------------------------------------------------


@pytest.fixture
def timed(wrapped: Wrapped, clock: SetClock) -> tuple[Ledger, SetClock, Outside]:
    """Return a ledger whose act has been approved for an hour, and whose outside takes two."""
    outside = Outside()

    def slowly(order: int) -> Any:
        clock.tick(7200)
        return outside(order=order)

    tool = paying(
        slowly,
        approval_seconds=3600,
        lease_seconds=100_000,
        definite_errors=KeyError,
        retry=Retry(3),
    )
    ledger = opened(wrapped, clock, [tool], wait=lambda seconds: None)
    begin(ledger)
    return ledger, clock, outside


@in_memory
def test_an_approval_that_expires_during_the_call_does_not_end_it(
    timed: tuple[Ledger, SetClock, Outside],
) -> None:
    ledger, _, _ = timed
    ledger.approve(asks(ledger).id, by=KIM)
    assert performs(ledger) == {"done": 1}
    assert names(ledger) == [*WAITS, "approval.answered", *ACTS]
    assert ledger.contract("r").approvals == ()


@in_memory
def test_a_retry_after_the_approval_has_expired_has_a_person_asked_anew(
    timed: tuple[Ledger, SetClock, Outside],
) -> None:
    ledger, _, outside = timed
    outside.ends = [KeyError("busy")]
    first = asks(ledger).id
    ledger.approve(first, by=KIM)
    again = asks(ledger)
    assert again.id != first
    assert outside.calls == 1
    assert asks(ledger).id == again.id
    ledger.approve(again.id, by=KIM)
    assert performs(ledger) == {"done": 2}
    used = [each for each in approvals_used(ledger) if each]
    assert used == [first, again.id]
    events = [record.event for record in ledger.log("r")]
    assert [event.attempt for event in events if isinstance(event, EffectStarted)] == [1, 2]


@in_memory
def test_attempts_under_one_approval_need_no_other_until_one_succeeds(
    wrapped: Wrapped, clock: SetClock
) -> None:
    outside = Outside(KeyError("busy"), KeyError("busy"))
    tool = paying(outside, definite_errors=KeyError, retry=Retry(5), approval_seconds=3600)
    ledger = opened(wrapped, clock, [tool], wait=lambda seconds: None)
    begin(ledger)
    id = asks(ledger).id
    ledger.approve(id, by=KIM)
    assert performs(ledger) == {"done": 3}
    assert approvals_used(ledger) == [None, id, id, id]
    # Done once more it is another act, and asked about by itself.
    other = asks(ledger, occurrence="second")
    assert other.id != id


@in_memory
def test_a_failure_leaves_the_approval_for_who_calls_again(wrapped: Wrapped, clock: SetClock) -> None:
    outside = Outside(KeyError("busy"))
    ledger = opened(wrapped, clock, [paying(outside, definite_errors=KeyError)])
    begin(ledger)
    id = asks(ledger).id
    ledger.approve(id, by=KIM)
    with pytest.raises(EffectFailed):
        performs(ledger)
    other = opened(wrapped, clock, [paying(outside, definite_errors=KeyError)])
    assert performs(other) == {"done": 2}
    assert approvals_used(ledger) == [None, id, id]


@in_memory
def test_an_answer_in_the_very_moment_of_the_end_is_too_late(
    timed: tuple[Ledger, SetClock, Outside],
) -> None:
    ledger, clock, outside = timed
    id = asks(ledger).id
    clock.tick(3600)
    with pytest.raises(NotOpen):
        ledger.approve(id, by=KIM)
    assert asks(ledger).id != id
    assert outside.calls == 0


# --- asking before -------------------------------------------------------------------------------


@in_memory
def test_asking_before_says_what_the_call_would_be_told_and_records_nothing(
    wrapped: Wrapped, clock: SetClock
) -> None:
    outside = Outside()
    tool: Tool = paying(outside)
    ledger = opened(wrapped, clock, [tool])
    begin(ledger)
    run = ledger.run("r", actor=PROGRAM)

    def rules() -> list[str]:
        before = names(ledger)
        found = run.may("pay", ARGS)
        assert names(ledger) == before
        assert bool(found) == (not found.objections)
        return [one.rule for one in found.objections]

    assert rules() == ["approval_required"]
    id = asks(ledger).id
    assert run.may("pay", ARGS).objections[0].evidence["id"] == id
    ledger.deny(id, by=KIM)
    assert rules() == ["approval_denied"]
    ledger.run("r", actor=DESK).request_approval(run.may("pay", ARGS).key)
    assert rules() == ["approval_required"]
    ledger.approve(ledger.contract("r").approvals[0].id, by=KIM)
    assert rules() == []
    assert performs(ledger) == {"done": 1}
    assert run.may("pay", ARGS).done
    ledger.run("r", actor=DESK).accept("never", "Refund nothing", asserted_by=LEE, rule=Rule(deny=("pay",)))
    found = run.may("pay", {"order": 18})
    assert [one.rule for one in found.objections] == ["constraint_violated", "approval_required"]
    assert outside.calls == 1


@in_memory
def test_a_block_whose_act_waits_is_not_entered(wrapped: Wrapped, clock: SetClock) -> None:
    outside = Outside()
    ledger = opened(wrapped, clock, [paying(outside)])
    begin(ledger)
    run, entered = ledger.run("r", actor=PROGRAM), 0
    for expected in (0, 1):
        try:
            with run.effect("pay", ARGS) as effect:
                entered += 1
                effect.succeed({"id": "re_1"})
        except ApprovalRequired as asked:
            ledger.approve(asked.id, by=KIM)
        assert entered == expected
    assert names(ledger) == [*WAITS, "approval.answered", *ACTS]
    assert outside.calls == 0


# --- finding out ---------------------------------------------------------------------------------


@in_memory
def test_what_waits_is_not_asked_about_outside_and_what_was_sent_is_sent_again_without_asking_anybody(
    wrapped: Wrapped, clock: SetClock
) -> None:
    """To find out what became of an act begins nothing, and so it needs no approval that binds."""
    outside = Outside(ConnectionError("the answer was lost"))
    tool = paying(outside, recovery="idempotent", dedupes_for=1_000_000, approval_seconds=60)
    ledger = opened(wrapped, clock, [tool])
    begin(ledger)
    id = asks(ledger).id
    assert [one.found for one in ledger.reconcile()] == ["not_asked"]
    ledger.approve(id, by=KIM)
    assert [one.found for one in ledger.reconcile()] == ["not_asked"]
    assert outside.calls == 0
    with pytest.raises(OutcomeUnknown):
        performs(ledger)
    clock.tick(100_000)
    assert [one.found for one in ledger.reconcile()] == ["happened"]
    assert performs(ledger) == {"done": 2}
    assert outside.calls == 2
    assert names(ledger).count("approval.requested") == 1


@in_memory
def test_what_nobody_knows_is_not_begun_again_under_an_approval_that_has_lapsed(
    wrapped: Wrapped, clock: SetClock
) -> None:
    """It stays unknown while a person is asked anew, and does not look as if it only waited."""
    outside = Outside(ConnectionError("the answer was lost"))
    tool = paying(outside, recovery="idempotent", dedupes_for=1_000_000, approval_seconds=60)
    ledger = opened(wrapped, clock, [tool])
    begin(ledger)
    first = asks(ledger).id
    ledger.approve(first, by=KIM)
    with pytest.raises(OutcomeUnknown):
        performs(ledger)
    clock.tick(100_000)
    again = asks(ledger)
    assert again.id != first
    assert [effect.status for effect in ledger.contract("r").effects] == ["unknown"]
    ledger.approve(again.id, by=KIM)
    assert performs(ledger) == {"done": 2}
    assert approvals_used(ledger) == [None, first, again.id]
