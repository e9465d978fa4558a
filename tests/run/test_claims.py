"""Claims: an act begins once, and again only where it certainly did not happen or is deduped outside."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.canonical import MAX_INTEGER
from ledger.codec import act_digest
from ledger.commands import ClaimEffect
from ledger.run.claims import names_of, to_look_up
from ledger.run.decision import Act, Admitted, Refusal
from ledger.run.keys import act_key, effect_key, given_key
from ledger.testing import START, given
from ledger.values import Recovery, Step
from tests.run import examples as x
from tests.run.claiming import (
    KEY,
    OPEN,
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

IDEMPOTENT = claim(recovery=Recovery.IDEMPOTENT, dedupes_for=3600)
ONCE = claim(recovery=Recovery.AT_MOST_ONCE)
BEGUN = begun(OPEN)


# --- a new act ---------------------------------------------------------------------------------


def test_a_new_act_is_intended_and_started_in_one() -> None:
    command = claim(
        step="pay", occurrence="second", max_attempts=3, settle_seconds=5, rests_on=("message:m-1",)
    )
    names = names_of(OPEN.contract, command)
    assert names.key == effect_key("default", "run-1", "pay", "refund", "second", '{"order":17}')
    assert names.act == act_key("default", "run-1", "refund", '{"order":17}')
    OPEN.when(command).then(
        x.intended(
            names.key,
            act=names.act,
            args='{"order":17}',
            max_attempts=3,
            occurrence="second",
            rests_on=("message:m-1",),
            settle_seconds=5,
            step="pay",
        ),
        x.started(names.key, lease_until=START.replace(second=30)),
    )


def test_a_new_act_is_decided_without_a_look_and_must_be_fresh_where_it_is_appended() -> None:
    assert not to_look_up(OPEN.contract, claim())
    decision = OPEN.when(claim()).decision
    assert isinstance(decision, Admitted)
    assert decision.fresh == (Act(act_digest(names_of(OPEN.contract, claim()).act)),)


def test_whoever_has_looked_needs_an_act_of_which_there_is_no_more_than_was_seen() -> None:
    other = begun(OPEN, claim(step="one", occurrence="one"))
    (key,) = (effect.key for effect in other.contract.effects)
    again = begun(other.when(fail(key=key)).after, claim(step="one", occurrence="one", max_attempts=2))
    decision = again.when(claim(step="two", occurrence="two")).decision
    assert isinstance(decision, Admitted)
    act = act_digest(names_of(OPEN.contract, claim()).act)
    assert decision.fresh == (Act(act, intentions=2),)


def test_what_the_contract_holds_of_key_or_act_is_looked_up_and_nothing_else() -> None:
    assert to_look_up(BEGUN.contract, claim())
    assert to_look_up(BEGUN.contract, claim(step="other"))
    assert not to_look_up(BEGUN.contract, claim(args="{}"))
    assert to_look_up(OPEN.contract, claim(undone_by=x.ONE))


def test_a_key_that_the_caller_gives_is_of_its_lineage() -> None:
    decided = OPEN.when(claim(given="refund of order 17"))
    intended = decided.decision.events[0]
    assert isinstance(intended, e.EffectIntended)
    assert intended.key == given_key("default", "run-1", "refund of order 17")
    assert (intended.key_scheme, intended.given) == ("given", "refund of order 17")


# --- the same key ------------------------------------------------------------------------------


def test_a_done_act_is_told_where_it_stands_and_runs_no_more() -> None:
    done = BEGUN.when(succeed(result=x.ANSWER)).after
    done.when(claim()).then_stands_at(done.position)
    done.also(e.PlanCommitted(steps=(Step(name="other"),))).when(claim()).then_stands_at(done.position)


def test_a_given_key_with_other_arguments_is_a_conflict_whatever_became_of_it() -> None:
    run = begun(OPEN, claim(given="g"))
    key = given_key("default", "run-1", "g")
    for before in (run, run.when(succeed(key=key)).after, run.when(fail(key=key)).after):
        decided = before.when(claim(given="g", args="{}"))
        assert isinstance(decided.decision, Refusal)
        assert decided.decision.rule == "key_conflict"
        refused = decided.decision.events[0]
        assert isinstance(refused, e.EffectRefused)
        assert (refused.rule, refused.key, refused.args) == ("key_conflict", key, "{}")
        assert refused.position == history(before, key).position


def test_a_second_worker_is_told_who_is_at_it_until_when() -> None:
    decision = BEGUN.later(seconds=10).when(claim(worker="w-2")).decision
    assert isinstance(decision, Refusal)
    assert (decision.rule, decision.events) == ("effect_in_flight", ())
    assert decision.evidence == {
        "key": KEY,
        "run": "run-1",
        "position": 3,
        "retry_after": 20.0,
        "worker": "w-1",
    }


@pytest.mark.parametrize("command", [claim(), IDEMPOTENT, ONCE], ids=lambda one: one.recovery.value)
def test_a_renewed_lease_counts_and_a_lapsed_one_does_not(command: object) -> None:
    assert isinstance(command, type(ONCE))
    run = lapsed(begun(OPEN, command))
    renewed = looked_at(run, command, run.now.replace(minute=1, second=0))
    run.when(command, looked=renewed).then_refused("effect_in_flight")
    decided = run.when(command)
    assert decided.decision.events[0] == e.EffectUnknown(attempt=1, because="lease_lapsed", key=KEY)


def test_somebody_else_s_word_that_nobody_knows_takes_no_lease_away() -> None:
    run = begun(OPEN, IDEMPOTENT).when(not_know(because="inconclusive")).after
    assert the_effect(run).status == "unknown"
    run.when(IDEMPOTENT).then_refused("effect_in_flight")
    assert started(lapsed(run).when(IDEMPOTENT)) is not None


def test_an_unknown_outcome_is_refused_and_says_how_it_would_be_known() -> None:
    queryable = lapsed(BEGUN).when(claim())
    assert isinstance(queryable.decision, Refusal)
    assert queryable.decision.rule == "outcome_unknown"
    assert queryable.decision.evidence["retry_after"] == 30
    assert the_effect(queryable.after).status == "unknown"
    assert queryable.after.when(claim()).decision.events == ()
    once = lapsed(begun(OPEN, ONCE), 10**6).when(ONCE).decision
    assert isinstance(once, Refusal)
    assert once.evidence["retry_after"] is None


def test_an_act_that_cannot_be_asked_about_begins_again_only_after_a_person_s_word() -> None:
    run = lapsed(begun(OPEN, ONCE), 10**6)
    run.when(ONCE).then_refused(
        "outcome_unknown", events=[e.EffectUnknown(attempt=1, because="lease_lapsed", key=KEY)]
    )
    said = run.when(find("did_not_happen", method="person", by="human:kim")).after
    again = started(said.when(ONCE))
    assert again is not None
    assert again.attempt == 2


@pytest.mark.parametrize("first", [Recovery.AT_MOST_ONCE, Recovery.QUERYABLE])
def test_a_tool_declared_otherwise_meanwhile_is_trusted_no_more(first: Recovery) -> None:
    """Only what was declared for what was sent says what the outside does with it."""
    run = lapsed(begun(OPEN, claim(recovery=first)))
    assert started(run.when(IDEMPOTENT)) is None
    other = lapsed(begun(OPEN, IDEMPOTENT))
    assert started(other.when(claim(recovery=first))) is None


# --- sent again under its key ------------------------------------------------------------------


def test_what_the_outside_dedupes_is_sent_again_while_it_remembers_the_first() -> None:
    run = lapsed(begun(OPEN, IDEMPOTENT))
    second = run.when(IDEMPOTENT)
    assert [type(event) for event in second.decision.events] == [
        e.EffectUnknown,
        e.EffectIntended,
        e.EffectStarted,
    ]
    third = lapsed(second.after, 3540)
    assert started(third.later(seconds=29).when(IDEMPOTENT)) is not None
    third.later(seconds=30).when(IDEMPOTENT).then_refused(
        "outcome_unknown", events=[e.EffectUnknown(attempt=2, because="lease_lapsed", key=KEY)]
    )


def test_its_lease_ends_before_the_outside_forgets() -> None:
    run = begun(OPEN, IDEMPOTENT).later(seconds=3590)
    again = started(run.when(IDEMPOTENT))
    assert again is not None
    assert again.lease_until == START.replace(hour=1)


def test_the_shortest_memory_ever_declared_counts() -> None:
    never = claim(recovery=Recovery.IDEMPOTENT)
    assert started(lapsed(begun(OPEN, never), 10**8).when(never)) is not None
    for first, second in ((IDEMPOTENT, never), (never, IDEMPOTENT)):
        run = begun(OPEN, first).later(seconds=3600)
        assert started(run.when(second)) is None
    thrice = begun(lapsed(begun(OPEN, IDEMPOTENT)), never).later(seconds=3600)
    assert started(thrice.when(never)) is None


def test_a_refusal_of_what_was_sent_again_does_not_make_the_first_forgotten() -> None:
    run = lapsed(begun(OPEN, IDEMPOTENT))
    refused = begun(run, IDEMPOTENT).when(fail(2)).after
    assert history(refused).status == the_effect(refused).status == "unknown"
    assert started(refused.when(IDEMPOTENT)) is not None
    assert started(refused.later(seconds=3570).when(IDEMPOTENT)) is None
    assert started(refused.when(ONCE)) is None


def test_after_a_definite_failure_the_first_send_is_the_next() -> None:
    failed = begun(OPEN, IDEMPOTENT).when(fail()).after.later(seconds=3600)
    again = begun(failed, IDEMPOTENT)
    assert started(again.later(seconds=3599).when(IDEMPOTENT)) is not None
    assert started(again.later(seconds=3600).when(IDEMPOTENT)) is None


# --- tried again after a definite failure ------------------------------------------------------


def test_what_failed_may_be_tried_once_more_by_each_caller_where_nothing_is_declared() -> None:
    run = OPEN
    for attempt in range(1, 5):
        run = begun(run)
        assert the_effect(run).attempt == attempt
        run = run.when(fail(attempt)).after


def test_a_declared_number_of_attempts_is_all_there_are_until_more_are_declared() -> None:
    twice = claim(max_attempts=2)
    run = begun(begun(OPEN, twice).when(fail()).after, twice)
    owed = run.when(fail(2)).after
    (obligation,) = owed.contract.obligations
    assert (obligation.because, obligation.owed_to) == (f"effect:{KEY}", "human:operator")
    for command in (twice, claim()):
        decision = owed.when(command).decision
        assert isinstance(decision, Refusal)
        assert (decision.rule, decision.events) == ("effect_failed", ())
        assert decision.evidence == {"key": KEY, "cause": "NotFound: no such order", "attempts": 2}
    assert started(owed.when(claim(max_attempts=3))) is not None


def test_a_disputed_act_waits_until_somebody_found_out() -> None:
    disputed = begun(BEGUN.when(fail()).after).when(succeed(1)).after
    assert the_effect(disputed).status == "disputed"
    disputed.later(days=999).when(claim()).then_refused("outcome_unknown")
    no = disputed.later(days=1).when(find("did_not_happen", method="person", by="human:kim")).after
    assert started(no.when(claim())) is not None
    yes = disputed.when(find("happened", method="person", by="human:kim")).after
    yes.when(claim()).then_stands_at(yes.position)


def test_an_imported_call_without_a_result_is_in_doubt() -> None:
    names = names_of(OPEN.contract, claim())
    imported = OPEN.also(x.intended(KEY, act=names.act, args='{"order":17}', witnessed=False))
    imported.later(days=1).when(claim()).then_refused("outcome_unknown", events=[])


# --- forks and successors ----------------------------------------------------------------------


def test_a_fork_is_told_recorded_results_and_performs_nothing() -> None:
    origin = given(x.opened(), run="run-0")
    command = claim()
    key = names_of(origin.contract, command).key
    done = begun(origin, command).when(succeed(key=key)).after
    fork = given(*x.FORK_EVENTS)
    assert to_look_up(fork.contract, command)
    fork.when(command, looked=looked_at(fork, command, None, done)).then_stands_at(fork.position)
    refused = fork.when(command)
    assert isinstance(refused.decision, Refusal)
    assert (refused.decision.rule, len(refused.decision.events)) == ("effects_disabled", 1)


def test_a_successor_claims_nothing_that_an_ancestor_s_worker_holds() -> None:
    run = begun(OPEN, IDEMPOTENT)
    heir = successor(run)
    assert to_look_up(heir.contract, IDEMPOTENT)
    looked = looked_at(heir, IDEMPOTENT, None, run)
    heir.when(IDEMPOTENT, looked=looked).then_refused("effect_in_flight")
    later = heir.later(seconds=30)
    again = started(later.when(IDEMPOTENT, looked=looked))
    assert again is not None
    assert (again.attempt, again.root) == (2, "run-1")


def test_a_successor_finds_what_its_ancestor_did() -> None:
    run = BEGUN
    heir = successor(run)
    done = run.when(succeed(result=x.ANSWER)).after
    heir.when(claim(), looked=looked_at(heir, claim(), None, done)).then_stands_at(heir.position)


@pytest.mark.parametrize(
    ("command", "spans"),
    [
        (claim(lease_seconds=MAX_INTEGER), "its lease"),
        (claim(recovery=Recovery.IDEMPOTENT, dedupes_for=MAX_INTEGER), "what the outside remembers"),
        (claim(settle_seconds=MAX_INTEGER), "what may still land"),
    ],
)
def test_a_span_beyond_all_time_ends_with_time_itself(command: ClaimEffect, spans: str) -> None:
    run = begun(OPEN, command).later(days=1)
    begins_again = spans == "what the outside remembers"
    assert (started(run.when(command)) is not None) is begins_again
    assert run.when(find("did_not_happen")).after.contract.effects != () or begins_again


def test_where_the_outside_can_be_asked_the_claim_says_when_although_the_key_is_forgotten() -> None:
    resent = claim(recovery=Recovery.IDEMPOTENT, dedupes_for=60)
    late = lapsed(begun(OPEN, resent), 3600)
    assert late.when(resent).decision.evidence["retry_after"] is None  # type: ignore[union-attr]
    probed = late.when(resent.with_fields({"probed": True})).decision
    assert isinstance(probed, Refusal)
    assert (probed.rule, probed.evidence["retry_after"]) == ("outcome_unknown", 0.0)
