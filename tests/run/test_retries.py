"""Attempts are counted in the record: whoever tries, what they declare, and how an attempt was settled."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.commands import ClaimEffect, CloseRun, DischargeObligation
from ledger.run.contract import Contract
from ledger.run.decision import Refusal
from ledger.run.outside import failed
from ledger.testing import Decided, given
from ledger.values import Actor, Ending, Recovery
from tests.run import examples as x
from tests.run.claiming import (
    KEY,
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
)

OPEN = given(x.opened(owner="human:kim"), actor=Actor("agent:refunds", session="s-1"))
TWICE = claim(max_attempts=2)
OWED = f"failed:{KEY}"


def tried(run: Run, *commands: ClaimEffect) -> Run:
    """Begin one attempt after another, each of which the outside refuses."""
    for command in commands:
        begins = run.when(command)
        start = started(begins)
        assert start is not None, begins.decision
        run = begins.after.when(fail(start.attempt)).after
    return run


def owed(run: Run) -> list[str]:
    return [item.id for item in run.contract.obligations]


def used_up(decided: Decided[Contract | None]) -> None:
    assert isinstance(decided.decision, Refusal)
    assert decided.decision.rule == "effect_failed"
    assert decided.decision.events == ()


def test_what_is_used_up_is_owed_and_not_begun_again_by_whoever_asks() -> None:
    spent = tried(OPEN, TWICE, TWICE)
    assert owed(spent) == [OWED]
    for command in (TWICE, claim(), claim(max_attempts=2, worker="w-2")):
        used_up(spent.when(command))
    assert "2 attempts were declared: NotFound: no such order" in str(spent.when(TWICE).decision)


def test_who_declares_nothing_is_held_to_what_was_declared_before_and_after() -> None:
    """A program that forgets the declaration once does not make an act endless by that."""
    spent = tried(OPEN, TWICE, claim())
    assert history(spent).max_attempts == 2
    assert owed(spent) == [OWED]
    used_up(spent.when(claim()))


def test_who_declares_fewer_attempts_than_were_made_is_told_so() -> None:
    thrice = claim(max_attempts=3)
    used_up(tried(OPEN, thrice, thrice).when(TWICE))


def test_without_a_declaration_each_call_may_try_once_more_and_nobody_owes() -> None:
    run = tried(OPEN, *[claim()] * 5)
    assert history(run).attempt == 5
    assert owed(run) == []


def test_declared_later_what_was_tried_before_counts() -> None:
    run = tried(OPEN, claim(), TWICE)
    assert owed(run) == [OWED]
    used_up(run.when(TWICE))


@pytest.mark.parametrize("by", ["person", "probe"])
def test_an_attempt_found_not_to_have_happened_counts_and_the_last_one_is_owed(by: str) -> None:
    run = begun(tried(OPEN, TWICE), TWICE)
    late = lapsed(run.when(not_know(2)).after).later(seconds=31)
    found = late.by(Actor("human:kim")).when(find("did_not_happen", method=by))
    assert [event.name for event in found.decision.events] == ["effect.reconciled", "obligation.opened"]
    (item,) = found.after.contract.obligations
    assert (item.id, item.owed_to) == (OWED, "human:kim")
    assert item.text.startswith("refund failed 2 times, the last of them was found not to have happened")
    used_up(found.after.when(TWICE))
    assert started(found.after.when(claim(max_attempts=3))) is not None


def test_what_was_never_refused_but_found_out_is_told_without_a_cause() -> None:
    run = OPEN
    for attempt in (1, 2):
        late = lapsed(begun(run, TWICE).when(not_know(attempt, because="stopped")).after).later(seconds=31)
        run = late.when(find("did_not_happen")).after
    decision = run.when(TWICE).decision
    assert isinstance(decision, Refusal)
    assert decision.message == "'refund' failed 2 times, and 2 attempts were declared"
    assert decision.evidence["cause"] is None


def test_found_out_of_an_attempt_that_is_not_the_last_owes_nothing() -> None:
    late = lapsed(begun(OPEN, TWICE).when(not_know()).after).later(seconds=31)
    found = late.when(find("did_not_happen"))
    assert [event.name for event in found.decision.events] == ["effect.reconciled"]
    assert started(found.after.when(TWICE)) is not None


def test_a_person_lets_it_go_on_by_more_attempts_and_discharges_what_was_owed() -> None:
    spent = tried(OPEN, TWICE, TWICE)
    done = begun(spent, claim(max_attempts=3)).when(succeed(3)).after
    done.when(CloseRun(outcome=Ending.COMPLETED)).then_refused("still_open")
    settled = done.when(DischargeObligation(evidence="the third attempt went through", id=OWED)).after
    assert settled.when(CloseRun(outcome=Ending.COMPLETED)).after.contract.closed is not None


def test_more_attempts_that_are_used_up_too_are_owed_again_once_the_first_is_answered() -> None:
    more = claim(max_attempts=3)
    spent = tried(OPEN, TWICE, TWICE)
    assert owed(tried(spent, more)) == [OWED], "it is owed once as long as it is open"
    answered = spent.when(DischargeObligation(evidence="try once more", id=OWED)).after
    assert owed(answered) == []
    assert owed(tried(answered, more)) == [OWED]


def test_an_act_that_nobody_knows_of_is_no_failure_however_often_it_was_sent() -> None:
    """Each call sends it once more while the outside dedupes; not knowing is what a person sees."""
    command = claim(recovery=Recovery.IDEMPOTENT, dedupes_for=None, max_attempts=2)
    run = begun(begun(OPEN, command).when(not_know()).after, command).when(not_know(2)).after
    assert owed(run) == []
    assert history(run).status == "unknown"
    again = begun(run, command)
    refused = again.when(fail(3))
    assert [event.name for event in refused.decision.events] == ["effect.unknown", "obligation.opened"]


def test_who_takes_over_is_told_what_is_used_up_by_the_same_count() -> None:
    """What was found not to have happened was an attempt, too, and is not begun again."""
    late = lapsed(begun(tried(OPEN, TWICE), TWICE).when(not_know(2)).after).later(seconds=31)
    for run, is_used_up in (
        (tried(OPEN, TWICE), False),
        (tried(OPEN, TWICE, TWICE), True),
        (late.when(find("did_not_happen")).after, True),
    ):
        (one,) = failed([history(run)])
        assert one.exhausted is is_used_up
        assert isinstance(run.when(TWICE).decision, Refusal) is is_used_up


def test_a_closed_run_owes_nothing_more() -> None:
    run = begun(tried(OPEN, TWICE), TWICE).also(e.RunClosed(outcome=Ending.ABANDONED))
    assert [event.name for event in run.when(fail(2)).decision.events] == ["effect.failed"]


def test_a_successor_counts_what_its_ancestor_tried() -> None:
    before = tried(OPEN, TWICE, TWICE)
    after = successor(before)
    decision = after.when(TWICE, looked=looked_at(after, TWICE, None, before))
    used_up(decision)
