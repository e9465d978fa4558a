"""What the rules of constraints and the people who are asked say of a claim, in plain examples."""

from __future__ import annotations

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Refusal
from ledger.testing import START, given
from ledger.values import Actor, Rule
from tests.run import examples as x
from tests.run.claiming import KEY, OPEN, Run, begun, claim, started, succeed

# --- rules -------------------------------------------------------------------------------------


def test_an_act_that_breaks_a_rule_is_refused_with_the_constraint_its_source_and_who_asserted_it() -> None:
    run = OPEN.also(x.accepted(source=x.POLICY, rule=x.AT_MOST_100))
    decided = run.when(claim(args='{"amount":101}'))
    assert isinstance(decided.decision, Refusal)
    decided.then_refused("constraint_violated", position=2, events=decided.decision.events)
    (event,) = decided.decision.events
    assert isinstance(event, e.EffectRefused)
    assert event.evidence == {
        "asserted_by": "human:kim",
        "conditions": "/amount is at most 100",
        "id": "limit-100",
        "revision": "4",
        "source": "policy:refunds",
    }
    assert started(run.when(claim(args='{"amount":100}'))) is not None


def test_a_rule_that_is_not_in_force_bars_nothing() -> None:
    deny = Rule(deny=("refund",))
    ended = OPEN.also(x.accepted(rule=deny, valid_until=START))
    withdrawn = OPEN.also(
        x.accepted(rule=deny), e.ConstraintWithdrawn(by="human:kim", id="limit-100", reason="replaced")
    )
    for run in (ended, withdrawn):
        assert started(run.when(claim())) is not None


# --- a person ----------------------------------------------------------------------------------

ASK_FOR_ALL = x.accepted(rule=Rule(needs_approval=True))


def test_an_act_that_a_person_has_to_approve_waits_and_is_not_asked_about_twice() -> None:
    asked = OPEN.also(ASK_FOR_ALL).when(claim())
    intended, request = asked.decision.events
    assert isinstance(intended, e.EffectIntended)
    assert isinstance(request, e.ApprovalRequested)
    waiting = asked.then_told("approval_required", intended, request)
    again = waiting.when(claim()).then_refused("approval_required")
    assert again.position == waiting.position


def test_what_was_approved_begins_and_what_was_denied_does_not() -> None:
    waiting = OPEN.also(ASK_FOR_ALL).when(claim()).after
    (approval,) = waiting.contract.approvals

    def answered(answer: str) -> Run:
        said = {"answer": answer, "by": "human:kim", "id": approval.id}
        return waiting.by("human:kim").when(c.AnswerApproval.model_validate(said)).after.by("agent:refunds")

    assert started(answered("approved").when(claim())) is not None
    denied = answered("denied")
    refused = denied.when(claim())
    refused.then_refused("approval_denied", position=denied.position, events=refused.decision.events)
    ask = c.RequestApproval(key=approval.key)
    denied.when(ask).then_refused("approval_denied")
    assert denied.by("human:kim").when(ask).after.contract.approvals[0].answered is None


def test_where_only_authenticated_people_are_heard_nobody_else_answers() -> None:
    waiting = OPEN.also(ASK_FOR_ALL).when(claim()).after
    (approval,) = waiting.contract.approvals
    said = c.AnswerApproval(answer="approved", by="human:kim", id=approval.id)
    for who in (Actor("human:kim"), Actor("human:lee", authenticated_by="oidc")):
        heard = waiting.by(who).when(said, authenticated_answers=True)
        heard.then_refused("not_authenticated")
    proven = waiting.by(Actor("human:kim", authenticated_by="oidc"))
    answered = proven.when(said, authenticated_answers=True).after
    assert started(answered.by("agent:refunds").when(claim())) is not None


def test_nobody_is_asked_about_what_nobody_would_do() -> None:
    OPEN.when(c.RequestApproval(key=KEY)).then_refused("not_open")
    done = begun(OPEN).when(succeed()).after
    done.when(c.RequestApproval(key=KEY)).then_refused("not_open")
    given(*x.FORK_EVENTS).when(c.RequestApproval(key=KEY)).then_refused("effects_disabled")
