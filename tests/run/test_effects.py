"""Effects: from intent to outcome, and what late, repeated and contradicting reports leave of it."""

from __future__ import annotations

from typing import Literal

import pytest

from ledger import events as e
from ledger.canonical import MAX_INTEGER
from ledger.run.contract import Contract, Effect
from ledger.testing import START, History, given
from ledger.values import ErrorSaid, Recovery
from tests.run import examples as x

INTENDED = given(x.opened(), x.intended(step="pay", rests_on=("assumption:a",)))
STARTED = INTENDED.also(x.started())
UNKNOWN = e.EffectUnknown(key=x.ONE, attempt=1, because="stopped")
NO = ErrorSaid(message="no such order", type="NotFound")


def succeeded(attempt: int = 1) -> e.EffectSucceeded:
    return e.EffectSucceeded(key=x.ONE, attempt=attempt)


def failed(attempt: int = 1) -> e.EffectFailed:
    return e.EffectFailed(key=x.ONE, attempt=attempt, error=NO)


def found(what: Literal["did_not_happen", "happened", "unknown"], attempt: int = 1) -> e.EffectReconciled:
    return e.EffectReconciled(key=x.ONE, attempt=attempt, evidence="asked", found=what, method="probe")


DISPUTED = e.EffectDisputed(
    key=x.ONE,
    act="a" * 64,
    attempt=1,
    recovery=Recovery.QUERYABLE,
    reported="succeeded",
    settled_at=4,
    tool="refund",
)


def the_effect(history: History[Contract | None]) -> Effect:
    (effect,) = history.contract.effects
    return effect


# --- life --------------------------------------------------------------------------------------


def test_an_intended_effect_is_pending_and_holds_what_it_was_intended_with() -> None:
    effect = the_effect(INTENDED)
    assert (effect.status, effect.attempt, effect.position) == ("pending", 0, 2)
    assert (effect.step, effect.tool, effect.rests_on) == ("pay", "refund", ("assumption:a",))


def test_a_started_effect_is_executing_until_its_lease_lapses() -> None:
    effect = the_effect(STARTED)
    assert (effect.status, effect.attempt, effect.worker) == ("executing", 1, "w-1")
    assert effect.status_at(START) == "executing"
    assert effect.status_at(START + x.HOUR) == "unknown"


@pytest.mark.parametrize("outcome", [succeeded(), failed(), found("happened"), found("did_not_happen")])
@pytest.mark.parametrize("before", [(), (UNKNOWN,)])
def test_a_known_outcome_settles_it(before: tuple[e.Event, ...], outcome: e.Event) -> None:
    assert STARTED.also(*before, outcome).contract.effects == ()


def test_not_knowing_keeps_it_unsettled() -> None:
    assert the_effect(STARTED.also(UNKNOWN)).status == "unknown"
    elsewhere = given(x.opened(), x.intended(witnessed=False))
    assert the_effect(elsewhere.also(found("unknown"))).status == "unknown"


def test_having_asked_in_vain_makes_nobody_doubt_what_was_never_begun() -> None:
    assert the_effect(INTENDED.also(found("unknown"))) == the_effect(INTENDED)


def test_having_asked_in_vain_ends_no_lease() -> None:
    assert the_effect(STARTED.also(found("unknown"))) == the_effect(STARTED)


def test_a_refusal_of_what_was_sent_again_says_nothing_about_what_was_sent_first() -> None:
    again = STARTED.also(UNKNOWN, x.intended(), x.started(attempt=2), failed(2))
    effect = the_effect(again)
    assert (effect.status, effect.attempt, effect.since_attempt) == ("unknown", 2, 1)
    assert the_effect(again.also(x.intended(), x.started(attempt=3))).since_attempt == 1


def test_an_effect_that_is_pending_may_be_settled_without_having_been_seen_to_start() -> None:
    assert INTENDED.also(succeeded()).contract.effects == ()


def test_a_further_attempt_takes_the_place_of_the_one_before() -> None:
    effect = the_effect(STARTED.also(UNKNOWN, x.intended(step="pay"), x.started(attempt=2, worker="w-2")))
    assert (effect.status, effect.attempt, effect.worker, effect.position) == ("executing", 2, "w-2", 5)


