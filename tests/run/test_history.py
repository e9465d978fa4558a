"""The history of an effect: what a lineage recorded under its key, in whatever order its runs wrote it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import events as e
from ledger.run.history import EffectHistory, history_of
from ledger.testing import START, given
from ledger.values import ErrorSaid, Recovery
from tests.run import examples as x

NO = ErrorSaid(message="no such order", type="NotFound")
INTENDED = x.intended(x.ONE, recovery=Recovery.QUERYABLE, step="pay", settle_seconds=5, max_attempts=3)
BEGUN = (INTENDED, x.started())
SUCCEEDED = e.EffectSucceeded(key=x.ONE, attempt=1, result=x.ANSWER, external_ref="ch_1", cost=x.EUR_10)
FAILED = e.EffectFailed(key=x.ONE, attempt=1, error=NO)
LAPSED = e.EffectUnknown(key=x.ONE, attempt=1, because="lease_lapsed")


def found(what: str, attempt: int = 1) -> e.EffectReconciled:
    return e.EffectReconciled.model_validate(
        {"key": x.ONE, "attempt": attempt, "evidence": "asked", "found": what, "method": "probe"}
    )


def known(*events: e.Event) -> EffectHistory:
    history = history_of(x.ONE, given(x.opened(), *events).records)
    assert history is not None
    return history


def test_nothing_is_known_of_what_was_never_intended() -> None:
    assert history_of(x.ONE, given(x.opened(), SUCCEEDED).records) is None
    assert history_of(x.TWO, given(x.opened(), *BEGUN).records) is None


def test_other_keys_have_no_part_in_it() -> None:
    others = (x.intended(x.TWO), x.started(x.TWO), e.EffectFailed(key=x.TWO, attempt=1, error=NO))
    assert known(*BEGUN, *others) == known(*BEGUN)


def test_it_holds_what_was_intended_and_who_is_at_it() -> None:
    run = given(x.opened(), INTENDED).later(seconds=9).also(x.started(worker="w-2"))
    history = history_of(x.ONE, run.records)
    assert history is not None
    assert (history.step, history.tool, history.max_attempts, history.args) == ("pay", "refund", 3, "{}")
    assert (history.status, history.attempt, history.worker) == ("executing", 1, "w-2")
    assert (history.intended_at, history.intended_in, history.intended_position) == (START, "run-1", 2)
    assert history.first_sent_at == history.at == START + timedelta(seconds=9)


def test_time_makes_what_is_executing_unknown_once_its_lease_has_ended() -> None:
    history, end = known(*BEGUN), START + x.HOUR
    assert history.status_at(START) == "executing"
    assert history.status_at(end) == "unknown"
    assert history.status_at(end, end + x.HOUR) == "executing"
    assert history.status_at(end, START) == "unknown"
    assert history.may_be_sending(START)
    assert not history.may_be_sending(end)


def test_a_request_may_land_until_some_time_after_its_worker_certainly_sent_nothing_more() -> None:
    five = timedelta(seconds=5)
    assert known(*BEGUN).may_land_until() == START + x.HOUR + five
    assert known(*BEGUN).may_land_until(START + 2 * x.HOUR) == START + 2 * x.HOUR + five
    assert known(*BEGUN, LAPSED).may_land_until() == START + x.HOUR + five
    stopped = e.EffectUnknown(key=x.ONE, attempt=1, because="stopped")
    assert known(*BEGUN, stopped).may_land_until() == START + five
    assert known(*BEGUN, stopped, LAPSED).may_land_until() == START + five
    assert known(x.intended(), x.started()).may_land_until() == START + x.HOUR + timedelta(seconds=30)


def test_what_is_sent_again_to_find_out_may_land_as_long_as_any_request() -> None:
    run = given(x.opened(), *BEGUN).later(hours=2)
    again = e.EffectReconciled.model_validate({**found("unknown").model_dump(), "method": "redelivery"})
    asked = history_of(x.ONE, run.also(found("unknown")).records)
    sent = history_of(x.ONE, run.also(again).records)
    assert asked is not None
    assert sent is not None
    assert asked.may_land_until() == START + x.HOUR + timedelta(seconds=5)
    assert sent.may_land_until() == START + 2 * x.HOUR + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((SUCCEEDED,), "succeeded"),
        ((FAILED,), "failed"),
        ((LAPSED,), "unknown"),
        ((LAPSED, SUCCEEDED), "succeeded"),
        ((LAPSED, FAILED), "failed"),
        ((found("happened"),), "succeeded"),
        ((found("did_not_happen"),), "did_not_happen"),
        ((found("unknown"),), "executing"),
        ((found("did_not_happen"), FAILED), "did_not_happen"),
        ((SUCCEEDED, found("happened")), "succeeded"),
        ((SUCCEEDED, LAPSED), "succeeded"),
    ],
)
def test_what_was_told_and_found_out_makes_the_status(events: tuple[e.Event, ...], status: str) -> None:
    assert known(*BEGUN, *events).status == status


@pytest.mark.parametrize(
    "events",
    [
        (found("did_not_happen"), SUCCEEDED),
        (FAILED, SUCCEEDED),
        (FAILED, found("happened")),
        (SUCCEEDED, FAILED),
        (found("happened"), FAILED),
        (SUCCEEDED, found("did_not_happen")),
        (found("did_not_happen"), INTENDED, x.started(attempt=2), SUCCEEDED),
        (FAILED, INTENDED, x.started(attempt=2), found("happened")),
    ],
)
def test_contradictions_are_disputes_although_no_event_says_so(events: tuple[e.Event, ...]) -> None:
    """Two runs of a lineage may have recorded them at one moment, neither knowing of the other."""
    assert known(*BEGUN, *events).status == "disputed"


def test_a_dispute_stays_as_it_was_opened_until_it_is_found_out() -> None:
    dispute = e.EffectDisputed(
        key=x.ONE, act="a" * 64, attempt=1, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
    )
    history = known(*BEGUN, FAILED, SUCCEEDED, dispute, FAILED, LAPSED, found("unknown"))
    assert (history.status, history.position, history.result) == ("disputed", 5, x.ANSWER)
    assert known(*BEGUN, FAILED, SUCCEEDED, dispute, found("happened")).result == x.ANSWER


def test_what_an_attempt_that_did_not_happen_was_answered_is_not_the_next_one_s_result() -> None:
    later = e.EffectSucceeded(key=x.ONE, attempt=2)
    for before in ((FAILED, SUCCEEDED, found("did_not_happen")), (FAILED,)):
        history = known(*BEGUN, *before, INTENDED, x.started(attempt=2), later)
        assert (history.status, history.attempt, history.settled_attempt) == ("succeeded", 2, 2)
        assert (history.result, history.external_ref, history.cost) == (None, None, None)


def test_attempts_in_doubt_begin_anew_after_what_settles_and_after_nothing_else() -> None:
    again = (x.intended(recovery=Recovery.IDEMPOTENT), x.started(attempt=2))
    first = (x.intended(recovery=Recovery.IDEMPOTENT, dedupes_for=60), x.started())
    assert known(*first, LAPSED, *again).since_attempt == 1
    assert known(*first, FAILED, *again).since_attempt == 2
    assert known(*first, found("did_not_happen"), *again).since_attempt == 2
    assert known(*first, LAPSED, *again).dedupes_for == 60
    assert known(*first, FAILED, *again).dedupes_for is None
    refused = e.EffectFailed(key=x.ONE, attempt=2, error=NO)
    assert known(*first, LAPSED, *again, refused).status == "unknown"


def test_every_report_is_kept_whatever_it_changed() -> None:
    history = known(*BEGUN, LAPSED, FAILED, SUCCEEDED)
    assert [(one.what, one.position) for one in history.told] == [
        ("unknown", 4),
        ("failed", 5),
        ("succeeded", 6),
    ]
    assert history.told_already(SUCCEEDED) == history.told[2]
    assert history.told_already(SUCCEEDED.model_copy(update={"external_ref": "ch_2"})) is None
    assert history.told_already(FAILED.model_copy(update={"attempt": 2})) is None


def test_the_runs_of_a_lineage_are_one_history() -> None:
    one = given(x.opened(), *BEGUN)
    two = given(x.opened(), found("did_not_happen"), INTENDED, x.started(attempt=2), run="run-2")
    history = history_of(x.ONE, (*one.records, *two.records))
    assert history is not None
    assert (history.status, history.attempt, history.started_in) == ("executing", 2, "run-2")
    assert history.intended_in == "run-1"
    late = history_of(x.ONE, (*one.records, *two.records, *one.also(SUCCEEDED).records[-1:]))
    assert late is not None
    assert (late.status, late.run) == ("disputed", "run-1")


def test_it_names_what_compensated_it() -> None:
    assert known(*BEGUN, SUCCEEDED, e.EffectCompensated(key=x.ONE, undone_by=x.TWO)).compensated_by == x.TWO
