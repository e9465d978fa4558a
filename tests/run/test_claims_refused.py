"""What bars a claim: plan, authority, sources, recoveries, secrets, limits, a possible repeat."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import events as e
from ledger.run.claims import claim as decide_claim
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Given, Refusal
from ledger.testing import START, Decided, given, given_source
from ledger.values import Actor, Limits, Published, Recovery, Source, Step
from tests.run import examples as x
from tests.run.claiming import (
    KEY,
    OPEN,
    Run,
    begun,
    claim,
    fail,
    find,
    key_of,
    lapsed,
    looked_at,
    not_know,
    started,
    succeed,
)

AGENT = Actor("agent:refunds", session="s-1")


def refused_by(decided: Decided[Contract | None]) -> tuple[str, int | None]:
    """Return rule and position of a refusal that is recorded."""
    decision = decided.decision
    assert isinstance(decision, Refusal), decision
    event = decision.events[0]
    assert isinstance(event, e.EffectRefused)
    assert (event.rule, event.tool, event.position) == (decision.rule, "refund", decision.position)
    assert event.args == '{"order":17}'
    assert {name: str(value) for name, value in decision.evidence.items() if name != "tool"} == dict(
        event.evidence or {}
    )
    return decision.rule, decision.position


# --- what it rests on --------------------------------------------------------------------------


def test_an_act_that_rests_on_a_refuted_assumption_is_refused_and_others_are_not() -> None:
    history = OPEN.also(
        e.AssumptionMade(id="so", text="It is so"),
        e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:so",)),
        e.PlanCommitted(
            steps=(
                Step(name="pay", rests_on=("assumption:hence",)),
                Step(name="mail", rests_on=("observation:stock",)),
            )
        ),
        e.AssumptionRefuted(id="so", evidence="It is not"),
    )
    wrong = history.position
    assert refused_by(history.when(claim(step="pay"))) == ("contract_changed", wrong)
    for on in ("assumption:so", "assumption:hence"):
        assert refused_by(history.when(claim(step="mail", rests_on=(on,)))) == ("contract_changed", wrong)
    assert isinstance(history.when(claim(step="mail")).decision, Admitted)


# --- the plan ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "tool", "in_plan"),
    [("pay", "refund", True), ("any", "refund", True), ("mail", "refund", False), (None, "refund", False)],
)
def test_while_a_plan_is_committed_a_step_outside_it_is_refused(
    step: str | None, tool: str, in_plan: bool
) -> None:
    steps = (Step(name="pay", tool="refund"), Step(name="any"), Step(name="mail", tool="mail"))
    decided = OPEN.also(e.PlanCommitted(steps=steps)).when(claim(step=step, tool=tool))
    if in_plan:
        assert started(decided) is not None
    else:
        assert refused_by(decided) == ("off_plan", 2)


# --- authority ---------------------------------------------------------------------------------


def granted(**more: Any) -> Run:
    return given(x.opened(), x.granted(**more), actor=AGENT)


def test_without_any_grant_an_act_is_recorded_as_under_none() -> None:
    intended = OPEN.when(claim()).decision.events[0]
    assert isinstance(intended, e.EffectIntended)
    assert intended.authority == ()


@pytest.mark.parametrize("scope", ["refund", "*"])
def test_an_act_names_the_grant_it_draws_on(scope: str) -> None:
    intended = granted(scopes=(scope,), session="s-1").when(claim()).decision.events[0]
    assert isinstance(intended, e.EffectIntended)
    assert intended.authority == ("refunds",)


@pytest.mark.parametrize(("tool", "covered"), [("pay.card", True), ("pay", False), ("payee", False)])
def test_a_scope_may_name_all_tools_below_a_prefix(tool: str, covered: bool) -> None:
    assert (started(granted(scopes=("pay.*",)).when(claim(tool=tool))) is not None) is covered


@pytest.mark.parametrize(
    "grant",
    [
        {"principal": "agent:mail"},
        {"scopes": ("mail",)},
        {"session": "s-2"},
        {"expires_at": START},
        {"budget": {"USD": Decimal(100)}},
        {"budget": {"EUR": Decimal("9.99")}},
    ],
)
def test_once_a_run_has_a_grant_each_act_needs_one_in_force(grant: dict[str, Any]) -> None:
    rule, _ = refused_by(granted(**grant).when(claim(reserved=x.EUR_10)))
    assert rule == "authority_exceeded"


def test_revoking_the_last_grant_frees_no_act() -> None:
    run = granted().also(e.AuthorityRevoked(by="human:kim", id="refunds", reason="enough"))
    assert refused_by(run.when(claim())) == ("authority_exceeded", run.position)


def test_a_service_lends_an_agent_no_authority_of_its_own() -> None:
    run = granted(principal="service:api").by(Actor("service:api", on_behalf_of=("agent:refunds",)))
    assert refused_by(run.when(claim()))[0] == "authority_exceeded"
    assert started(run.by("service:api").when(claim())) is not None
    relayed = granted().by(Actor("service:api", on_behalf_of=("agent:refunds",)))
    assert started(relayed.when(claim())) is not None


def test_what_is_in_flight_is_set_aside_until_its_cost_is_known() -> None:
    run = begun(granted(budget={"EUR": Decimal(15)}), claim(reserved=x.EUR_10))
    other = claim(args="{}", reserved=x.EUR_10)
    run.when(other).then_refused("authority_exceeded", events=run.when(other).decision.events)
    cheap = run.when(succeed(cost={"EUR": Decimal(5)})).after
    assert started(cheap.when(other)) is not None
    dear = run.when(succeed(cost={"EUR": Decimal(6)})).after
    assert started(dear.when(other)) is None
    assert started(run.when(fail()).after.when(other)) is not None


def test_an_act_in_doubt_does_not_bar_its_own_repetition() -> None:
    command = claim(recovery=Recovery.IDEMPOTENT, reserved=x.EUR_10)
    run = lapsed(begun(granted(budget=x.EUR_10), command))
    again = begun(run, command)
    (grant,) = again.contract.grants
    assert grant.reserved == x.EUR_10


@pytest.mark.parametrize("cost", [None, {"EUR": Decimal(0)}, {"tokens": Decimal(0)}, {"tokens": Decimal(1)}])
def test_a_grant_that_is_used_up_covers_nothing_whatever_it_is_said_to_cost(cost: Any) -> None:
    run = begun(granted(budget=x.EUR_10), claim(reserved=x.EUR_10)).when(succeed(cost=x.EUR_10)).after
    again = claim(args='{"order":17}', step="next", repeat_reason="r", reserved=cost)
    assert refused_by(run.when(again))[0] == "authority_exceeded"


# --- sources -----------------------------------------------------------------------------------

LIMIT = Published(id="limit-100", text=x.LIMIT)
REFUNDS = given_source("policy:refunds", x.published(LIMIT))
BOUND = given(x.opened(), x.accepted(source=x.POLICY, source_position=1, published=True), sources=[REFUNDS])


def test_a_claim_is_guarded_by_the_sources_it_was_admitted_under_and_says_where_they_stood() -> None:
    decision = BOUND.beside(REFUNDS.also(x.published(revision="5"))).when(claim()).decision
    assert isinstance(decision, Admitted)
    assert decision.guards == {"policy:refunds": 2}
    intended = decision.events[0]
    assert isinstance(intended, e.EffectIntended)
    assert intended.source_positions == {"policy:refunds": 2}


@pytest.mark.parametrize(
    "change",
    [
        e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced"),
        e.SourceRevised(revision="5", reworded=(Published(id="limit-100", text="Never"),)),
    ],
)
def test_a_constraint_that_fell_at_its_source_bars_every_act(change: e.Event) -> None:
    decided = BOUND.beside(REFUNDS.also(change)).when(claim())
    assert refused_by(decided) == ("contract_changed", 2)
    assert isinstance(decided.decision, Refusal)
    assert decided.decision.evidence["source_position"] == 2


def test_a_source_that_was_not_given_is_never_passed_over() -> None:
    with pytest.raises(KeyError):
        decide_claim(BOUND.contract, claim(), Given(AGENT, START, "run-1"))


def test_a_constraint_that_is_not_in_force_bars_nothing() -> None:
    source = Source("policy", "refunds")
    ended = x.accepted(source=source, source_position=1, published=True, valid_until=START)
    withdrawn = REFUNDS.also(e.ConstraintWithdrawnAtSource(by="human:kim", id="limit-100", reason="replaced"))
    assert started(given(x.opened(), ended, sources=[withdrawn]).when(claim())) is not None


# --- what cannot be performed ------------------------------------------------------------------


@pytest.mark.parametrize("recovery", [Recovery.OUTBOX, Recovery.TRANSACTIONAL])
def test_what_this_release_cannot_perform_is_refused_and_never_passed_over(recovery: Recovery) -> None:
    assert refused_by(OPEN.when(claim(recovery=recovery)))[0] == "not_supported"


def test_a_secret_leaves_nothing_that_could_be_searched_for_it() -> None:
    asked = Given(AGENT, START, "run-1", secret="token at args.password")
    for run in (OPEN, begun(OPEN)):
        decision = decide_claim(run.contract, claim(step="pay"), asked)
        assert isinstance(decision, Refusal)
        assert decision.rule == "secret_found"
        assert decision.events == (e.EffectRefused(rule="secret_found", step="pay", tool="refund"),)
        assert KEY not in repr(decision)


# --- limits ------------------------------------------------------------------------------------


def test_refusals_in_a_row_suspend_the_run_and_a_start_begins_the_count_again() -> None:
    run = given(
        x.opened(limits=Limits(refusals_in_a_row=2)), e.PlanCommitted(steps=(Step(name="pay"),)), actor=AGENT
    )
    once = run.when(claim()).after
    assert once.contract.tally.refusals_in_a_row == 1
    twice = once.when(claim())
    assert [type(event) for event in twice.decision.events] == [e.EffectRefused, e.RunSuspended]
    twice.after.when(claim(step="pay")).then_refused("run_is_held")
    assert begun(once, claim(step="pay")).contract.tally.refusals_in_a_row == 0


def test_beyond_its_number_of_effects_a_run_is_suspended_and_still_told_what_was_done() -> None:
    run = begun(given(x.opened(limits=Limits(effects=1)))).when(succeed()).after
    run.when(claim()).then_stands_at(run.position)
    stopped = run.when(claim(args="{}"))
    assert [type(event) for event in stopped.decision.events] == [e.RunSuspended]


# --- the same act under another key ------------------------------------------------------------


def test_the_same_act_in_another_step_names_the_first() -> None:
    done = begun(OPEN, claim(step="pay"))
    key = key_of(OPEN, claim(step="pay"))
    for before, status in (
        (done, "executing"),
        (done.when(not_know(key=key)).after, "unknown"),
        (done.when(succeed(key=key)).after, "succeeded"),
    ):
        decided = before.when(claim(step="settle"))
        assert refused_by(decided)[0] == "possible_repeat"
        assert isinstance(decided.decision, Refusal)
        assert decided.decision.evidence == {"tool": "refund", "key": key, "run": "run-1", "status": status}


def test_what_certainly_did_not_happen_is_repeated_by_nothing() -> None:
    key = key_of(OPEN, claim(step="pay"))
    failed = begun(OPEN, claim(step="pay")).when(fail(key=key)).after
    assert started(failed.when(claim(step="settle"))) is not None
    nothing = begun(OPEN, claim(step="pay")).later(days=1).when(find("did_not_happen", key=key)).after
    assert started(nothing.when(claim(step="settle"))) is not None


def test_two_occurrences_are_meant_to_be_two_and_a_reason_makes_a_repeat_one() -> None:
    first = begun(OPEN, claim(occurrence="january"))
    assert started(first.when(claim(occurrence="february"))) is not None
    assert started(first.when(claim())) is None
    again = first.when(claim(repeat_reason="the customer asked twice"))
    assert started(again) is not None


def test_what_was_done_in_this_very_step_is_not_done_once_more_for_a_reason() -> None:
    """Its key is the same, so the first one's result would be told as that of the second."""
    done = begun(OPEN).when(succeed()).after
    for more in ({"repeat_reason": "the customer asked twice"}, {"undone_by": x.ONE}):
        assert refused_by(done.when(claim(**more)))[0] == "possible_repeat"
    again = claim(step="again", repeat_reason="asked")
    repeated = begun(done, again).when(succeed(key=key_of(OPEN, again))).after
    # The call that was a repeat, made again after a crash, is told what it came to.
    repeated.when(again).then_stands_at(repeated.position)


