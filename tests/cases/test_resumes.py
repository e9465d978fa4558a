"""Runs that stopped, and what was lost, lapsed or changed until somebody wanted to go on with them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import Actor, Ledger, Recovery, Runtime, Step, Verdict
from ledger import commands as c
from ledger import events as e
from ledger.errors import AuthorityExceeded
from ledger.run.keys import runtime_digest
from ledger.testing import START, Clock, given
from tests.cases.conftest import Another
from tests.run import examples as x

PROGRAM = Actor("agent:refunds", session="s-1")
ANOTHER = Actor("agent:refunds", session="s-2")
KIM = Actor("human:kim")
DAY = 86_400


def test_the_latest_goal_and_every_constraint_outlive_the_transcript(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-021, case-022, case-023: the goal was revised, then all that was said was summarised away."""
    run = ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    run.accept("limit", "Never refund more than 100 EUR", asserted_by="human:kim")
    run.assume("returned", "The goods came back")
    run.promise("tell", "Mail the customer", owed_to="customer:17")
    run.commit_plan(["look", "pay"])
    for number in range(100):
        run.record_message(f"m-{number}", "assistant", "I finished the first skill and go on")
    run.revise_goal("Refund order 17 and nothing else", reason="the customer asked", by="human:kim")
    run.summarise("Work on order 17 was done.", through="m-99")
    run.suspend(reason="rate limit")
    clock.tick(3600)
    resumption = another().resume("r", actor=ANOTHER)
    assert resumption.verdict is Verdict.CONTINUE
    contract = another().contract("r")
    assert (contract.goal.text, contract.goal.revision) == ("Refund order 17 and nothing else", 2)
    assert [item.text for item in contract.constraints] == ["Never refund more than 100 EUR"]
    assert [item.id for item in contract.assumptions] == ["returned"]
    assert [item.id for item in contract.obligations] == ["tell"]
    for told in ("Refund order 17 and nothing else", "Never refund more than 100 EUR", "Mail the customer"):
        assert told in str(resumption.prompt)
    assert "skill" not in str(resumption.prompt)


