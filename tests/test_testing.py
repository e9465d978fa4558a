"""The helpers for given, when, then: what they accept, what they refuse, and how they say so."""

from __future__ import annotations

import doctest
from datetime import timedelta

import pytest

import ledger.testing
from ledger import events as e
from ledger.commands import (
    AcceptConstraint,
    AnswerApproval,
    ClaimEffect,
    CloseRun,
    DischargeObligation,
    MakeAssumption,
    MoveCursor,
    OpenChild,
    RequestApproval,
    ResumeRun,
)
from ledger.record import ZERO_HASH
from ledger.run.decision import Judgement
from ledger.testing import START, Clock, given, given_source, seal
from ledger.values import Actor, Ending, Limits, Recovery, Source
from tests.run import examples as x

MAKE, MADE = MakeAssumption(id="a", text="one"), e.AssumptionMade(id="a", text="one")


def test_the_example_of_the_module_runs() -> None:
    result = doctest.testmod(ledger.testing)
    assert result.failed == 0
    assert result.attempted > 5


# --- expectations that do not hold -------------------------------------------------------------

OPENED = given(x.opened())


def test_other_events_than_expected_fail_and_name_both() -> None:
    with pytest.raises(AssertionError) as failed:
        OPENED.when(MAKE).then(e.AssumptionMade(id="b", text="one"))
    assert "AssumptionMade(by=None, id='b'" in str(failed.value)
    assert "AssumptionMade(by=None, id='a'" in str(failed.value)
    for wrong in ((), (MADE, MADE)):
        with pytest.raises(AssertionError):
            OPENED.when(MAKE).then(*wrong)


def test_a_refusal_is_not_what_events_were_expected_from() -> None:
    with pytest.raises(AssertionError, match="refused by not_open"):
        OPENED.when(DischargeObligation(id="a", evidence="b")).then(MADE)


def test_a_repeat_is_not_what_events_were_expected_from() -> None:
    with pytest.raises(AssertionError, match="a repeat of position 2"):
        OPENED.also(MADE).when(MAKE).then(MADE)


@pytest.mark.parametrize("position", [1, 3])
def test_a_repeat_stands_at_one_position_only(position: int) -> None:
    with pytest.raises(AssertionError, match=f"stands at position {position}"):
        OPENED.also(MADE).when(MAKE).then_stands_at(position)


def test_an_admission_is_not_where_a_repeat_was_expected() -> None:
    with pytest.raises(AssertionError):
        OPENED.when(MAKE).then_stands_at(2)


def test_a_refusal_is_checked_for_rule_position_and_what_it_records() -> None:
    limited = given(x.opened(limits=Limits(steps=1)), e.CursorMoved(node="a"))
    decided = limited.when(MoveCursor(node="b"))
    (recorded,) = decided.decision.events
    assert decided.then_refused("run_is_held", position=None, events=[recorded]).position == 3
    for wrong in (
        {"rule": "run_is_held"},
        {"rule": "not_open", "events": [recorded]},
        {"rule": "run_is_held", "events": [recorded], "position": 1},
        {"rule": "run_is_held", "events": [recorded, recorded]},
    ):
        with pytest.raises(AssertionError, match="refused by run_is_held"):
            decided.then_refused(**wrong)
    with pytest.raises(AssertionError, match="but was events"):
        OPENED.when(MAKE).then_refused("run_is_held")


# --- histories ---------------------------------------------------------------------------------


def test_a_history_is_chained_and_carries_terms_where_they_bind() -> None:
    records = seal(x.opened(), MADE, x.intended(), run="r", tenant="t", actor="human:kim", at=START)
    assert [record.position for record in records] == [1, 2, 3]
    assert [record.prev for record in records] == [ZERO_HASH, records[0].hash, records[1].hash]
    assert {(record.run, record.tenant, record.actor.id) for record in records} == {("r", "t", "human:kim")}
    assert [record.terms is not None for record in records] == [False, False, True]


def test_one_history_is_the_beginning_of_many() -> None:
    one, other = OPENED.also(MADE), OPENED.also(e.CursorMoved(node="a"))
    assert (OPENED.position, one.position, other.position) == (1, 2, 2)
    assert one.contract.cursor is None
    assert other.contract.assumptions == ()


def test_time_moves_where_it_is_told_to_and_never_falls_in_the_records() -> None:
    history = OPENED.later(hours=1).also(MADE).at(START).also(e.CursorMoved(node="a"))
    assert [record.at - START for record in history.records] == [
        timedelta(0),
        timedelta(hours=1),
        timedelta(hours=1),
    ]


def test_a_history_goes_back_to_a_position_or_a_moment() -> None:
    history = OPENED.later(hours=1).also(MADE).later(hours=1).also(e.CursorMoved(node="a"))
    assert history.upto(2) == history.upto(START + timedelta(minutes=90))
    assert history.upto(2).contract == OPENED.later(hours=1).also(MADE).contract
    assert history.upto(START - timedelta(seconds=1)).state is None


def test_who_writes_is_who_was_named_last() -> None:
    history = (
        OPENED.by("human:kim").also(MADE).by(Actor("agent:a", session="s")).also(e.CursorMoved(node="a"))
    )
    assert [record.actor.id for record in history.records] == ["service:test", "human:kim", "agent:a"]
    assert history.records[-1].actor.session == "s"


