"""Consent to what was begun, named, done or denied before, here or in another run of the lineage."""

from __future__ import annotations

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.claims import names_of
from ledger.run.decision import Refusal
from ledger.run.history import history_of
from ledger.run.keys import given_key
from ledger.testing import given
from ledger.values import Recovery, Step
from tests.run import examples as x
from tests.run.approving import (
    AGENT,
    ASK,
    ASKING,
    KIM,
    LEE,
    RUNTIME,
    anew,
    approval,
    approved,
    asked,
    begins,
    denied,
    rule_of,
    sent,
)
from tests.run.claiming import (
    KEY,
    begun,
    claim,
    fail,
    find,
    history,
    key_of,
    lapsed,
    not_know,
    started,
    succeed,
    the_effect,
)

OTHER = '{"order":18}'
FREE = given(x.opened(runtime=RUNTIME), actor=AGENT)
"""An agent's run in which no constraint asks for anybody."""
DECLARED = claim(needs_approval=True)
WAITING = asked()
APPROVED = approved(WAITING)
DENIED = denied(WAITING)
KIN = e.Parent(position=1, relation="child", root="run-1", run="run-1")
OTHER_GOAL = e.GoalRevised(by=KIM, reason="the customer asked", text="Refund order 17 and say so")


# --- acts that were begun ----------------------------------------------------------------------


def test_what_was_begun_is_asked_about_without_a_new_intention() -> None:
    again = claim(recovery=Recovery.IDEMPOTENT)
    run = lapsed(begun(FREE, again).when(not_know()).after.also(x.accepted("ask-first", rule=ASK)))
    decision = run.when(again).decision
    assert [type(event) for event in decision.events] == [e.ApprovalRequested]
    after = run.also(*decision.events)
    assert the_effect(after).status == "unknown"
    assert the_effect(denied(after)).status == "unknown"
    assert started(approved(after).when(again)) is not None


@pytest.mark.parametrize("status", ["executing", "unknown", "disputed"])
def test_an_approval_lets_nothing_begin_that_is_under_way_or_in_doubt(status: str) -> None:
    run = begun(APPROVED)
    if status == "unknown":
        run = run.when(not_know()).after
    if status == "disputed":
        run = begun(run.when(fail()).after).when(succeed(1)).after
    assert the_effect(run).status == status
    assert started(run.when(claim())) is None
    assert started(approved(anew(run, by=LEE)).when(claim())) is None


def test_what_waits_after_a_failure_bars_the_same_act_only_while_it_waits() -> None:
    failed = begun(APPROVED).when(fail()).after.also(OTHER_GOAL)
    waits = asked(failed)
    elsewhere = claim(step="other")
    assert rule_of(waits.when(elsewhere).decision) == "possible_repeat"
    asked(denied(waits), elsewhere)


def test_asking_without_an_answer_about_what_waits_leaves_it_waiting() -> None:
    """Nothing was sent, so that the outside knows of nothing: that makes nobody doubt."""
    for found in ("unknown", "did_not_happen"):
        run = WAITING.when(find(found)).after
        assert (the_effect(run).status, history(run).status) == ("pending", "pending")
        begins(approved(run))


@pytest.mark.parametrize("status", ["executing", "unknown", "succeeded"])
def test_a_question_that_is_recorded_late_does_not_hide_what_another_run_did(status: str) -> None:
    """Two runs of a lineage decide at one moment, and what is asked is stored after what was done."""
    asks = asked()
    child = begun(given(x.opened(parent=KIN), run="kid", actor=AGENT))
    if status == "unknown":
        child = child.when(not_know()).after
    if status == "succeeded":
        child = child.when(succeed(result=x.ANSWER)).after
    known = history_of(KEY, [*asks.records[:-2], *child.records, *asks.records[-2:]])
    assert known is not None
    assert (known.status, known.attempt, known.run) == (status, 1, "kid")
    assert known.result == (x.ANSWER if status == "succeeded" else None)