def test_a_retry_is_checked_for_a_repeat_like_any_claim() -> None:
    key = key_of(OPEN, claim(step="pay"))
    failed = begun(OPEN, claim(step="pay")).when(fail(key=key)).after
    elsewhere = begun(failed, claim(step="settle"))
    assert refused_by(elsewhere.when(claim(step="pay")))[0] == "possible_repeat"


CANCEL = claim(tool="cancel")


def test_what_another_act_undid_may_be_done_anew_once() -> None:
    """All at one moment of the clock: the order of the record tells what followed what."""
    cancelled_by = key_of(OPEN, CANCEL)
    booked = begun(OPEN).when(succeed()).after
    anew = claim(step="again", undone_by=cancelled_by)
    assert refused_by(booked.when(anew)) == ("not_open", None)
    cancelled = begun(booked, CANCEL)
    assert refused_by(cancelled.when(anew))[0] == "not_open"
    cancelled = cancelled.when(succeed(key=cancelled_by)).after
    twice = begun(cancelled, anew)
    assert refused_by(twice.when(claim(step="third", undone_by=cancelled_by)))[0] == "possible_repeat"
    plain = begun(cancelled, claim(step="other", repeat_reason="asked"))
    assert refused_by(plain.when(anew))[0] == "possible_repeat"