def test_outcomes_of_effects_the_contract_does_not_hold_change_nothing() -> None:
    history = given(x.opened())
    for event in (succeeded(), failed(), UNKNOWN, found("happened"), found("unknown"), x.started()):
        assert history.also(event).contract.effects == ()


def test_compensating_opens_nothing_and_settles_nothing() -> None:
    assert STARTED.also(e.EffectCompensated(key=x.ONE, undone_by=x.TWO)).contract.effects == (
        STARTED.contract.effects
    )


def test_a_refusal_is_counted_and_opens_nothing() -> None:
    contract = given(x.opened(), e.EffectRefused(rule="off_plan", tool="mail", key=x.ONE)).contract
    assert (contract.effects, contract.tally.refusals_in_a_row) == ((), 1)


# --- late reports of an older attempt ----------------------------------------------------------

SECOND = STARTED.also(failed(), x.intended(), x.started(attempt=2))


@pytest.mark.parametrize("late", [failed(1), UNKNOWN, found("did_not_happen", 1), found("unknown", 1)])
def test_a_late_report_that_an_older_attempt_did_nothing_leaves_the_present_one_in_flight(
    late: e.Event,
) -> None:
    assert the_effect(SECOND.also(late)) == the_effect(SECOND)


@pytest.mark.parametrize("late", [succeeded(1), found("happened", 1)])
def test_a_late_report_that_an_older_attempt_did_happen_opens_a_dispute(late: e.Event) -> None:
    effect = the_effect(SECOND.also(late))
    assert (effect.status, effect.attempt) == ("disputed", 2)


def test_where_the_outside_dedupes_the_success_of_an_attempt_in_doubt_is_that_of_all() -> None:
    sent = x.intended(recovery=Recovery.IDEMPOTENT)
    again = given(x.opened(), sent, x.started(), UNKNOWN, sent, x.started(attempt=2))
    assert again.also(succeeded(1)).contract.effects == ()
    assert again.also(found("happened", 1)).contract.effects == ()
    after_failure = given(x.opened(), sent, x.started(), failed(), sent, x.started(attempt=2))
    assert the_effect(after_failure.also(succeeded(1))).status == "disputed"


def test_the_present_attempt_settles_it() -> None:
    assert SECOND.also(succeeded(2)).contract.effects == ()


# --- disputes ----------------------------------------------------------------------------------


def test_a_contradiction_opens_a_settled_effect_again() -> None:
    effect = the_effect(STARTED.also(failed(), DISPUTED))
    assert (effect.status, effect.attempt, effect.position, effect.recovery) == (
        "disputed",
        1,
        4,
        Recovery.QUERYABLE,
    )


def test_a_dispute_that_names_a_place_still_to_come_stands_where_it_was_recorded() -> None:
    effect = the_effect(given(x.opened(), DISPUTED.model_copy(update={"settled_at": 40})))
    assert effect.position == 2


def test_a_contradiction_about_another_run_s_outcome_names_its_own_place() -> None:
    effect = the_effect(given(x.opened(), DISPUTED.model_copy(update={"settled_at": None})))
    assert effect.position == 2


def test_a_contradiction_about_an_unsettled_effect_keeps_what_is_known_of_it() -> None:
    effect = the_effect(STARTED.also(DISPUTED))
    assert (effect.status, effect.step, effect.lease_until) == ("disputed", "pay", START + x.HOUR)


@pytest.mark.parametrize("again", [succeeded(), failed(), UNKNOWN, found("unknown")])
def test_saying_the_same_again_does_not_settle_a_dispute(again: e.Event) -> None:
    assert the_effect(STARTED.also(DISPUTED, again)).status == "disputed"


@pytest.mark.parametrize("finding", [found("happened"), found("did_not_happen")])
def test_finding_out_settles_a_dispute(finding: e.Event) -> None:
    assert STARTED.also(DISPUTED, finding).contract.effects == ()


def test_the_count_of_what_a_lineage_did_stays_one_that_can_be_kept() -> None:
    opened, restarted, *_ = x.SUCCESSOR_EVENTS
    most = restarted.with_fields({"effects_done": MAX_INTEGER, "unsettled": ()})
    done = e.EffectSucceeded(attempt=1, key=x.ONE)
    contract = given(opened, most, x.intended(), x.started(), done).contract
    assert contract.tally.effects_done == MAX_INTEGER
    assert Contract.model_validate_json(contract.model_dump_json()) == contract
