"""Permission: who asks before is told just what the claim would come to, and all that is against it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Given, Refusal
from ledger.run.keys import given_key
from ledger.run.looking import looked_among, wanted
from ledger.run.permission import Permission, permission
from ledger.testing import given
from ledger.values import Limits, Recovery, Rule, Step
from tests.run import examples as x
from tests.run.approving import (
    AGENT,
    ASK,
    ASKING,
    approval,
    approved,
    asked,
    denied,
    rule_of,
)
from tests.run.claiming import KEY, OPEN, Run, begun, claim, fail, lapsed, not_know, started, succeed

OTHER = '{"order":18}'
STEP = e.PlanCommitted(steps=(Step(name="look"),))
FORBIDDING = x.accepted("never", rule=Rule(deny=("refund",)))
FORK = e.RunForked(at=1, hash="f" * 64, origin="run-0")


def may(run: Run, command: c.ClaimEffect | None = None, **more: Any) -> Permission:
    """Ask as a ledger does, which looks first."""
    command = claim() if command is None else command
    asked_of = wanted(run.contract, command)
    assert asked_of is not None
    looked = looked_among(asked_of, run._lineage())
    sources = run._sources_of(run.contract)
    return permission(
        run.contract, command, Given(run.actor, run.now, run.stream, sources=sources, looked=looked, **more)
    )


def limited(**limits: int) -> Run:
    return given(x.opened(limits=Limits(**limits)), x.accepted("ask-first", rule=ASK), actor=AGENT)


RUNS: dict[str, tuple[Run, c.ClaimEffect]] = {
    "free": (OPEN, claim()),
    "to be asked": (ASKING, claim()),
    "its tool asks": (OPEN, claim(needs_approval=True)),
    "waiting": (asked(), claim()),
    "approved": (approved(asked()), claim()),
    "approved and changed": (approved(asked()).also(x.accepted("late")), claim()),
    "denied": (denied(asked()), claim()),
    "denied and changed": (denied(asked()).also(x.accepted("late")), claim()),
    "expired": (asked(ASKING, claim(approval_seconds=60)).later(hours=1), claim(approval_seconds=60)),
    "executing": (begun(OPEN), claim()),
    "in doubt": (lapsed(begun(OPEN)), claim()),
    "sent again": (
        lapsed(begun(OPEN, claim(recovery=Recovery.IDEMPOTENT))),
        claim(recovery=Recovery.IDEMPOTENT),
    ),
    "unknown": (begun(OPEN).when(not_know()).after, claim()),
    "failed": (begun(OPEN).when(fail()).after, claim()),
    "exhausted": (
        begun(begun(OPEN, claim(max_attempts=2)).when(fail()).after, claim(max_attempts=2))
        .when(fail(2))
        .after,
        claim(max_attempts=2),
    ),
    "done": (begun(OPEN).when(succeed()).after, claim()),
    "done, off plan": (begun(OPEN).when(succeed()).after.also(STEP), claim()),
    "done, once more": (begun(OPEN).when(succeed()).after, claim(repeat_reason="twice")),
    "done, in a held run": (begun(OPEN).when(succeed()).after.also(x.HELD), claim()),
    "done, beyond its time": (
        begun(given(x.opened(limits=Limits(wall_seconds=60)))).when(succeed()).after.later(hours=1),
        claim(),
    ),
    "a repeat": (begun(OPEN), claim(step="other")),
    "off plan": (OPEN.also(STEP), claim()),
    "forbidden": (ASKING.also(FORBIDDING), claim()),
    "approved and forbidden": (approved(asked()).also(FORBIDDING), claim()),
    "nobody's": (ASKING.also(x.granted(principal="agent:other")), claim()),
    "off plan, forbidden and asked": (ASKING.also(STEP, FORBIDDING), claim()),
    "key in use": (begun(OPEN, claim(given="g")), claim(given="g", args=OTHER)),
    "fork": (OPEN.also(FORK), claim()),
    "suspended": (OPEN.also(x.SUSPENDED), claim()),
    "held": (ASKING.also(x.HELD), claim()),
    "closed": (OPEN.also(x.CLOSED), claim()),
    "not performed": (OPEN, claim(recovery=Recovery.OUTBOX)),
    "undone by nothing": (OPEN, claim(undone_by=x.ONE)),
    "beyond its time": (limited(wall_seconds=60).later(hours=1), claim()),
    "waiting beyond its time": (asked(limited(wall_seconds=60)).later(hours=1), claim()),
    "approved beyond its time": (approved(asked(limited(wall_seconds=60))).later(hours=1), claim()),
    "beyond its effects": (asked(limited(effects=1)), claim(args=OTHER)),
    "the last of its effects": (approved(asked(limited(effects=1))), claim()),
    "off plan beyond its time": (limited(wall_seconds=60).also(STEP).later(hours=1), claim()),
}


@pytest.mark.parametrize("name", RUNS)
def test_it_is_allowed_just_where_a_claim_begins_the_act_and_the_first_objection_is_its_refusal(
    name: str,
) -> None:
    run, command = RUNS[name]
    decided, found = run.when(command), may(run, command)
    rule = rule_of(decided.decision)
    assert found.allowed == (started(decided) is not None)
    assert bool(found) == (rule is None)
    assert found.done == (rule is None and not found.allowed)
    assert [one.rule for one in found.objections[:1]] == ([] if rule is None else [rule])
    if isinstance(decided.decision, Refusal):
        first = found.objections[0]
        assert (first.message, first.position) == (decided.decision.message, decided.decision.position)
        assert first.evidence == decided.decision.evidence


def test_every_rule_that_a_claim_meets_is_asked_about_here() -> None:
    rules = {rule_of(run.when(command).decision) for run, command in RUNS.values()}
    assert rules >= {
        "approval_denied",
        "approval_required",
        "authority_exceeded",
        "constraint_violated",
        "effect_failed",
        "effect_in_flight",
        "effects_disabled",
        "key_conflict",
        "not_open",
        "not_supported",
        "off_plan",
        "outcome_unknown",
        "possible_repeat",
        "run_is_closed",
        "run_is_held",
    }


def test_all_that_is_against_an_act_is_told_in_the_order_in_which_it_would_be_met() -> None:
    run, command = RUNS["off plan, forbidden and asked"]
    rules = [one.rule for one in may(run, command).objections]
    assert rules == ["off_plan", "constraint_violated", "approval_required"]
    held = may(run.also(x.SUSPENDED), command)
    assert [one.rule for one in held.objections] == ["run_is_held", *rules]


def test_a_request_that_waits_is_named_and_one_that_nobody_made_yet_is_not() -> None:
    (waiting,) = may(asked()).objections
    assert waiting.evidence["id"] == approval(asked()).id
    (needed,) = may(ASKING).objections
    assert "id" not in needed.evidence
    assert (needed.evidence["key"], needed.rule) == (KEY, "approval_required")


def test_a_handle_that_was_superseded_is_told_so_first() -> None:
    found = may(OPEN.also(x.SUSPENDED, x.RESUMED), incarnation=1)
    assert [one.rule for one in found.objections] == ["superseded"]


def test_arguments_that_hold_a_secret_are_objected_to() -> None:
    found = may(OPEN, secret="/token looks like a key")
    assert [one.rule for one in found.objections] == ["secret_found"]
    assert not found


def test_it_says_of_which_key_and_position_it_speaks() -> None:
    run = asked()
    assert (may(run).key, may(run).position) == (KEY, run.position)
    assert may(OPEN, claim(given="g")).key == given_key("default", "run-1", "g")