def test_nothing_undoes_itself_or_what_is_still_under_way() -> None:
    booked = begun(OPEN).when(succeed()).after
    assert refused_by(booked.when(claim(step="again", undone_by=KEY)))[0] == "possible_repeat"
    key = key_of(OPEN, CANCEL)
    under_way = begun(begun(OPEN), CANCEL).when(succeed(key=key)).after
    assert refused_by(under_way.when(claim(step="again", undone_by=key)))[0] == "possible_repeat"
    assert started(lapsed(under_way).when(claim(step="again", undone_by=key))) is not None


def test_across_runs_time_tells_what_followed_an_undoing() -> None:
    key = key_of(OPEN, CANCEL)
    cancelled = begun(OPEN, CANCEL).when(succeed(key=key)).after
    command = claim(step="again", undone_by=key)
    for seconds, allowed in ((-60, True), (60, False)):
        other = given(
            x.opened(parent=e.Parent(position=1, relation="child", root="run-1", run="run-1")),
            run="run-2",
            at=START + timedelta(seconds=seconds),
        )
        other = begun(other).when(succeed()).after
        asked = cancelled.later(days=1)
        decided = asked.when(command, looked=looked_at(asked, command, None, other))
        assert (started(decided) is not None) is allowed


def test_what_was_compensated_is_no_repeat() -> None:
    done = begun(OPEN).when(succeed()).after.also(e.EffectCompensated(key=KEY, undone_by=x.ONE))
    assert started(done.when(claim(step="again"))) is not None


def test_the_arguments_hold_a_secret_which_is_refused_before_anything_is_looked_for() -> None:
    done = begun(OPEN).when(succeed()).after
    for run in (OPEN, done, given(*x.FORK_EVENTS)):
        event = e.EffectRefused(rule="secret_found", tool="refund")
        run.when(claim(), secret="a token at args.password").then_refused("secret_found", events=[event])