def test_a_source_that_is_not_named_was_never_opened() -> None:
    command = AcceptConstraint(
        asserted_by="human:kim", id="a", source=Source("policy", "refunds"), text="one"
    )
    decided = OPENED.when(command)
    assert decided.decision.guards == {"policy:refunds": 0}  # type: ignore[union-attr]
    beside = OPENED.beside(given_source("policy:refunds", e.SourceOpened(source="policy:refunds")))
    assert beside.when(command).decision.guards == {"policy:refunds": 1}  # type: ignore[union-attr]


def test_what_has_no_contract_says_so() -> None:
    with pytest.raises(AssertionError, match="no contract"):
        _ = given().contract
    with pytest.raises(AssertionError, match="no contract"):
        _ = given_source("policy:refunds").contract


def test_a_history_shows_its_events() -> None:
    assert "1 RunOpened(goal='Refund order 17'" in repr(OPENED)
    assert "nothing" in repr(given())


def test_a_clock_stands_until_it_is_set() -> None:
    clock = Clock()
    assert clock() == clock() == START
    assert clock.tick(90) == clock() == START + timedelta(seconds=90)
    clock.tick(-90)
    assert clock() == START


# --- what is told of what was recorded -----------------------------------------------------------

CLAIM = ClaimEffect(
    args="{}", needs_approval=True, recovery=Recovery.AT_MOST_ONCE, tool="refund", worker="w-1"
)


def test_an_act_that_waits_is_told_so_with_the_events_it_is_recorded_by() -> None:
    asked = OPENED.when(CLAIM)
    intended, requested = asked.decision.events
    waiting = asked.then_told("approval_required", intended, requested)
    assert waiting == asked.then(intended, requested) == asked.then_told("approval_required")
    assert asked.told is not None
    (approval,) = waiting.contract.approvals
    assert asked.told.evidence["id"] == approval.id
    with pytest.raises(AssertionError, match="expected that it is told approval_denied\nbut was events"):
        asked.then_told("approval_denied")
    for wrong in ((requested,), (requested, intended)):
        with pytest.raises(AssertionError, match="\ntold approval_required"):
            asked.then_told("approval_required", *wrong)


def test_nothing_is_told_of_what_came_to_what_was_asked_for_or_was_refused() -> None:
    refused = OPENED.when(DischargeObligation(id="a", evidence="b"))
    for decided in (OPENED.when(MAKE), OPENED.also(MADE).when(MAKE), refused, given().when(MAKE)):
        assert decided.told is None
        with pytest.raises(AssertionError, match="that it is told not_open"):
            decided.then_told("not_open")


def test_an_answer_that_does_not_count_is_told_and_a_request_looks_up_its_act() -> None:
    waiting = OPENED.when(CLAIM).after
    (approval,) = waiting.contract.approvals
    lost = AnswerApproval(answer="approved", by="human:kim", id="other")
    waiting.by("human:kim").when(lost).then_told("approval_not_found")
    answered = waiting.by("human:kim").when(AnswerApproval(answer="denied", by="human:kim", id=approval.id))
    assert answered.told is None
    again = answered.after.when(RequestApproval(key=approval.key)).after
    assert again.contract.approvals[0].id != approval.id
    again.when(RequestApproval(key=x.ONE)).then_refused("not_open")


# --- the gate, and other runs ------------------------------------------------------------------


def test_a_resume_is_judged_on_what_is_given() -> None:
    stopped = OPENED.also(x.SUSPENDED).later(hours=1).by("agent:refunds")
    assert stopped.judged() == Judgement()
    assert isinstance(stopped.when(ResumeRun()).after.records[-2].event, e.RunResumed)
    running = OPENED.later(hours=1).by("agent:refunds")
    assert not running.judged().reasons
    assert [one.kind for one in running.asked(live_seconds=9_999).judged().reasons] == ["still_running"]
    assert not running.asked(live_seconds=9_999).by("service:test").judged().reasons
    taken = running.asked(live_seconds=9_999).by("human:kim")
    assert not taken.judged(take_over=True).reasons
    with pytest.raises(TypeError, match="sooner"):
        running.asked(sooner=True).judged()


def test_what_is_appended_to_other_runs_is_expected_by_their_names() -> None:
    decided = OPENED.when(OpenChild(as_run="kid", goal="Mail"))
    owed = e.ObligationOpened(because="run:kid", id="kid", owed_to="service:test", text="Mail")
    parent = e.Parent(position=1, relation="child", root="run-1", run="run-1")
    begun = x.opened(goal="Mail", parent=parent)
    after = decided.then(owed, beside={"kid": (begun,)})
    assert after.other("kid").records[-1].event == begun
    for wrong in ({}, {"kid": ()}, {"other": (begun,)}, {"kid": (begun, begun)}):
        with pytest.raises(AssertionError, match="and beside, of 'kid'"):
            decided.then(owed, beside=wrong)
    with pytest.raises(AssertionError):
        after.when(OpenChild(as_run="kid", goal="Mail")).then_stands_at(1)
    after.when(OpenChild(as_run="kid", goal="Mail")).then_stands_at(2)
    with pytest.raises(AssertionError, match="and beside, of 'kid'"):
        decided.then_stands_at(2)


def test_who_goes_on_with_another_run_has_this_one_among_the_others() -> None:
    after = OPENED.when(OpenChild(as_run="kid", goal="Mail")).after.later(hours=1).by("human:kim")
    kid = after.other("kid")
    assert (kid.now, kid.actor, set(kid.others)) == (after.now, after.actor, {"run-1"})
    closed = kid.when(CloseRun(outcome=Ending.COMPLETED)).after
    assert closed.other("run-1").contract.obligations == ()
    assert after.contract.obligations != ()
