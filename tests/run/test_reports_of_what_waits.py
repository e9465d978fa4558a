"""Reports about an act that only waits: nobody has begun it, so that none is taken for a person's answer."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Admitted
from tests.run.approving import approval, approved, asked, begins, rule_of
from tests.run.claiming import KEY, begun, claim, fail, find, history, not_know, succeed, the_effect

WAITING = asked()
DECLARED = asked(command=claim(max_attempts=2, needs_approval=True))


@pytest.mark.parametrize("method", ["probe", "late_outcome", "redelivery"])
def test_that_it_was_found_to_have_happened_is_disputed(
    method: Literal["probe", "late_outcome", "redelivery"],
) -> None:
    decided = WAITING.when(find("happened", method=method))
    assert [type(event) for event in decided.decision.events] == [e.EffectReconciled, e.EffectDisputed]
    run = decided.after
    assert (the_effect(run).status, history(run).status) == ("disputed", "disputed")
    assert rule_of(run.when(claim()).decision) == "outcome_unknown"
    again = run.when(find("happened", method=method, evidence="asked once more")).after
    assert history(again).status == "disputed" or history(again).is_settled


def test_a_person_may_say_that_it_happened() -> None:
    run = WAITING.by("human:lee").when(find("happened", method="person", by="human:lee")).after
    assert run.contract.effects == ()
    assert history(run).status == "succeeded"


REPORTS: list[c.Command] = [
    fail(),
    fail(2),
    not_know(),
    not_know(because="lease_lapsed"),
    not_know(because="stopped"),
    find("unknown"),
    find("did_not_happen"),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report.name}")
@pytest.mark.parametrize("before", [WAITING, DECLARED], ids=["asked", "declared"])
def test_what_else_is_reported_is_kept_and_leaves_it_waiting(before: Any, report: c.Command) -> None:
    decided = before.later(days=1).when(report)
    assert isinstance(decided.decision, Admitted)
    assert len(decided.decision.events) == 1, "nothing is owed for what was never begun"
    run = decided.after
    assert (the_effect(run).status, history(run).status, history(run).attempt) == ("pending", "pending", 0)
    assert (approval(run), the_effect(run)) == (approval(before), the_effect(before))
    run.when(report).then_stands_at(run.position)
    assert rule_of(run.when(claim()).decision) == "approval_required"
    begins(approved(run))


def test_a_retry_that_waits_is_not_touched_by_what_is_told_late_of_the_attempt_before() -> None:
    failed = begun(approved(WAITING)).when(fail()).after
    changed = e.GoalRevised(by="human:kim", reason="the customer asked", text="Refund it and say so")
    waits = asked(failed.also(changed))
    for report in (fail(error=fail().error.with_fields({"message": "again"})), not_know()):
        run = waits.when(report).after
        assert (the_effect(run).status, history(run).status) == ("pending", "pending")


def test_a_success_is_disputed_as_before() -> None:
    run = WAITING.when(succeed()).after
    assert the_effect(run).status == "disputed"
    assert the_effect(run).key == KEY
