"""Outcomes: told once, twice, late, or against what is settled; and what shows that nothing happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Looked
from ledger.run.outcomes import to_look_up
from ledger.testing import START, Decided, given
from ledger.values import Ending, ErrorSaid, Recovery
from tests.run import examples as x
from tests.run.claiming import (
    KEY,
    NO,
    OPEN,
    Run,
    begun,
    claim,
    fail,
    find,
    history,
    lapsed,
    looked_at,
    not_know,
    started,
    succeed,
    successor,
    the_effect,
)

BEGUN = begun(OPEN)
ASKED = BEGUN.later(seconds=60)
"""Nothing that was sent can still land."""
PERSON = {"method": "person", "by": "human:kim", "evidence": "the bank's statement"}
UNKNOWN = BEGUN.when(not_know()).after
DONE = BEGUN.when(succeed()).after
FAILED = BEGUN.when(fail()).after
NOTHING = ASKED.when(find("did_not_happen")).after
AGAIN = begun(NOTHING)
"""Attempt 2, after it was found out that attempt 1 did not happen."""
TWICE = claim(recovery=Recovery.IDEMPOTENT)
RESENT = begun(lapsed(begun(OPEN, TWICE)), TWICE)
"""Attempt 2 of what the outside dedupes, while attempt 1 is in doubt."""


def kinds(decided: Decided[Contract | None]) -> list[str]:
    assert isinstance(decided.decision, Admitted), decided.decision
    return [event.name for event in decided.decision.events]


# --- the awaited outcome -----------------------------------------------------------------------


def test_what_the_contract_waits_for_is_recorded_without_a_look() -> None:
    for command, kind in (
        (succeed(), e.EffectSucceeded),
        (fail(), e.EffectFailed),
        (not_know(), e.EffectUnknown),
    ):
        assert not to_look_up(BEGUN.contract, command)
        (event,) = BEGUN.when(command, looked=Looked()).decision.events
        assert isinstance(event, kind)
    assert to_look_up(BEGUN.contract, find("happened"))
    assert to_look_up(BEGUN.contract, succeed(2))
    assert to_look_up(OPEN.contract, succeed())


def test_a_report_about_what_nobody_intended_is_none() -> None:
    for command in (succeed(), fail(), not_know(), find("happened")):
        OPEN.when(command).then_refused("not_open")


def test_a_run_that_was_closed_may_have_gone_on_elsewhere_so_its_late_outcomes_are_looked_up() -> None:
    closed = BEGUN.also(e.RunClosed(outcome=Ending.FAILED, unsettled=(KEY,)))
    assert to_look_up(closed.contract, succeed())
    assert kinds(closed.when(succeed())) == ["effect.succeeded"]


# --- told twice --------------------------------------------------------------------------------

REPORTS = [
    succeed(result=x.ANSWER, cost=x.EUR_10),
    fail(),
    not_know(),
    not_know(because="inconclusive"),
    find("happened", result=x.ANSWER),
    find("did_not_happen"),
    find("unknown"),
    find("happened", **PERSON),
    find("did_not_happen", **PERSON),
]
BEFORE = {
    "executing": BEGUN,
    "lapsed": ASKED,
    "unknown": UNKNOWN,
    "done": DONE,
    "failed": FAILED,
    "nothing": NOTHING,
    "again": AGAIN,
    "resent": RESENT,
    "resent-lapsed": RESENT.later(days=1),
    "disputed": FAILED.when(succeed()).after,
    "again-done": AGAIN.when(succeed(2)).after,
}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one.name)
def test_no_report_is_refused_and_what_is_told_twice_is_recorded_once(before: str, report: c.Command) -> None:
    first = BEFORE[before].when(report)
    assert isinstance(first.decision, Admitted)
    second = first.after.later(seconds=1).when(report)
    assert isinstance(second.decision, Admitted)
    assert second.decision.events == ()


def test_a_repeat_is_told_where_it_stands() -> None:
    DONE.when(succeed()).then_stands_at(4)
    FAILED.when(fail()).then_stands_at(4)
    UNKNOWN.when(not_know()).then_stands_at(4)
    # Word for word what was told of attempt 1, whatever was settled about others since.
    begun(FAILED).when(fail()).then_stands_at(4)


def test_a_success_that_adds_nothing_is_none_and_one_that_brings_the_result_is_recorded() -> None:
    found = ASKED.when(find("happened")).after
    found.when(succeed()).then_stands_at(found.position)
    told = found.when(succeed(result=x.ANSWER, external_ref="ch_1", cost=x.EUR_10)).after
    known = history(told)
    assert (known.status, known.result, known.external_ref) == ("succeeded", x.ANSWER, "ch_1")
    assert (known.cost, known.position) == (x.EUR_10, found.position)
    later = found.when(find("happened", result=x.ANSWER, evidence="asked once more")).after
    assert history(later).result == x.ANSWER


# --- not knowing -------------------------------------------------------------------------------


def test_the_worker_s_own_stop_is_worth_knowing_although_nobody_knew_already() -> None:
    lease_lapsed = lapsed(BEGUN).when(not_know(because="lease_lapsed")).after
    run = lease_lapsed.later(seconds=5)
    stopped = run.when(not_know(because="stopped", error=NO)).after
    known = history(stopped)
    assert (known.status, known.sent_until, known.error) == ("unknown", run.now, NO)
    stopped.when(not_know(because="lease_lapsed")).then_stands_at(lease_lapsed.position)
    stopped.when(not_know(because="inconclusive")).then_stands_at(stopped.position)


@pytest.mark.parametrize("run", [DONE, FAILED, AGAIN, FAILED.when(succeed()).after])
def test_not_knowing_settles_nothing_that_is_settled_and_no_later_attempt(run: Run) -> None:
    assert run.when(not_know(because="stopped")).decision.events == ()


# --- failing -----------------------------------------------------------------------------------


def test_the_declared_attempts_used_up_are_owed_to_a_person_once() -> None:
    twice = claim(max_attempts=2)
    run = begun(begun(given(x.opened(owner="human:lee")), twice).when(fail()).after, twice)
    decided = run.when(fail(2))
    assert kinds(decided) == ["effect.failed", "obligation.opened"]
    (owed,) = decided.after.contract.obligations
    assert (owed.id, owed.owed_to) == (f"failed:{KEY}", "human:lee")
    assert decided.after.when(fail(2)).decision.events == ()
    thrice = begun(decided.after, claim(max_attempts=3))
    assert kinds(thrice.when(fail(3))) == ["effect.failed"]


def test_it_is_owed_too_where_the_failure_is_told_of_what_was_unknown() -> None:
    twice = claim(max_attempts=2)
    run = begun(begun(OPEN, twice).when(fail()).after, twice).when(not_know(2)).after
    assert kinds(run.when(fail(2))) == ["effect.failed", "obligation.opened"]


def test_where_no_number_is_declared_nothing_is_owed() -> None:
    run = OPEN
    for attempt in range(1, 4):
        decided = begun(run).when(fail(attempt))
        assert kinds(decided) == ["effect.failed"]
        run = decided.after


def test_the_refusal_of_what_was_sent_again_says_nothing_of_what_was_sent_first() -> None:
    for run in (RESENT, RESENT.when(not_know(2, because="stopped")).after):
        decided = run.when(fail(2))
        assert decided.decision.events == (e.EffectUnknown(attempt=2, because="raised", error=NO, key=KEY),)
        assert the_effect(decided.after).status == history(decided.after).status == "unknown"
        assert decided.after.when(fail(2)).decision.events == ()


def test_a_late_failure_of_the_first_leaves_the_second_in_flight() -> None:
    late = RESENT.when(fail(1))
    assert kinds(late) == ["effect.failed"]
    assert (the_effect(late.after).status, history(late.after).status) == ("executing", "executing")


# --- late successes ----------------------------------------------------------------------------


def test_where_the_outside_dedupes_the_late_success_of_the_first_is_that_of_the_second() -> None:
    late = RESENT.when(succeed(1, result=x.ANSWER)).after
    assert late.contract.effects == ()
    known = history(late)
    assert (known.status, known.result, known.settled_attempt) == ("succeeded", x.ANSWER, 1)
    late.when(succeed(2)).then_stands_at(late.position)
    # The outside may have refused the second because it was at the first.
    refused = late.when(fail(2))
    assert kinds(refused) == ["effect.failed"]
    assert history(refused.after).status == "succeeded"


@pytest.mark.parametrize(
    ("before", "report", "reported", "attempt"),
    [
        (FAILED, succeed(), "succeeded", 1),
        (NOTHING, succeed(), "succeeded", 1),
        (AGAIN, succeed(1), "succeeded", 2),
        (AGAIN.when(succeed(2)).after, succeed(1), "succeeded", 2),
        (begun(begun(OPEN, TWICE).when(fail()).after, TWICE), succeed(1), "succeeded", 2),
        (DONE, fail(), "failed", 1),
        (FAILED, find("happened"), "happened", 1),
        (NOTHING, find("happened"), "happened", 1),
        (DONE.later(days=1), find("did_not_happen"), "did_not_happen", 1),
        (DONE.later(days=1), find("did_not_happen", **PERSON), "did_not_happen", 1),
    ],
)
def test_what_contradicts_the_settled_outcome_is_recorded_and_opens_a_dispute(
    before: Run, report: c.Command, reported: str, attempt: int
) -> None:
    decided = before.when(report)
    told, dispute = decided.decision.events
    assert told.name.split(".")[1] in ("succeeded", "failed", "reconciled")
    assert isinstance(dispute, e.EffectDisputed)
    assert (dispute.reported, dispute.attempt, dispute.settled_at) == (
        reported,
        attempt,
        history(before).position,
    )
    effect, known = the_effect(decided.after), history(decided.after)
    assert (effect.status, effect.attempt) == (known.status, known.attempt) == ("disputed", attempt)


def test_a_probe_that_does_not_find_it_yet_disputes_nothing() -> None:
    soon = DONE.later(seconds=1)
    assert soon.when(find("did_not_happen")).decision.events == ()


def test_a_failure_of_an_attempt_that_was_not_the_one_contradicts_nothing() -> None:
    done = AGAIN.when(succeed(2)).after
    late = done.when(fail(1, error=ErrorSaid(message="late", type="Late")))
    assert kinds(late) == ["effect.failed"]
    assert history(late.after).status == "succeeded"


# --- disputes ----------------------------------------------------------------------------------


def test_neither_side_settles_a_dispute_by_saying_the_same_again_and_finding_out_does() -> None:
    disputed = NOTHING.when(succeed(1, result=x.ANSWER)).after.later(days=1)
    for same in (succeed(1, result=x.ANSWER), find("did_not_happen")):
        assert disputed.when(same).decision.events == ()
    other = disputed.when(succeed(1, external_ref="ch_1"))
    assert kinds(other) == ["effect.succeeded"]
    assert the_effect(other.after).status == "disputed"
    vain = disputed.when(find("unknown")).after
    assert the_effect(vain).status == history(vain).status == "disputed"
    yes = disputed.when(find("happened")).after
    assert (yes.contract.effects, history(yes).status, history(yes).result) == ((), "succeeded", x.ANSWER)
    no = disputed.when(find("did_not_happen", evidence="no such charge")).after
    assert (no.contract.effects, history(no).status, history(no).result) == ((), "did_not_happen", None)


def test_what_was_done_twice_only_a_person_settles() -> None:
    """A probe says whether the outside has it, and not how often."""
    late = AGAIN.when(succeed(2)).after.when(succeed(1)).after
    found_between = AGAIN.when(succeed(1)).after.when(find("happened")).after.when(succeed(2)).after
    for twice in (late, found_between):
        assert the_effect(twice).status == history(twice).status == "disputed"
        assert history(twice).was_done_twice
        asked = twice.when(find("happened", evidence="the outside lists it")).after
        assert the_effect(asked).status == history(asked).status == "disputed"
        settled = asked.when(find("happened", **PERSON)).after
        assert history(settled).status == "succeeded"
        assert settled.contract.effects == ()


def test_a_person_who_says_the_same_once_more_about_what_became_doubtful_means_it() -> None:
    no = find("did_not_happen", **PERSON)
    disputed = ASKED.when(no).after.when(succeed()).after
    settled = disputed.when(no)
    assert kinds(settled) == ["effect.reconciled"]
    assert settled.after.contract.effects == ()
    opened = DONE.later(days=1).when(no).after
    assert the_effect(opened).status == "disputed"
    opened.when(no).then_stands_at(opened.position - 1)


# --- evidence that nothing happened ------------------------------------------------------------


@pytest.mark.parametrize(("settle", "seconds"), [(None, 60), (5, 35), (0, 30)])
def test_a_probe_s_no_is_evidence_once_nothing_that_was_sent_can_land(settle: Any, seconds: int) -> None:
    run = begun(OPEN, claim(settle_seconds=settle))
    early = run.later(seconds=seconds - 1).when(find("did_not_happen")).after
    assert the_effect(early).status == "executing"
    assert history(early).findings[-1].found == "unknown"
    on_time = early.at(run.now).later(seconds=seconds).when(find("did_not_happen")).after
    assert on_time.contract.effects == ()
    assert history(on_time).status == "did_not_happen"


@pytest.mark.parametrize(
    ("asked", "found"), [(59, "executing"), (60, "did_not_happen"), (3600, "did_not_happen")]
)
def test_a_probe_s_word_is_of_when_it_was_asked(asked: int, found: str) -> None:
    """Recorded later it is no better, and of the time to come nobody can say anything."""
    no = find("did_not_happen", asked_at=START + timedelta(seconds=asked))
    assert history(BEGUN.later(seconds=60).when(no).after).status == found
    if asked > 60:
        assert history(BEGUN.later(seconds=59).when(no).after).status == "executing"


def test_it_is_counted_from_the_worker_s_own_stop_where_it_said_so() -> None:
    stopped = BEGUN.later(seconds=3).when(not_know(because="stopped")).after
    assert history(stopped.later(seconds=29).when(find("did_not_happen")).after).status == "unknown"
    assert history(stopped.later(seconds=30).when(find("did_not_happen")).after).status == "did_not_happen"


def test_it_is_counted_from_the_end_of_a_renewed_lease() -> None:
    no = find("did_not_happen")
    run = BEGUN.later(seconds=60)
    renewed = looked_at(run, no, START.replace(minute=1))
    assert the_effect(run.when(no, looked=renewed).after).status == "executing"


def test_a_person_s_no_counts_once_the_lease_has_ended() -> None:
    no = find("did_not_happen", **PERSON)
    early = BEGUN.later(seconds=29).when(no).after
    assert the_effect(early).status == "executing"
    settled = early.later(seconds=1).when(no).after
    assert settled.contract.effects == ()


def test_that_it_happened_counts_at_once() -> None:
    found = BEGUN.when(find("happened", result=x.ANSWER)).after
    assert found.contract.effects == ()
    found.when(claim()).then_stands_at(found.position)
    found.when(succeed(result=x.ANSWER)).then_stands_at(found.position)
    assert started(found.when(claim())) is None


# --- what another run of the lineage settled ---------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "found"), [(succeed(result=x.ANSWER), "happened"), (fail(), "did_not_happen")]
)
def test_whoever_asks_in_a_successor_about_what_an_ancestor_settled_settles_it_there(
    outcome: c.Command, found: str
) -> None:
    heir = successor(BEGUN)
    told = BEGUN.when(outcome).after
    asked = find("unknown", evidence="the probe could not tell")
    decided = heir.when(asked, looked=looked_at(heir, asked, None, told))
    (event,) = decided.decision.events
    assert isinstance(event, e.EffectReconciled)
    assert (event.found, event.method) == (found, "late_outcome")
    assert event.evidence.endswith("at position 4 of 'run-1'")
    assert decided.after.contract.effects == ()


def test_a_success_told_again_in_a_successor_settles_it_there() -> None:
    heir = successor(BEGUN)
    found = BEGUN.when(find("happened")).after
    report = succeed()
    decided = heir.when(report, looked=looked_at(heir, report, None, found))
    assert kinds(decided) == ["effect.succeeded"]
    assert decided.after.contract.effects == ()
