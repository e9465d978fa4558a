"""Permits: what plan, authority, assumptions and rules have against an act, before anybody is asked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Refusal
from ledger.testing import START, given, given_source
from ledger.values import Operator, Predicate, Published, Recovery, Rule, Step
from tests.run import examples as x
from tests.run.approving import AGENT, KIM, LEE, asked, begins, rule_of
from tests.run.claiming import KEY, Run, claim

OPEN = given(x.opened(), actor=AGENT)
AT_MOST_100 = Predicate(operator=Operator.AT_MOST, path="/amount", value="100")
FOR_ORDER_17 = Predicate(operator=Operator.EQUAL, path="/order", value="17")


def ruled(rule: Rule, run: Run = OPEN, id: str = "limit-100", **more: Any) -> Run:
    return run.also(x.accepted(id, rule=rule, **more))


def paying(amount: str | None, **more: Any) -> c.ClaimEffect:
    args = '{"order":17}' if amount is None else f'{{"amount":{amount},"order":17}}'
    return claim(args=args, **more)


def refusal(run: Run, command: c.ClaimEffect) -> Refusal:
    decision = run.when(command).decision
    assert isinstance(decision, Refusal), decision
    return decision


# --- rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (Rule(deny=("refund",)), claim()),
        (Rule(allow=("mail",)), claim()),
        (Rule(require=(AT_MOST_100,)), paying("101")),
        (Rule(require=(AT_MOST_100,)), paying('"a lot"')),
        (Rule(require=(AT_MOST_100,)), paying(None)),
        (Rule(resources=("shop:eu",)), claim(resource="shop:us")),
        (Rule(resources=("shop:eu",)), claim()),
        (Rule(tenants=("other",)), claim()),
        (Rule(require=(AT_MOST_100,), when=(FOR_ORDER_17,)), paying("101")),
        (Rule(deny=("refund",), tools=("mail",), when=(AT_MOST_100,)), paying("101")),
    ],
)
def test_what_breaks_a_rule_is_refused_and_what_keeps_to_it_is_not(
    rule: Rule, command: c.ClaimEffect
) -> None:
    assert refusal(ruled(rule), command).rule == "constraint_violated"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        (Rule(deny=("mail",)), claim()),
        (Rule(allow=("refund",)), claim()),
        (Rule(require=(AT_MOST_100,)), paying("100")),
        (Rule(require=(AT_MOST_100,), tools=("mail",)), paying("101")),
        (Rule(require=(AT_MOST_100,), when=(FOR_ORDER_17,)), claim(args='{"amount":101,"order":18}')),
        (Rule(resources=("shop:eu",)), claim(resource="shop:eu")),
        (Rule(tenants=("default",)), claim()),
        (Rule(), claim()),
    ],
)
def test_what_keeps_to_a_rule_begins(rule: Rule, command: c.ClaimEffect) -> None:
    begins(ruled(rule), command)


def test_a_constraint_without_a_rule_is_text_and_refuses_nothing() -> None:
    begins(OPEN.also(x.accepted(text="Never refund anything")))


def test_a_violation_names_the_constraint_its_source_and_who_asserted_it() -> None:
    source = given_source(
        "policy:refunds", x.published(Published(id="limit-100", text=x.LIMIT, rule=x.AT_MOST_100))
    )
    run = ruled(x.AT_MOST_100, source=x.POLICY, source_position=1, published=True).beside(source)
    run = ruled(Rule(deny=("refund",)), run, "never", asserted_by=LEE)
    found = refusal(run, paying("101"))
    assert found.position == 2
    evidence = {
        "also": "never",
        "asserted_by": KIM,
        "conditions": "/amount is at most 100",
        "id": "limit-100",
        "revision": "4",
        "source": "policy:refunds",
    }
    assert found.evidence == {**evidence, "tool": "refund"}
    (event,) = found.events
    assert isinstance(event, e.EffectRefused)
    assert (event.rule, event.position, event.evidence) == ("constraint_violated", 2, evidence)
    assert event.args == '{"amount":101,"order":17}'


def test_a_rule_is_held_against_what_the_tool_fills_in() -> None:
    run = ruled(Rule(require=(AT_MOST_100,)))
    begins(run, paying(None, args_in_full='{"amount":100,"order":17}'))
    dear = paying(None, args_in_full='{"amount":500,"order":17}')
    assert rule_of(run.when(dear).decision) == "constraint_violated"
    asks = ruled(Rule(needs_approval=True, when=(AT_MOST_100,)))
    begins(asks, dear)
    asked(asks, paying(None))  # whether it applies cannot be told


def test_a_rule_binds_while_its_constraint_is_valid() -> None:
    denying = Rule(deny=("refund",))
    until = ruled(denying, valid_until=START + x.HOUR)
    assert rule_of(until.when(claim()).decision) == "constraint_violated"
    begins(until.at(START + x.HOUR))
    since = ruled(denying, valid_from=START + x.HOUR)
    begins(since)
    assert rule_of(since.at(START + x.HOUR).when(claim()).decision) == "constraint_violated"
    begins(ruled(denying).also(e.ConstraintWithdrawn(by=KIM, id="limit-100", reason="obsolete")))


def test_what_superseded_a_rule_binds_in_its_place() -> None:
    run = ruled(Rule(deny=("refund",)))
    begins(run.also(x.accepted("limit-100", rule=Rule(deny=("mail",)), text="No mails")))


def test_a_clock_set_back_brings_back_no_rule_that_had_ended_and_hides_none_that_had_begun() -> None:
    since = ruled(Rule(deny=("refund",)), valid_from=START + x.HOUR).at(START + x.HOUR).also(x.message())
    assert rule_of(since.at(START).when(claim()).decision) == "constraint_violated"


# --- looks -------------------------------------------------------------------------------------

LOOK = claim(recovery=Recovery.READ_ONLY)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(deny=("refund",)),
        Rule(tools=("refund",), allow=("mail",)),
        Rule(tools=("refund",), resources=("shop:eu",)),
        Rule(tools=("refund",), needs_approval=True),
    ],
)
def test_a_look_is_bound_by_rules_that_name_its_tool(rule: Rule) -> None:
    assert rule_of(ruled(rule).when(LOOK).decision) == "constraint_violated"


@pytest.mark.parametrize(
    "rule", [Rule(allow=("mail",)), Rule(resources=("shop:eu",)), Rule(needs_approval=True)]
)
def test_a_look_is_not_bound_by_rules_of_all_tools(rule: Rule) -> None:
    assert rule_of(ruled(rule).when(LOOK).decision) is None
    assert rule_of(ruled(rule).when(claim()).decision) is not None


# --- in which order ----------------------------------------------------------------------------


def test_what_the_contract_has_against_an_act_is_told_in_one_order() -> None:
    against = (
        ("off_plan", e.PlanCommitted(steps=(Step(name="look"),))),
        ("authority_exceeded", x.granted(principal=AGENT, scopes=("mail",))),
        ("contract_changed", e.AssumptionRefuted(id="a", evidence="an empty shelf")),
        ("constraint_violated", x.accepted("never", rule=Rule(deny=("refund",)))),
        ("approval_required", x.accepted("ask", rule=Rule(needs_approval=True))),
    )
    command = claim(rests_on=("assumption:a",))
    begun = OPEN.also(e.AssumptionMade(id="a", text="It came back"))
    for first, (rule, _) in enumerate(against):
        run = begun.also(*(event for _, event in against[first:]))
        assert rule_of(run.when(command).decision) == rule


def test_each_refusal_names_the_event_it_rests_on() -> None:
    off_plan = OPEN.also(e.PlanCommitted(steps=(Step(name="look"),)))
    assert refusal(off_plan, claim()).position == 2
    assert refusal(OPEN.also(x.granted(principal=AGENT, scopes=("mail",))), claim()).position == 2
    wrong = OPEN.also(e.AssumptionMade(id="a", text="t"), e.AssumptionRefuted(id="a", evidence="no"))
    assert refusal(wrong, claim(rests_on=("assumption:a",))).position == 3


# --- authority and what waits ------------------------------------------------------------------


def test_what_waits_sets_nothing_aside_and_bars_no_other_act() -> None:
    budget = {"EUR": Decimal(10)}
    run = OPEN.also(
        x.granted(principal=AGENT, budget=budget),
        x.accepted("ask", rule=Rule(needs_approval=True, when=(FOR_ORDER_17,))),
    )
    waits = asked(run, claim(reserved=budget))
    (grant,) = waits.contract.grants
    assert grant.reserved is None
    begins(waits, claim(args='{"order":18}', reserved=budget))


def test_what_no_grant_covers_is_not_asked_about() -> None:
    run = ruled(Rule(needs_approval=True), OPEN.also(x.granted(principal=AGENT, budget=x.EUR_10)))
    dear = claim(reserved={"EUR": Decimal(11)})
    assert rule_of(run.when(dear).decision) == "authority_exceeded"
    run = run.also(e.AuthorityRevoked(by=KIM, id="refunds", reason="no more"))
    assert rule_of(run.when(claim()).decision) == "authority_exceeded"
    assert not run.contract.approvals
    assert KEY not in [effect.key for effect in run.contract.effects]
