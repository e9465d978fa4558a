"""What speaks against going on of what does not hold any more: the bounds of each rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.gate.assumptions import remaining_steps
from ledger.run.keys import check_key
from ledger.testing import START, History, given, given_source
from ledger.values import Published, Runtime, Source, Step
from tests.gate.asking import ANOTHER, HOUR, MOVED, PROGRAM, kinds, stopped
from tests.run import examples as x

# --- sources ---------------------------------------------------------------------------------------

SOURCE = given_source("policy:refunds", x.published(Published(id="limit-100", text=x.LIMIT)))
BOUND = x.accepted(source=x.POLICY, source_position=1, published=True)


def withdrawing(source: History[Any], id: str = "limit-100") -> History[Any]:
    return source.when(c.WithdrawAtSource(by="human:kim", id=id, reason="replaced")).after


def test_a_constraint_whose_time_is_over_binds_nobody_to_what_its_source_says() -> None:
    lapsed = x.accepted(source=x.POLICY, source_position=1, published=True, valid_until=START + HOUR)
    assert kinds(stopped(lapsed).beside(withdrawing(SOURCE))) == []
    assert kinds(stopped(BOUND).beside(withdrawing(SOURCE))) == ["constraint_withdrawn"]
    # A clock that was set back may bring a rule back, as it does for acts; it frees nobody of one.
    assert kinds(stopped(lapsed).at(START).beside(withdrawing(SOURCE))) == ["constraint_withdrawn"]


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


def test_what_is_seen_while_the_clock_is_behind_is_as_fresh_as_it_is() -> None:
    run = stopped(STALE, NEEDED).at(START - HOUR)
    again = c.RecordObservation(
        fresh_for=60, key="rate", observed_at=START - HOUR, tool="count", value=x.ANSWER
    )
    seen = run.when(again).after
    assert kinds(seen) == []
    assert kinds(seen.later(seconds=60)) == ["observation_stale"]


def test_what_must_not_be_relied_on_is_told_once_however_old_it_is() -> None:
    invalid = e.ObservationInvalidated(key="rate", reason="an old list")
    assert kinds(stopped(STALE, NEEDED, said=[invalid])) == ["observation_invalidated"]


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


def test_an_assumption_is_out_of_doubt_once_it_is_stated_on_other_grounds() -> None:
    hence = e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:so",))
    held = stopped(MADE, hence, said=[WRONG]).when(c.ResumeRun()).after
    assert kinds(held) == ["assumption_in_doubt"]
    assert kinds(held.when(c.MakeAssumption(id="hence", text="Hence that")).after) == []


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


def test_a_clock_that_was_set_back_ends_no_silence() -> None:
    run = given(x.opened(), actor=PROGRAM).later(days=3).by("human:kim")
    silent = run.also(e.ReviewSigned(by="human:kim", hash="e" * 64, head=1, meaning="noted")).by(ANOTHER)
    assert kinds(silent) == ["idle"]
    assert kinds(silent.at(START + HOUR)) == ["idle"]
    wanted = silent.at(START + HOUR).also(e.GoalRevised(by="human:kim", reason="still", text="Refund it"))
    assert kinds(wanted) == []