def test_a_child_does_not_hide_what_its_parent_left_in_doubt() -> None:
    """What it asks is no intention of an act that another run of the lineage has begun."""
    command = claim(recovery=Recovery.IDEMPOTENT, dedupes_for=60, lease_seconds=10)
    parent = begun(FREE, command)
    child = given(x.opened(parent=KIN), x.accepted("ask", rule=ASK), run="kid", actor=AGENT)
    child = child.among(parent).later(seconds=20)
    child = sent(child, command).after
    assert [type(one.event) for one in child.records[2:]] == [e.ApprovalRequested]
    child = approved(child)
    assert started(sent(child, command)) is not None
    assert rule_of(sent(child.later(seconds=60), command).decision) == "outcome_unknown"


# --- names of acts -----------------------------------------------------------------------------

GIVEN = given_key("default", "run-1", "g")


def test_a_given_key_that_was_used_is_no_name_for_what_waits() -> None:
    done = begun(FREE, claim(given="g")).when(succeed(key=GIVEN)).after
    waits = asked(ASKING, claim(given="g"))
    for run, command in (
        (done.also(x.accepted("ask-first", rule=ASK)), claim(given="g", args=OTHER)),
        (done, claim(given="g", args=OTHER, needs_approval=True)),
        (given(x.opened(parent=KIN), run="kid", actor=AGENT).among(waits), claim(given="g", args=OTHER)),
    ):
        assert rule_of(sent(run, command).decision) == "key_conflict"


def test_an_approval_under_a_given_key_is_for_its_arguments_alone() -> None:
    """Also where nothing waits in the contract, since a person denied it first."""
    run = denied(asked(ASKING, claim(given="g")), key=GIVEN)
    run = approved(anew(run, by=LEE, key=GIVEN), key=GIVEN)
    assert rule_of(sent(run, claim(given="g", args=OTHER)).decision) == "key_conflict"
    assert started(sent(run, claim(given="g"))) is not None


def test_a_name_that_two_runs_give_to_two_acts_at_one_moment_is_that_of_the_first() -> None:
    """What waits is stored where nobody began anything, so both may be."""
    first = asked(ASKING, claim(given="g"))
    kid = given(x.opened(parent=KIN), x.accepted("ask-first", rule=ASK), run="kid", actor=AGENT).later(
        hours=1
    )
    second = asked(kid, claim(given="g", args=OTHER))
    known = history_of(GIVEN, [*first.records, *second.records])
    assert known is not None
    assert (known.act, known.args) == (names_of(first.contract, claim()).act, '{"order":17}')
    run = approved(first.later(hours=2).among(second), key=GIVEN)
    assert rule_of(run.when(claim(given="g", args=OTHER)).decision) == "key_conflict"
    assert rule_of(run.when(claim(given="g")).decision) is None
    free = given(x.opened(parent=KIN), run="kid", actor=AGENT)
    known = history_of(GIVEN, [*first.records, *begun(free, claim(given="g", args=OTHER)).records])
    assert known is not None
    assert (known.args, known.status) == (OTHER, "executing")


# --- the same act twice ------------------------------------------------------------------------

FIRST, SECOND = claim(step="a"), claim(step="b")
MEANT = claim(step="b", repeat_reason="two are meant")


def test_the_same_act_in_another_step_is_a_repeat_of_what_waits() -> None:
    run = asked(ASKING, FIRST)
    assert rule_of(run.when(SECOND).decision) == "possible_repeat"
    run = denied(run, key=key_of(ASKING, FIRST))
    asked(run, SECOND)


def test_of_two_that_wait_the_one_that_was_asked_first_is_never_the_repeat() -> None:
    first, second = key_of(ASKING, FIRST), key_of(ASKING, MEANT)
    both = asked(asked(ASKING, FIRST), MEANT)
    begins(approved(both, key=first), FIRST)
    again = asked(both.also(OTHER_GOAL), FIRST)
    begins(approved(again, key=first), FIRST)
    assert rule_of(approved(again, key=first).when(SECOND).decision) == "possible_repeat"
    begins(approved(asked(again, MEANT), key=second), MEANT)


