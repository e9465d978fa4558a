"""What speaks against going on of acts, of who is at work, and of who may act: the bounds of each rule."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.keys import runtime_digest
from ledger.testing import START, given
from ledger.values import Actor, ErrorSaid, Runtime, Step
from tests.gate.asking import ANOTHER, HOUR, MOVED, PROGRAM, kinds, stopped
from tests.run import examples as x

OTHERS = (Actor("human:kim"), Actor("service:desk"))
FREE = x.granted("free", on_resume="continue", scopes=("free",))

# --- effects ---------------------------------------------------------------------------------------


def test_an_act_that_nobody_began_bars_nothing_unless_the_ledger_was_not_there() -> None:
    assert kinds(stopped(x.intended())) == []
    assert kinds(stopped(x.intended(witnessed=False))) == ["effect_unknown"]


def test_an_act_that_is_settled_bars_nothing() -> None:
    begun = (x.intended(), x.started())
    assert kinds(stopped(*begun, e.EffectSucceeded(key=x.ONE, attempt=1))) == []
    failed = e.EffectFailed(key=x.ONE, attempt=1, error=ErrorSaid(message="no", type="No"))
    assert kinds(stopped(*begun, failed)) == []


@pytest.mark.parametrize(
    ("seconds", "asking", "kind"),
    [
        (7_199, {}, "effect_executing"),
        (7_200, {}, "effect_unknown"),
        (7_200, {"leases": {x.ONE: START + 9 * HOUR}}, "effect_executing"),
        (7_200, {"leases": {x.TWO: START + 9 * HOUR}}, "effect_unknown"),
        (7_200, {"lease_now": START}, "effect_executing"),
        (0, {"lease_now": START + 2 * HOUR}, "effect_unknown"),
    ],
)
def test_a_lease_that_lapsed_leaves_unknown_what_was_being_executed(
    seconds: int, asking: dict[str, Any], kind: str
) -> None:
    run = stopped(x.intended(), x.started(lease_until=START + 2 * HOUR))
    assert kinds(run.at(START + timedelta(seconds=seconds)).asked(**asking)) == [kind]


def test_an_inherited_act_is_told_by_the_run_it_comes_from() -> None:
    heir = given(*x.SUCCESSOR_EVENTS).later(hours=1)
    (reason,) = heir.judged().reasons
    assert (reason.kind, reason.position) == ("effect_unknown", None)
    assert "'run-0'" in reason.what


# --- who is at work --------------------------------------------------------------------------------


def test_nobody_is_at_work_on_a_successor_before_its_program_begins() -> None:
    restart = c.RestartRun(as_run="run-2", by="human:kim", reason="it cannot go on")
    heir = given(x.opened(), actor=PROGRAM).by("human:kim").when(restart).after.other("run-2").by(ANOTHER)
    assert kinds(heir) == []
    begun = heir.by(PROGRAM).also(MOVED).by(ANOTHER)
    assert kinds(begun) == ["still_running"]


def test_what_a_successor_is_opened_with_is_no_life_of_it_whoever_opens_it() -> None:
    by_hand = Actor("service:login@host")
    said = (x.accepted(), e.AssumptionMade(id="a", text="It is in stock"), x.granted(on_resume="continue"))
    restart = c.RestartRun(as_run="run-2", by="human:kim", reason="it cannot go on")
    heir = given(x.opened(), *said, actor=PROGRAM).by(by_hand).when(restart).after.other("run-2")
    assert kinds(heir.by(PROGRAM)) == []
    begun = heir.later(seconds=1).by(by_hand).also(e.AssumptionMade(id="b", text="It is red"))
    assert kinds(begun.by(PROGRAM)) == ["still_running"]


def test_a_program_that_said_that_it_rests_holds_nobody_off() -> None:
    rests = given(x.opened(), x.state(rests=True), actor=PROGRAM).later(seconds=1)
    for who in (PROGRAM, ANOTHER, Actor("agent:mail", session="m"), *OTHERS):
        assert kinds(rests.by(who)) == []
    assert kinds(rests.also(x.state("state-2")).by(ANOTHER)) == ["still_running"]


def test_a_service_that_works_for_an_agent_is_not_held_by_what_it_did_itself() -> None:
    worker = Actor("service:worker", session="w-1")
    run = given(x.opened(), MOVED, actor=PROGRAM).later(seconds=1).by(worker).also(MOVED).later(seconds=1)
    assert kinds(run.by(worker)) == kinds(run.by(PROGRAM)) == []
    for other in (ANOTHER, Actor(worker.id, session="w-2")):
        assert kinds(run.by(other)) == ["still_running"]


def test_who_rests_while_an_act_is_being_executed_is_waited_for() -> None:
    acting = given(x.opened(), x.intended(), x.started(), x.state(rests=True), actor=PROGRAM).later(seconds=1)
    assert kinds(acting.by(ANOTHER)) == ["effect_executing"]


def test_however_long_a_run_counts_as_live_it_does_so_without_end() -> None:
    run = given(x.opened(), actor=PROGRAM).later(days=365_000).by(ANOTHER)
    assert kinds(run.asked(live_seconds=2**53 - 1, idle_seconds=None)) == ["still_running"]
    assert kinds(run.asked(live_seconds=0, idle_seconds=2**53 - 1)) == []


def test_an_agent_that_suspends_what_another_one_is_at_work_on_does_not_take_it_over_by_that() -> None:
    run = given(x.opened(), MOVED, actor=PROGRAM).later(seconds=1)
    suspending = c.SuspendRun(reason="wait")
    rival = run.by(ANOTHER).when(suspending).after
    (reason,) = rival.judged().reasons
    assert (reason.kind, reason.who) == ("still_running", PROGRAM.id)
    assert ANOTHER.id in reason.what
    assert kinds(rival.by(Actor(PROGRAM.id, session="s-9"))) == ["still_running"]
    for who in (PROGRAM, *OTHERS):
        assert kinds(rival.by(who)) == [], "its program, and who is no agent, lets it go on"
    assert kinds(rival.later(hours=1)) == [], "its program was not heard of for long"
    assert not rival.judged(take_over=True).reasons
    again = rival.by(ANOTHER).when(suspending)
    assert not again.decision.events
    for who in (PROGRAM, *OTHERS):
        said = rival.by(who).when(suspending)
        assert len(said.decision.events) == 1, "the same words count for more"
        assert kinds(said.after.by(ANOTHER)) == []
        assert kinds(said.after.by(ANOTHER).when(c.SuspendRun(reason="more")).after) == []
        assert kinds(run.by(who).when(suspending).after.by(ANOTHER)) == []


def test_an_agent_may_suspend_what_no_program_has_begun_to_work_on() -> None:
    run = given(x.opened(), actor=OTHERS[0]).later(seconds=1).by(ANOTHER)
    assert kinds(run.when(c.SuspendRun(reason="wait")).after) == []


# --- authority -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "covered"),
    [
        (x.granted("b", scopes=("pay.*",), on_resume="continue"), True),
        (x.granted("b", scopes=("*",), on_resume="continue"), True),
        (x.granted("b", scopes=("pay.out", "pay.in"), on_resume="continue"), True),
        (x.granted("b", scopes=("pay.out",), on_resume="continue"), False),
        (x.granted("b", principal="agent:mail", scopes=("*",), on_resume="continue"), False),
        (x.granted("b", scopes=("*",), on_resume="continue", expires_at=START + HOUR), False),
    ],
)
def test_a_grant_that_lapsed_matters_only_where_no_other_one_covers_it(
    other: e.AuthorityGranted, covered: bool
) -> None:
    lapsed = x.granted("a", scopes=("pay.in", "pay.out"), expires_at=START + HOUR, on_resume="continue")
    assert (kinds(stopped(lapsed, other)) == []) is covered
    revoked = e.AuthorityRevoked(by="human:kim", id="a", reason="enough")
    assert (kinds(stopped(lapsed, other, said=[revoked])) == []) is covered


def test_a_grant_ends_at_its_end() -> None:
    run = stopped(FREE, x.granted(expires_at=START + 3 * HOUR, on_resume="continue"))
    assert kinds(run.at(START + 3 * HOUR - timedelta(microseconds=1))) == []
    assert kinds(run.at(START + 3 * HOUR)) == ["authority_expired"]


@pytest.mark.parametrize(
    ("fields", "spent", "asked_again"),
    [
        ({}, None, False),
        ({"on_resume": "reapprove"}, None, True),
        ({"session": "s-2"}, None, True),
        ({"session": "s-2", "on_resume": "continue"}, None, False),
        ({"budget": {"EUR": Decimal(10)}}, None, False),
        ({"budget": {"EUR": Decimal(10)}}, {"EUR": Decimal(1)}, True),
        ({"budget": {"EUR": Decimal(10)}, "on_resume": "continue"}, {"EUR": Decimal(1)}, False),
    ],
)
def test_a_grant_is_to_be_confirmed_where_it_says_so_or_has_a_session_or_a_partly_spent_budget(
    fields: dict[str, Any], spent: dict[str, Decimal] | None, asked_again: bool
) -> None:
    act = (
        x.intended(authority=("refunds",)),
        x.started(),
        e.EffectSucceeded(key=x.ONE, attempt=1, cost=spent),
    )
    run = stopped(x.granted(**fields), *act, MOVED)
    assert kinds(run) == (["authority_on_resume"] if asked_again else [])


def test_what_is_granted_or_renewed_after_the_program_fell_silent_is_confirmed() -> None:
    asks = x.granted(on_resume="reapprove")
    assert kinds(stopped(asks, MOVED)) == ["authority_on_resume"]
    assert kinds(stopped(said=[asks])) == []
    renewed = e.AuthorityRenewed(by="human:kim", id="refunds")
    assert kinds(stopped(asks, MOVED, said=[renewed])) == []
    running = given(x.opened(), asks, renewed, MOVED, actor=PROGRAM).later(hours=1).by(ANOTHER)
    assert kinds(running) == ["authority_on_resume"]


def test_a_renewal_that_extends_nothing_confirms_a_grant_once() -> None:
    held = stopped(x.granted(on_resume="reapprove"), MOVED).when(c.ResumeRun()).after.by("human:kim")
    confirmed = held.when(c.RenewAuthority(by="human:kim", id="refunds")).then(
        e.AuthorityRenewed(by="human:kim", id="refunds")
    )
    confirmed.when(c.RenewAuthority(by="human:kim", id="refunds")).then_stands_at(confirmed.position)
    assert kinds(confirmed.by(ANOTHER)) == []


def test_a_grant_for_another_session_bars_only_whom_it_is_for() -> None:
    bound = stopped(x.granted(session="s-1", on_resume="continue"), x.granted("h", principal="human:kim"))
    assert kinds(bound) == ["authority_of_another_session"]
    assert kinds(bound.by(PROGRAM)) == []
    assert kinds(bound.by("human:kim")) == []
    relayed = Actor("service:api", session="s-9", on_behalf_of=("agent:refunds",))
    assert kinds(bound.by(relayed)) == ["authority_of_another_session"]
    (reason,) = bound.by("agent:refunds").judged().reasons
    assert "another one asks" in reason.what
    assert reason.cleared_by == "authority.granted"  # a renewal binds to no session less


def test_an_agent_needs_a_grant_once_the_run_has_had_one() -> None:
    assert kinds(stopped()) == []
    assert kinds(stopped(x.granted("h", principal="agent:mail"))) == ["authority_missing"]
    assert kinds(stopped(x.granted("h", principal="agent:mail")).by("human:kim")) == []


def test_what_was_revoked_is_remembered_until_the_run_goes_on() -> None:
    revoked = e.AuthorityRevoked(by="human:kim", id="refunds", reason="enough")
    run = stopped(FREE, x.granted(), said=[revoked])
    assert [gone.id for gone in run.contract.revoked] == ["refunds"]
    assert kinds(run) == ["authority_revoked"]
    going_on = run.also(x.RESUMED, x.SUSPENDED)
    assert going_on.contract.revoked == ()
    assert kinds(going_on) == []


def test_who_was_never_given_authority_lost_none() -> None:
    """A child may be opened without any, and reads on; an agent that is to act there needs a grant."""
    parent = given(x.opened(), x.granted(), actor=PROGRAM)
    kid = parent.when(c.OpenChild(as_run="kid", goal="Look")).after.other("kid").also(x.SUSPENDED)
    assert (kid.contract.authority_needed, kid.contract.grants, kid.contract.revoked) == (True, (), ())
    assert kinds(kid.by("human:kim")) == []
    assert kinds(kid.by(ANOTHER)) == ["authority_missing"]


# --- approvals -------------------------------------------------------------------------------------

MODEL = Runtime(model="m-1")
REQUEST = e.ApprovalRequested(id="ok-1", key=x.ONE, runtime_digest=runtime_digest(MODEL))
APPROVED = e.ApprovalAnswered(id="ok-1", answer="approved", by="human:kim")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ((), None),
        ((APPROVED,), None),
        ((e.GoalRevised(by="human:kim", reason="asked", text="less"),), "the terms changed at position 5"),
        ((x.accepted("late"),), "the terms changed at position 5"),
        (
            (
                x.granted("late", principal="human:kim"),
                e.AuthorityRevoked(by="human:kim", id="late", reason="r"),
            ),
            None,
        ),
        ((e.PlanCommitted(steps=(Step(name="pay"),)),), "the plan changed at position 5"),
        (
            (e.RuntimeAdopted(by="human:kim", reason="r", runtime=MODEL),),
            "another runtime was adopted at position 5",
        ),
        ((e.ObligationOpened(id="o", owed_to="human:kim", text="Tell"), x.message(), x.observed()), None),
    ],
)
def test_an_approval_binds_to_what_it_was_asked_under(said: tuple[e.Event, ...], why: str | None) -> None:
    run = stopped(x.intended(), REQUEST, said=said, runtime=MODEL).by("human:kim")
    reasons = [reason for reason in run.judged().reasons if reason.kind == "approval_void"]
    assert [reason.what.rpartition("void: ")[2] for reason in reasons] == ([] if why is None else [why])


def test_an_approval_binds_to_the_runtime_that_goes_on() -> None:
    run = stopped(REQUEST, runtime=MODEL)
    assert kinds(run, runtime=Runtime(model="m-1")) == []
    assert kinds(run, runtime=Runtime(model="m-2")) == ["approval_void", "runtime_changed"]
    assert kinds(run, runtime=Runtime(prompt="p-1")) == ["approval_void"]


def test_of_each_act_the_last_request_counts_and_a_denial_binds_nothing() -> None:
    changed = e.GoalRevised(by="human:kim", reason="asked", text="less")
    again = e.ApprovalRequested(id="ok-2", key=x.ONE)
    assert kinds(stopped(REQUEST, said=[changed])) == ["approval_void"]
    assert kinds(stopped(REQUEST, said=[changed, again])) == []
    other = e.ApprovalRequested(id="ok-2", key=x.TWO)
    assert kinds(stopped(REQUEST, said=[changed, other])) == ["approval_void"]
    denied = e.ApprovalAnswered(id="ok-1", answer="denied", by="human:kim")
    assert kinds(stopped(REQUEST, said=[denied, changed])) == []
    # Written by the program that asked it is nobody's answer.
    assert kinds(stopped(REQUEST, denied, said=[changed])) == ["approval_void"]
    done = e.EffectSucceeded(key=x.ONE, attempt=1)
    assert kinds(stopped(x.intended(), REQUEST, x.started(), done, said=[changed])) == []
