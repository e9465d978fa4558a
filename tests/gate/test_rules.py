"""What gives a reason and what does not, rule by rule: the bounds of each kind."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.gate.assumptions import remaining_steps
from ledger.run.contract import Contract
from ledger.run.keys import check_key, runtime_digest
from ledger.testing import START, History, given, given_source
from ledger.values import Actor, ErrorSaid, Published, Runtime, Source, Step
from tests.run import examples as x

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds", session="s-1")
ANOTHER = Actor("agent:refunds", session="s-2")
HOUR = timedelta(hours=1)
MOVED = e.CursorMoved(node="pay")
FREE = x.granted("free", on_resume="continue", scopes=("free",))


def stopped(*events: e.Event, said: Iterable[e.Event] = (), actor: Actor = PROGRAM, **more: Any) -> Run:
    """Return a run that was stopped an hour after its program fell silent, and is asked about an hour later."""
    history = given(x.opened(**more), actor=actor).also(*events)
    return history.later(hours=1).by("human:kim").also(x.SUSPENDED, *said).later(hours=1).by(ANOTHER)


def kinds(run: Run, **how: Any) -> list[str]:
    return [reason.kind for reason in run.judged(**how).reasons]


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


def test_however_long_a_run_counts_as_live_it_does_so_without_end() -> None:
    run = given(x.opened(), actor=PROGRAM).later(days=365_000).by(ANOTHER)
    assert kinds(run.asked(live_seconds=2**53 - 1, idle_seconds=None)) == ["still_running"]
    assert kinds(run.asked(live_seconds=0, idle_seconds=2**53 - 1)) == []


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
    assert kinds(stopped(REQUEST, denied, said=[changed])) == []
    done = e.EffectSucceeded(key=x.ONE, attempt=1)
    assert kinds(stopped(x.intended(), REQUEST, x.started(), done, said=[changed])) == []


# --- sources ---------------------------------------------------------------------------------------

SOURCE = given_source("policy:refunds", x.published(Published(id="limit-100", text=x.LIMIT)))
BOUND = x.accepted(source=x.POLICY, source_position=1, published=True)


def withdrawing(source: History[Any], id: str = "limit-100") -> History[Any]:
    return source.when(c.WithdrawAtSource(by="human:kim", id=id, reason="replaced")).after


def test_a_constraint_whose_time_is_over_binds_nobody_to_what_its_source_says() -> None:
    lapsed = x.accepted(source=x.POLICY, source_position=1, published=True, valid_until=START + HOUR)
    assert kinds(stopped(lapsed).beside(withdrawing(SOURCE))) == []
    assert kinds(stopped(BOUND).beside(withdrawing(SOURCE))) == ["constraint_withdrawn"]
    assert kinds(stopped(lapsed).at(START).beside(withdrawing(SOURCE))) == []


def test_a_constraint_is_found_at_its_source_by_the_item_it_names() -> None:
    renamed = x.accepted(
        "mine", source=Source("policy", "refunds", item="limit-100"), source_position=1, published=True
    )
    (reason,) = stopped(renamed).beside(withdrawing(SOURCE)).judged().reasons
    assert (reason.kind, reason.position) == ("constraint_withdrawn", 2)
    assert "'limit-100'" in reason.what
    assert "'mine'" in reason.what


def test_a_source_that_publishes_again_what_it_withdrew_says_it() -> None:
    back = withdrawing(SOURCE).also(x.published(Published(id="limit-100", text=x.LIMIT), revision="5"))
    assert kinds(stopped(BOUND).beside(back)) == ["source_revised"]


def test_a_source_that_was_never_opened_is_not_asked() -> None:
    assert kinds(stopped(BOUND)) == []


CHECKED = x.observed(check_key("policy:refunds"))


@pytest.mark.parametrize(
    ("events", "check_every", "unchecked"),
    [
        ((), None, False),
        ((), 7_200, True),
        ((CHECKED,), None, False),
        ((CHECKED,), 7_201, False),
        ((CHECKED,), 7_200, True),
        ((CHECKED,), 2**53 - 1, False),
        ((CHECKED.with_fields({"fresh_for": 60}),), None, True),
        ((CHECKED.with_fields({"observed_at": START + 9 * HOUR}),), 2**53 - 1, True),
        ((CHECKED.with_fields({"observed_at": None, "fresh_for": 60}),), None, True),
        ((CHECKED, e.ObservationInvalidated(key=check_key("policy:refunds"), reason="no")), None, True),
    ],
)
def test_a_source_is_to_be_read_as_often_as_was_said(
    events: tuple[e.Event, ...], check_every: int | None, unchecked: bool
) -> None:
    asking = {} if check_every is None else {"check_every": {"policy:refunds": check_every}}
    run = stopped(BOUND, *events).beside(SOURCE).asked(**asking)
    assert kinds(run) == (["source_unchecked"] if unchecked else [])
    assert all(reason.since is None or reason.since.year > 1 for reason in run.judged().reasons)


# --- observations ----------------------------------------------------------------------------------

STALE = x.observed("rate", fresh_for=60)


@pytest.mark.parametrize(
    ("resting", "matters"),
    [
        ((), False),
        ((e.AssumptionMade(id="a", text="one", rests_on=("observation:rate",)),), True),
        ((e.PlanCommitted(steps=(Step(name="pay", rests_on=("observation:rate",)),)),), True),
        ((x.intended(rests_on=("observation:rate",)),), True),
        ((e.CursorMoved(node="pay", needs=("observation:rate",)),), True),
        ((e.CursorMoved(node="pay", needs=("observation:rate",)), MOVED), False),
        ((e.GoalRevised(by="human:kim", reason="r", text="t", rests_on=("observation:rate",)),), True),
        (
            (
                x.observed("price", rests_on=("observation:rate",)),
                e.AssumptionMade(id="a", text="one", rests_on=("observation:price",)),
            ),
            True,
        ),
        ((x.observed("price", rests_on=("observation:rate",)),), False),
        (
            (
                e.AssumptionMade(id="a", text="one", rests_on=("observation:rate",)),
                e.AssumptionMade(id="b", text="two", rests_on=("assumption:a",)),
                e.AssumptionRefuted(id="b", evidence="no"),
                e.AssumptionRefuted(id="a", evidence="no"),
            ),
            False,
        ),
    ],
)
def test_an_observation_matters_as_long_as_something_open_rests_on_it(
    resting: tuple[e.Event, ...], matters: bool
) -> None:
    assert kinds(stopped(STALE, *resting)) == (["observation_stale"] if matters else [])


NEEDED = e.CursorMoved(node="pay", needs=("observation:rate",))


@pytest.mark.parametrize(
    ("seconds", "fields", "stale"),
    [
        (7_199, {"fresh_for": 7_200}, False),
        (7_200, {"fresh_for": 7_200}, True),
        (7_200, {"fresh_for": None}, False),
        (0, {"fresh_for": 0}, True),
        (7_200, {"fresh_for": 2**53 - 1}, False),
        (0, {"fresh_for": None, "observed_at": START + HOUR}, True),
        (0, {"fresh_for": 60, "observed_at": None}, True),
        (0, {"fresh_for": None, "observed_at": None}, False),
    ],
)
def test_an_observation_is_stale_past_its_half_life_and_before_it_was_made(
    seconds: int, fields: dict[str, Any], stale: bool
) -> None:
    run = given(x.opened(), actor=PROGRAM).also(STALE.with_fields(fields), NEEDED, x.SUSPENDED)
    asked = run.later(seconds=seconds).by(ANOTHER)
    assert kinds(asked) == (["observation_stale"] if stale else [])


def test_a_clock_that_was_set_back_makes_nothing_fresh() -> None:
    run = stopped(STALE, NEEDED)
    assert kinds(run.at(START + timedelta(seconds=1))) == ["observation_stale"]
    assert kinds(run.at(START - HOUR)) == ["observation_stale"]


# --- assumptions and plans -------------------------------------------------------------------------

STEPS = (Step(name="a", rests_on=("assumption:so",)), Step(name="b"), Step(name="c"))
MADE, WRONG = e.AssumptionMade(id="so", text="It is so"), e.AssumptionRefuted(id="so", evidence="It is not")
PLAN = e.PlanCommitted(steps=STEPS)


def at(node: str) -> e.CursorMoved:
    return e.CursorMoved(node=node)


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ((), []),
        ((PLAN,), ["a", "b", "c"]),
        ((PLAN, at("b")), ["b", "c"]),
        ((PLAN, at("c")), ["c"]),
        ((PLAN, at("elsewhere")), ["a", "b", "c"]),
        ((at("b"), PLAN), ["a", "b", "c"]),
        ((PLAN, at("b"), e.PlanRevised(reason="r", steps=STEPS[::-1])), ["c", "b", "a"]),
    ],
)
def test_steps_before_the_cursor_are_done(events: tuple[e.Event, ...], left: list[str]) -> None:
    contract = given(x.opened(), *events).contract
    assert [step.name for step in remaining_steps(contract)] == left


def test_a_refuted_assumption_matters_to_the_steps_that_are_left() -> None:
    assert kinds(stopped(MADE, PLAN, said=[WRONG])) == ["assumption_refuted"]
    assert kinds(stopped(MADE, PLAN, at("b"), said=[WRONG])) == []
    only = e.PlanCommitted(steps=(Step(name="b"), Step(name="a", rests_on=("assumption:so",))))
    assert kinds(stopped(MADE, only, at("a"), said=[WRONG])) == ["plan_refuted"]
    assert kinds(stopped(MADE, said=[WRONG])) == []


def test_a_step_rests_on_what_its_grounds_rest_on() -> None:
    between = (
        MADE,
        x.observed("seen", rests_on=("assumption:so",)),
        e.AssumptionMade(id="hence", text="Hence that", rests_on=("observation:seen",)),
        e.PlanCommitted(steps=(Step(name="a", rests_on=("assumption:hence",)), Step(name="b"))),
    )
    run = stopped(*between, said=[WRONG])
    assert run.contract.resting_on("assumption:so") == ("step:a", "assumption:hence", "observation:seen")
    assert kinds(run) == ["assumption_in_doubt", "assumption_refuted"]


def test_what_rests_in_a_circle_is_named_once() -> None:
    circle = (
        e.AssumptionMade(id="a", text="one", rests_on=("assumption:b",)),
        e.AssumptionMade(id="b", text="two", rests_on=("assumption:a",)),
    )
    run = stopped(*circle, said=[e.AssumptionRefuted(id="a", evidence="no")])
    assert run.contract.resting_on("assumption:a") == ("assumption:b",)
    assert kinds(run) == ["assumption_in_doubt"]


def test_a_plan_of_many_long_steps_is_told_by_its_first() -> None:
    many = tuple(Step(name=f"{n:0200}", rests_on=("assumption:so",)) for n in range(400))
    (reason,) = stopped(MADE, e.PlanCommitted(steps=many), said=[WRONG]).judged().reasons
    assert reason.kind == "plan_refuted"
    assert reason.what.endswith("and more")


# --- runtime and silence ---------------------------------------------------------------------------


@pytest.mark.parametrize("field", sorted(Runtime.model_fields))
def test_each_field_of_the_fingerprint_is_compared_where_both_say_it(field: str) -> None:
    before, after = Runtime.model_validate({field: "old"}), Runtime.model_validate({field: "new"})
    run = stopped(runtime=before)
    (reason,) = run.judged(runtime=after).reasons
    assert (reason.kind, reason.position, reason.what) == (
        "runtime_changed",
        1,
        f"{field}: old before, new now",
    )
    for same in (None, before, Runtime()):
        assert kinds(run, runtime=same) == []
    assert kinds(stopped(), runtime=after) == []


@pytest.mark.parametrize(
    ("seconds", "said", "idle"),
    [
        (86_399, (), False),
        (86_400, (), True),
        (90_000, (x.message(),), False),
        (90_000, (x.message(role="system"),), True),
        (90_000, (e.GoalRevised(by="human:kim", reason="r", text="t"),), False),
        (90_000, (e.PlanCommitted(by="human:kim", steps=STEPS),), False),
        (90_000, (x.observed(),), True),
    ],
)
def test_a_run_that_nobody_stopped_is_idle_until_somebody_still_wants_it(
    seconds: int, said: tuple[e.Event, ...], idle: bool
) -> None:
    run = given(x.opened(), actor=PROGRAM).later(seconds=seconds).by("human:kim").also(*said).by(ANOTHER)
    assert kinds(run) == (["idle"] if idle else [])
    assert kinds(run.asked(idle_seconds=None)) == []
    assert kinds(run.also(x.SUSPENDED)) == []