def test_what_is_done_meanwhile_makes_an_approved_act_a_repeat_unless_that_is_meant() -> None:
    both = asked(asked(ASKING, FIRST), MEANT)
    second = key_of(ASKING, MEANT)
    done = begun(approved(both, key=second), MEANT).when(succeed(key=second)).after
    first = approved(done, key=key_of(ASKING, FIRST))
    assert rule_of(first.when(FIRST).decision) == "possible_repeat"
    begins(first, claim(step="a", repeat_reason="three are meant"))


def test_an_act_that_was_undone_is_asked_about_like_any_other() -> None:
    done = begun(FREE).when(succeed()).after
    undo = claim(tool="undo", args=OTHER)
    undone = begun(done, undo).when(succeed(key=key_of(FREE, undo))).after
    again = claim(step="again", undone_by=key_of(FREE, undo))
    run = asked(undone.also(x.accepted("ask-first", rule=ASK)), again)
    assert begins(approved(run, key=key_of(FREE, again)), again).undone_by == key_of(FREE, undo)


# --- denied ------------------------------------------------------------------------------------


def test_a_denied_act_is_refused_and_the_run_goes_on() -> None:
    decision = DENIED.when(claim()).decision
    assert isinstance(decision, Refusal)
    assert (decision.rule, decision.position) == ("approval_denied", DENIED.position)
    (refused,) = decision.events
    assert isinstance(refused, e.EffectRefused)
    assert refused.evidence == {"approval": approval(WAITING).id, "by": KIM, "key": KEY}
    assert DENIED.contract.status == "open"
    assert DENIED.contract.effects == ()


def test_a_denied_act_is_denied_whoever_claims_it_and_whatever_its_tool_says_now() -> None:
    for who in (AGENT, "agent:other", KIM, "service:cron"):
        assert rule_of(DENIED.by(who).when(claim(worker="w-2")).decision) == "approval_denied"
    run = denied(asked(FREE, DECLARED))
    assert rule_of(run.when(claim()).decision) == "approval_denied"


@pytest.mark.parametrize(
    "changed", [OTHER_GOAL, e.PlanCommitted(steps=(Step(name="pay"), Step(name="b")))], ids=["goal", "plan"]
)
def test_what_changed_since_a_denial_lets_it_be_asked_about_anew_and_no_more(changed: e.Event) -> None:
    command = claim(step="pay")
    run = denied(asked(ASKING, command), key=key_of(ASKING, command)).also(changed)
    asked(run, command)


def test_what_a_person_denied_is_not_begun_because_an_agent_revised_the_goal() -> None:
    """Also where nothing else asks for a person: they were asked, and said no."""
    vetoed = denied(anew(begun(FREE), by=LEE)).when(fail()).after
    assert rule_of(vetoed.when(claim()).decision) == "approval_denied"
    revised = vetoed.when(c.ReviseGoal(by=AGENT, reason="shorter", text="Refund it")).after
    waits = asked(revised)
    assert "human:kim denied it" in (approval(waits).question or "")
    begins(approved(waits))


def test_another_step_or_occurrence_of_a_denied_act_is_asked_about_by_itself() -> None:
    for other in (claim(step="other"), claim(occurrence="second")):
        run = asked(DENIED, other)
        assert rule_of(run.when(claim()).decision) in ("approval_denied", "possible_repeat")
        begins(approved(run, key=key_of(ASKING, other)), other)


def test_a_retry_of_what_was_denied_after_it_failed_is_refused() -> None:
    failed = begun(APPROVED).when(fail()).after
    run = denied(anew(failed, by=LEE))
    assert rule_of(run.when(claim()).decision) == "approval_denied"
    begins(approved(anew(run, by=LEE)))


def test_only_the_last_denials_are_kept_and_what_is_let_go_is_asked_about_again() -> None:
    run = DENIED
    for order in range(64):
        command = claim(args=f'{{"order":{order + 100}}}')
        run = denied(asked(run, command), key=key_of(ASKING, command))
    assert len(run.contract.approvals) == 64
    asked(run)
