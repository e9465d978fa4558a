"""Consent: an act that needs a person is recorded as waiting, and begins under what it was approved under."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.codec import act_digest
from ledger.run.decide import told
from ledger.run.decision import Admitted, Refusal
from ledger.run.keys import runtime_digest
from ledger.testing import START, given, given_source
from ledger.values import Ending, Published, Recovery, Rule, Runtime, Step
from tests.run import examples as x
from tests.run.approving import (
    AGENT,
    ASK,
    ASKING,
    KIM,
    LEE,
    RUNTIME,
    anew,
    answer,
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
    Run,
    begun,
    claim,
    fail,
    find,
    key_of,
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
OTHER_GOAL = e.GoalRevised(by=KIM, reason="the customer asked", text="Refund order 17 and say so")


# --- asking ------------------------------------------------------------------------------------


def test_an_act_that_needs_a_person_is_recorded_as_waiting_and_nothing_is_set_aside() -> None:
    funded = ASKING.also(x.granted(principal=AGENT, budget=x.EUR_10))
    decision = funded.when(claim(reserved=x.EUR_10, approval_seconds=60, tool_schema="5" * 64)).decision
    assert isinstance(decision, Admitted)
    intended, request = decision.events
    assert isinstance(intended, e.EffectIntended)
    assert isinstance(request, e.ApprovalRequested)
    assert (intended.key, intended.approval, intended.authority, intended.reserved) == (KEY, None, (), None)
    assert (request.key, request.tool_schema, request.runtime_digest) == (
        KEY,
        "5" * 64,
        runtime_digest(RUNTIME),
    )
    assert request.expires_at == START + timedelta(seconds=60)
    after = funded.also(*decision.events)
    assert approval(after).terms == funded.contract.terms
    assert approval(after).requested_by == AGENT
    assert after.contract.grants == funded.contract.grants
    assert (the_effect(after).status, the_effect(after).attempt) == ("pending", 0)


def test_the_id_of_a_request_begins_with_the_key_of_its_act() -> None:
    assert approval(WAITING).id.startswith(f"{KEY}-")
    assert len(approval(WAITING).id) == 64 + 1 + 8


def test_who_asked_is_told_from_what_was_recorded() -> None:
    decided = ASKING.when(claim())
    refusal = told(WAITING.contract, claim(), WAITING.records[-2:])
    assert refusal is not None
    assert refusal.rule == "approval_required"
    assert refusal.position == decided.after.position
    assert refusal.evidence == {
        "constraints": ("ask-first",),
        "id": approval(WAITING).id,
        "key": KEY,
        "tool": "refund",
    }


@pytest.mark.parametrize(("run", "command"), [(ASKING, claim()), (FREE, DECLARED)])
def test_who_asks_again_is_told_the_same(run: Run, command: c.ClaimEffect) -> None:
    waiting = asked(run, command)
    first = told(waiting.contract, command, waiting.records[-2:])
    later = waiting.later(seconds=5).when(command).decision
    assert first is not None
    assert isinstance(later, Refusal)
    assert (later.rule, later.position, later.evidence) == (first.rule, first.position, first.evidence)
    assert first.evidence["constraints"] == (() if run is FREE else ("ask-first",))


def test_asked_again_it_waits_under_the_same_request_and_nothing_is_appended() -> None:
    decision = WAITING.later(seconds=5).when(claim(worker="w-2")).decision
    assert isinstance(decision, Refusal)
    assert (decision.rule, decision.events) == ("approval_required", ())
    assert decision.evidence["id"] == approval(WAITING).id


def test_the_question_says_who_wants_it_and_whether_a_tool_or_a_constraint_does() -> None:
    both = ASKING.also(x.accepted("and-this", text="Ask twice", rule=ASK, asserted_by=LEE))
    question = approval(asked(both)).question or ""
    assert "ask-first, asserted by human:kim" in question
    assert "Ask twice (constraint and-this, asserted by human:lee)" in question
    assert approval(asked(FREE, DECLARED)).question == "refund is only done once a person has approved it"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (None, DECLARED),
        (ASK, claim()),
        (ASK, DECLARED),
        (Rule(needs_approval=True), claim()),
    ],
    ids=["tool", "rule", "both", "of all tools"],
)
def test_a_tool_and_a_rule_each_ask_for_a_person_and_one_answer_is_enough(
    rule: Rule | None, command: c.ClaimEffect
) -> None:
    run = FREE if rule is None else FREE.also(x.accepted("ask-first", rule=rule))
    intended = begins(approved(asked(run, command)), command)
    assert intended.approval == approval(asked(run, command)).id


@pytest.mark.parametrize(
    "rule", [Rule(needs_approval=True, tools=("mail",)), Rule(tools=("refund",))], ids=["other", "none"]
)
def test_nobody_is_asked_where_neither_wants_it(rule: Rule) -> None:
    assert begins(FREE.also(x.accepted("ask-first", rule=rule))).approval is None


def test_a_constraint_asks_only_while_it_is_valid() -> None:
    run = FREE.also(x.accepted("ask-first", rule=ASK, valid_until=START + x.HOUR))
    asked(run)
    begins(run.at(START + x.HOUR))
    soon = FREE.also(x.accepted("ask-first", rule=ASK, valid_from=START + x.HOUR))
    begins(soon)
    asked(soon.at(START + x.HOUR))


def test_two_constraints_ask_for_one_answer() -> None:
    both = ASKING.also(x.accepted("and-this", rule=Rule(needs_approval=True)))
    begins(approved(asked(both)))


def test_what_is_refused_anyway_asks_nobody() -> None:
    off_plan = ASKING.also(e.PlanCommitted(steps=(Step(name="look"),)))
    off_plan.when(claim()).then_refused("off_plan", events=off_plan.when(claim()).decision.events)
    for run in (
        ASKING.also(x.granted(principal=AGENT, scopes=("mail",))),
        ASKING.also(x.accepted("never", rule=Rule(deny=("refund",)))),
    ):
        assert not run.when(claim()).after.contract.approvals


def test_a_look_waits_for_nobody_so_one_that_must_be_approved_is_not_taken() -> None:
    look = claim(recovery=Recovery.READ_ONLY)
    assert rule_of(ASKING.when(look).decision) == "constraint_violated"
    assert rule_of(FREE.also(x.accepted("ask", rule=Rule(needs_approval=True))).when(look).decision) is None


def test_waiting_is_guarded_by_where_the_sources_stand() -> None:
    source = given_source("policy:refunds", x.published(Published(id="ask-first", text=x.LIMIT, rule=ASK)))
    run = FREE.also(x.accepted("ask-first", rule=ASK, source=x.POLICY, source_position=1, published=True))
    decision = run.beside(source).when(claim()).decision
    assert isinstance(decision, Admitted)
    assert decision.guards == {"policy:refunds": 1}
    assert isinstance(decision.events[0], e.EffectIntended)
    assert decision.events[0].source_positions == {"policy:refunds": 1}


def test_an_act_that_is_new_must_be_fresh_where_it_is_appended_as_waiting() -> None:
    decision = sent(ASKING, claim()).decision
    assert isinstance(decision, Admitted)
    (act,) = decision.fresh
    assert act.intentions == 0
    assert act.digest == act_digest(WAITING.records[-2].event.act)  # type: ignore[attr-defined]


# --- acting under an approval ------------------------------------------------------------------


def test_an_approved_act_begins_and_names_its_approval() -> None:
    intended = begins(APPROVED)
    assert intended.approval == approval(APPROVED).id
    assert the_effect(begun(APPROVED)).attempt == 1


def test_an_approval_covers_every_attempt_until_one_succeeds() -> None:
    command = claim(max_attempts=3)
    run = approved(asked(ASKING, command))
    for attempt in (1, 2):
        assert begins(run, command).approval == approval(run).id
        run = begun(run, command).when(fail(attempt)).after
    run = begun(run, command).when(succeed(3)).after
    assert run.contract.approvals == ()
    run.when(command).then_stands_at(run.position)


def test_an_approval_does_not_cover_more_attempts_than_were_declared() -> None:
    command = claim(max_attempts=2)
    run = approved(asked(ASKING, command))
    for attempt in (1, 2):
        run = begun(run, command).when(fail(attempt)).after
    run.when(command).then_refused("effect_failed")


def test_what_was_done_and_found_not_to_have_been_is_asked_about_anew() -> None:
    done = begun(APPROVED).when(succeed()).after.later(hours=1)
    again = done.by(KIM).when(find("did_not_happen", method="person", by=KIM)).after.by(AGENT)
    assert the_effect(again).status == "disputed"
    settled = again.by(KIM).when(find("did_not_happen", method="person", by=KIM, evidence="the bank")).after
    asked(settled.by(AGENT))


@pytest.mark.parametrize(
    "changed",
    [
        OTHER_GOAL,
        x.accepted("be-kind", text="Be kind"),
        x.accepted("ask-first", rule=ASK, text="Ask, and wait"),
        x.granted(principal=AGENT),
        e.PlanCommitted(steps=(Step(name="pay"),)),
        e.RuntimeAdopted(by=KIM, reason="the same, said again", runtime=RUNTIME),
        e.RunResumed(gap_seconds=1, incarnation=2, prompt_digest="d" * 64, runtime=Runtime(model="m-2")),
    ],
    ids=lambda event: event.name,
)
@pytest.mark.parametrize("run", [WAITING, APPROVED], ids=["waiting", "approved"])
def test_what_an_approval_binds_to_makes_it_void_and_the_act_is_asked_about_anew(
    run: Run, changed: e.Event
) -> None:
    command = claim(step="pay")
    before = asked(ASKING, command)
    key = key_of(ASKING, command)
    if run is APPROVED:
        before = approved(before, key=key)
    old = approval(before, key)
    decided = before.also(changed).when(command)
    intended, request = decided.decision.events
    assert isinstance(intended, e.EffectIntended)
    assert isinstance(request, e.ApprovalRequested)
    assert request.id != old.id
    (new,) = decided.after.contract.approvals
    assert (new.id, new.answered) == (request.id, None)
    begins(approved(decided.after, key=key), command)


def test_who_is_asked_anew_is_told_why_the_first_yes_binds_no_more() -> None:
    changed = (
        approved(asked()).when(c.ReviseGoal(by=KIM, reason="less", text="Refund half of order 17")).after
    )
    position = changed.position
    question = approval(asked(changed)).question
    assert question is not None
    why = f"It was asked before, and is asked anew: the terms changed at position {position}."
    assert question.startswith(f"{why} May refund be done?")


def test_another_schema_of_the_tool_makes_it_void() -> None:
    for old, new in ((None, "5" * 64), ("5" * 64, "6" * 64), ("5" * 64, None)):
        run = approved(asked(ASKING, claim(tool_schema=old)))
        begins(run, claim(tool_schema=old))
        asked(run, claim(tool_schema=new))


def test_time_makes_it_void_answered_or_not() -> None:
    command = claim(approval_seconds=60)
    for run in (asked(ASKING, command), approved(asked(ASKING, command))):
        assert rule_of(run.later(seconds=59).when(command).decision) != "approval_void"
        late = asked(run.later(seconds=60), command)
        assert approval(late).expires_at == START + timedelta(seconds=120)
    begins(approved(asked(ASKING, command)).later(seconds=59), command)


def test_a_clock_set_back_makes_no_approval_good_again() -> None:
    run = approved(asked(ASKING, claim(approval_seconds=60))).later(seconds=60).also(x.message())
    asked(run.at(START), claim(approval_seconds=60))


def test_other_arguments_are_another_act() -> None:
    asked(APPROVED, claim(args=OTHER))
    asked(APPROVED, claim(occurrence="second"))


def test_terms_that_are_again_what_they_were_bind_again() -> None:
    there_and_back = APPROVED.also(
        x.accepted("late"), e.ConstraintWithdrawn(by=KIM, id="late", reason="no need")
    )
    begins(there_and_back)


UNRELATED = [
    one
    for one in x.EVENTS[1:]
    if not isinstance(
        one,
        e.ApprovalAnswered
        | e.ApprovalRequested
        | e.AuthorityGranted
        | e.AuthorityRenewed
        | e.AuthorityRevoked
        | e.ConstraintAccepted
        | e.ConstraintWithdrawn
        | e.GoalRevised
        | e.PlanCommitted
        | e.PlanRevised
        | e.RuntimeAdopted,
    )
]


def test_no_other_event_voids_an_approval() -> None:
    """Of every class of events that are none of those an approval binds to."""
    binding = {type(one) for one in x.EVENTS} - {type(one) for one in UNRELATED}
    assert len(binding) == 12  # with run.opened
    run = APPROVED
    for event in UNRELATED:
        run = run.also(event)
        if isinstance(event, e.RunSuspended | e.ResumeRefused):
            run = run.also(
                e.RunResumed(gap_seconds=1, incarnation=run.contract.incarnation + 1, prompt_digest="d" * 64)
            )
        if isinstance(event, e.RunClosed):
            break
        assert begins(run).approval == approval(APPROVED).id, event.name
    assert isinstance(event, e.RunClosed)


def test_confirming_a_grant_voids_nothing_and_extending_it_does() -> None:
    """The terms hold grants as they were given: what may be done beyond that, nobody has said yes to."""
    run = approved(asked(ASKING.also(x.granted(principal=AGENT, budget=x.EUR_10, expires_at=START + x.HOUR))))
    begins(run.also(e.AuthorityRenewed(by=KIM, id="refunds")))
    begins(run.also(e.AuthorityCarved(by=KIM, id="refunds", budget={"EUR": x.EUR_10["EUR"] / 2}, run="kid")))
    asked(run.also(e.AuthorityRenewed(by=KIM, id="refunds", add_budget=x.EUR_10)))
    asked(run.also(e.AuthorityRenewed(by=KIM, id="refunds", expires_at=START + 2 * x.HOUR)))


def test_a_rule_that_was_withdrawn_meanwhile_asks_for_nobody_any_more() -> None:
    withdrawn = e.ConstraintWithdrawn(by=KIM, id="ask-first", reason="no need")
    for run in (WAITING, APPROVED):
        assert begins(run.also(withdrawn)).approval is None


def test_a_rule_accepted_meanwhile_is_held_against_an_approved_act() -> None:
    forbidding = x.accepted("never", rule=Rule(deny=("refund",)))
    assert rule_of(APPROVED.also(forbidding).when(claim()).decision) == "constraint_violated"
    assert rule_of(WAITING.also(forbidding).when(claim()).decision) == "constraint_violated"


def test_authority_is_asked_for_when_an_approved_act_begins() -> None:
    funded = ASKING.also(x.granted(principal=AGENT, budget=x.EUR_10))
    dear = claim(reserved=x.EUR_10)
    run = approved(asked(funded, dear))
    intended = begins(run, dear)
    assert (intended.authority, intended.reserved) == (("refunds",), x.EUR_10)
    carved = run.also(e.AuthorityCarved(by=KIM, id="refunds", budget=x.EUR_10, run="kid"))
    assert rule_of(carved.when(dear).decision) == "authority_exceeded"


# --- how long it is good -----------------------------------------------------------------------


def test_an_agent_cannot_ask_for_longer_than_its_tool_lets_an_approval_be_good() -> None:
    command = claim(approval_seconds=60)
    late = asked(ASKING, command).later(seconds=61)
    run = approved(anew(late, by=AGENT))
    begins(run.later(seconds=59), command)
    asked(run.later(seconds=60), command)
    said = approved(anew(late, by=LEE))
    begins(said.later(days=1), command)


# --- limits ------------------------------------------------------------------------------------


def limited(**limits: int) -> Run:
    opened = x.opened(limits=limits)
    return given(opened, x.accepted("ask-first", rule=ASK), actor=AGENT)


def test_what_waits_counts_once_as_an_effect_however_often_it_is_asked_about() -> None:
    run = asked(limited(effects=1))
    assert run.contract.tally.effects == 1
    again = asked(run.also(OTHER_GOAL))
    assert again.contract.tally.effects == 1
    begun_ = begun(approved(again))
    assert begun_.contract.tally.effects == 1
    other = begun_.when(claim(args=OTHER))
    assert [type(event) for event in other.decision.events] == [e.RunSuspended]


def test_no_act_is_asked_about_beyond_a_limit() -> None:
    used = asked(limited(effects=1)).when(claim(args=OTHER))
    assert rule_of(used.decision) == "run_is_held"
    assert len(used.after.contract.approvals) == 1
    late = limited(wall_seconds=60).later(seconds=60).when(claim())
    assert rule_of(late.decision) == "run_is_held"
    assert late.after.contract.approvals == ()
    assert rule_of(approved(asked(limited(wall_seconds=60))).later(seconds=60).when(claim()).decision) == (
        "run_is_held"
    )


def test_waiting_is_no_refusal_and_a_denial_claimed_again_is() -> None:
    run = asked(limited(refusals_in_a_row=2))
    for _ in range(3):
        run = run.when(claim()).after
    assert run.contract.tally.refusals_in_a_row == 0
    run = denied(run).when(claim()).after
    decided = run.when(claim())
    assert [type(event) for event in decided.decision.events] == [e.EffectRefused, e.RunSuspended]


# --- the life of the run -----------------------------------------------------------------------


@pytest.mark.parametrize("stop", [x.SUSPENDED, x.HELD], ids=["suspended", "held"])
def test_a_stopped_run_is_answered_and_begins_nothing(stop: e.Event) -> None:
    run = approved(WAITING.also(stop))
    assert rule_of(run.when(claim()).decision) == "run_is_held"
    begins(run.also(x.RESUMED))


def test_a_run_is_not_completed_while_a_request_can_be_answered() -> None:
    closing = c.CloseRun(outcome=Ending.COMPLETED)
    decision = WAITING.when(closing).decision
    assert isinstance(decision, Refusal)
    assert decision.rule == "still_open"
    assert decision.evidence == {"approvals": [approval(WAITING).id], "obligations": [], "unsettled": []}
    for run in (DENIED, APPROVED, WAITING.also(OTHER_GOAL)):
        run.when(closing).then(e.RunClosed(outcome=Ending.COMPLETED))
    WAITING.when(c.CloseRun(outcome=Ending.CANCELLED)).then(e.RunClosed(outcome=Ending.CANCELLED))


def test_no_successor_fork_or_child_has_what_waits_or_was_approved() -> None:
    for run in (WAITING, APPROVED, DENIED):
        restarted = run.by(KIM).when(c.RestartRun(as_run="run-2", by=KIM, reason="a fresh start"))
        successor = restarted.after.other("run-2")
        assert (successor.contract.approvals, successor.contract.effects) == ((), ())
        (begun_,) = (one.event for one in successor.records if isinstance(one.event, e.RunRestarted))
        refs = [dropped.ref for dropped in begun_.dropped]
        assert refs == ([] if run is DENIED else [f"approval:{approval(WAITING).id}"])
        asked(successor.by(AGENT))
        child = run.by(KIM).when(c.OpenChild(as_run="kid", goal="Mail them", by=KIM)).after.other("kid")
        assert child.contract.approvals == ()
        asked(child.by(AGENT))
        fork = run.by(KIM).when(c.ForkRun(as_run="fork", at=run.position)).after.other("fork")
        assert (fork.contract.approvals, fork.contract.effects) == ((), ())
        assert rule_of(fork.by(AGENT).when(claim()).decision) == "effects_disabled"
        decision = fork.by(KIM).when(c.RequestApproval(key=KEY)).decision
        assert rule_of(decision) == "effects_disabled"


def test_an_answer_to_a_run_that_was_restarted_begins_nothing_in_its_successor() -> None:
    after = WAITING.by(KIM).when(c.RestartRun(as_run="run-2", by=KIM, reason="a fresh start")).after
    late = answer(after, "approved")
    successor = late.other("run-2").by(AGENT)
    asked(successor)