def test_a_run_recovered_at_a_step_boundary_tells_since_when_nothing_was_heard_of_it(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-024: between two steps nothing is open, and still whoever asks learns how long it lies there."""
    ledger.open_run("r", "Refund order 17", actor=PROGRAM).move("paid")
    since = clock()
    clock.tick(3 * DAY)
    resumption = another().resume("r", actor=ANOTHER)
    (reason,) = resumption.reasons
    assert (resumption.verdict, reason.kind) == (Verdict.REPLAN, "idle")
    assert (reason.since, reason.who) == (since + timedelta(days=1), "agent:refunds")
    assert another().contract("r").alive.at == since


def test_an_act_that_a_suspended_run_left_open_is_unknown_and_a_person_leads_out(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-025: the act is owned by the very run that waits."""
    run = ledger.open_run("r", "Refund order 17", actor=PROGRAM)

    def stops(order: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.perform("pay", {"order": 17}, stops, recovery=Recovery.AT_MOST_ONCE)
    run.suspend(reason="shut down")
    clock.tick(3600)
    held = another().resume("r", actor=ANOTHER)
    (reason,) = held.reasons
    assert (held.verdict, reason.kind, reason.cleared_by) == (
        Verdict.RECONCILE,
        "effect_unknown",
        "effect.reconciled",
    )
    (unsettled,) = another().contract("r").effects
    another().run("r", actor=KIM).do(
        c.ReconcileEffect(
            by="human:kim", evidence="no payment", found="did_not_happen", key=unsettled.key, method="person"
        )
    )
    assert another().resume("r", actor=ANOTHER)


def test_an_approval_that_was_given_under_other_terms_is_cited_as_lapsed() -> None:
    """Case-026: approved, then the policy changes, then somebody wants to go on."""
    approved = given(
        x.opened(),
        x.accepted(),
        x.intended(),
        e.ApprovalRequested(id="ok-1", key=x.ONE),
        e.ApprovalAnswered(id="ok-1", answer="approved", by="human:kim"),
        x.SUSPENDED,
        actor=PROGRAM,
    )
    approved = approved.by(ANOTHER)
    assert approved.judged().verdict is Verdict.CONTINUE
    tightened = approved.by(KIM).also(x.accepted(text="Never refund", supersedes=2)).by(ANOTHER)
    judged = tightened.judged()
    (reason,) = judged.reasons
    assert (judged.verdict, reason.kind, reason.position) == (Verdict.REAPPROVE, "approval_void", 4)
    assert "'ok-1'" in reason.what
    assert "the terms changed at position 7" in reason.what


def test_authority_is_looked_at_with_each_act(ledger: Ledger, another: Another) -> None:
    """Case-027: it is revoked after the second of five steps."""
    run = ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    kim = another().run("r", actor=KIM)
    kim.grant("pay", principal="agent:refunds", scopes=("pay",), granted_by="human:kim")
    paid: list[int] = []

    def pay(part: int) -> None:
        paid.append(part)

    for number in range(1, 6):
        if number <= 2:
            run.perform("pay", {"part": number}, pay)
            continue
        if number == 3:
            kim.revoke("pay", reason="no longer trusted", by="human:kim")
        with pytest.raises(AuthorityExceeded):
            run.perform("pay", {"part": number}, pay)
    assert paid == [1, 2]
    run.suspend(reason="it may not act")
    held = another().resume("r", actor=ANOTHER)
    assert held.verdict is Verdict.REAPPROVE
    assert {"authority_revoked", "authority_missing"} >= {reason.kind for reason in held.reasons} != set()


@pytest.mark.parametrize("replanned", [True, False])
def test_an_approval_is_void_once_the_plan_or_the_program_is_another(replanned: bool) -> None:
    """Case-028: the workflow is edited between the question and the answer."""
    old, new = Runtime(tool_schema="graph-1"), Runtime(tool_schema="graph-2")
    asked = given(
        x.opened(runtime=old),
        e.PlanCommitted(steps=(Step(name="ask"), Step(name="pay"))),
        x.intended(step="pay"),
        e.ApprovalRequested(id="ok-1", key=x.ONE, runtime_digest=runtime_digest(old)),
        x.SUSPENDED,
        actor=PROGRAM,
    ).by(KIM)
    if replanned:
        asked = asked.also(e.PlanRevised(reason="shorter", steps=(Step(name="pay"),)))
    answered = asked.also(e.ApprovalAnswered(id="ok-1", answer="approved", by="human:kim")).by(ANOTHER)
    judged = answered.judged(runtime=old if replanned else new)
    kinds = [reason.kind for reason in judged.reasons]
    assert judged.verdict is Verdict.REAPPROVE
    assert kinds == (["approval_void"] if replanned else ["approval_void", "runtime_changed"])


def test_who_was_away_for_days_is_asked_whether_the_goal_still_holds(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-029: the age is that of the last stored event of the program, not of the process that asks."""
    run = ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    clock.tick(600)
    run.move("look")
    clock.tick(3 * DAY)
    held = another().resume("r", actor=PROGRAM)
    assert [reason.kind for reason in held.reasons] == ["idle"]
    assert held.reasons[0].since == START + timedelta(seconds=600 + DAY)
    another().run("r", actor=KIM).revise_goal("Refund order 17", reason="still wanted", by="human:kim")
    assert another().resume("r", actor=PROGRAM)


def test_a_position_inside_a_child_is_where_its_fork_stands(ledger: Ledger, another: Another) -> None:
    """Case-020: neither the parent nor the child is begun anew for it."""
    parent = ledger.open_run("parent", "Refund order 17", actor=PROGRAM)
    parent.open_child("child", "Pay it back")
    child = another().run("child", actor=PROGRAM)
    for node in ("look", "pay", "tell"):
        child.move(node)
    at = child.contract.position - 1
    fork = another().fork("child", as_="what-if", at=at)
    assert fork.contract.cursor is not None
    assert fork.contract.cursor.node == "pay"
    assert fork.contract.parent == e.Parent(position=at, relation="fork", root="parent", run="child")
    assert another().contract("child").cursor == child.contract.cursor
    assert another().contract("parent").position == parent.contract.position
