"""Forks stand where their origin stood, owe nothing and perform nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import commands as c
from ledger import events as e
from ledger.run.decision import Admitted
from ledger.testing import given
from ledger.values import Runtime, Source, Step
from tests.run import examples as x
from tests.run.lineages import PROGRAM, fork, published

ORIGIN = (
    given(
        x.opened(rests_on=("assumption:firm",), runtime=Runtime(model="m-1"), thread="t-1"),
        published("kind", "Be kind"),
        e.RevisionAcknowledged(
            by="human:kim", source=Source("policy", "refunds", revision="5"), source_position=2
        ),
        e.AssumptionMade(id="firm", text="That holds", rests_on=("observation:stock",)),
        x.observed(fresh_for=60),
        e.PlanCommitted(by="human:kim", reason="short", steps=(Step(name="pay", tool="refund"),)),
        e.PlanRevised(reason="shorter", steps=(Step(name="all"),)),
        x.message(),
        x.message("m-2", role="assistant"),
        e.MessagesSummarised(content=x.SAID, count=1, through="m-1"),
        e.CursorMoved(node="pay", round=3, visited={"pay": 2}),
        actor=PROGRAM,
    )
    .later(hours=1)
    .also(
        e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer"),
        x.granted(),
        x.intended(step="all", authority=("refunds",)),
        x.started(),
        e.GoalRevised(by="human:kim", reason="asked", text="Refund it all"),
        e.ConstraintWithdrawn(by="human:kim", id="kind", reason="no need"),
    )
)


@pytest.mark.parametrize("at", range(1, ORIGIN.position + 1))
def test_a_fork_stands_where_its_origin_stood_and_may_and_owes_nothing(at: int) -> None:
    then = ORIGIN.upto(at).contract
    decided = ORIGIN.later(hours=1).when(fork(at))
    fresh = decided.after.other("run-2").contract
    assert decided.decision.events == ()
    assert isinstance(decided.decision, Admitted)
    assert set(decided.decision.beside) == {"run-2"}
    assert (fresh.fork_of, fresh.root) == ("run-1", "run-1")
    assert fresh.parent == e.Parent(position=at, relation="fork", root="run-1", run="run-1")
    assert fresh.goal.text == then.goal.text
    assert fresh.goal.rests_on == then.goal.rests_on
    placed = {"accepted_at", "at", "position", "said_by", "supersedes", "change"}
    for field in ("constraints", "assumptions", "observations", "messages"):
        assert _said(getattr(fresh, field), placed) == _said(getattr(then, field), placed)
    for field in ("cursor", "summary"):
        one, other = getattr(fresh, field), getattr(then, field)
        assert _said([one] if one else [], placed) == _said([other] if other else [], placed)
    assert (fresh.plan and fresh.plan.steps) == (then.plan and then.plan.steps)
    assert (fresh.runtime, fresh.thread) == (then.runtime, then.thread)
    assert [(one.source, one.position) for one in fresh.sources] == [
        (one.source, one.position) for one in then.sources
    ]
    assert (fresh.obligations, fresh.grants, fresh.effects, fresh.approvals) == ((), (), (), ())
    assert decided.after.contract == ORIGIN.contract


def test_a_message_with_the_id_of_the_last_that_was_summarised_is_said_in_the_fork() -> None:
    run = given(
        x.opened(),
        x.message(),
        e.MessagesSummarised(content=x.SAID, count=1, through="m-1"),
        x.message(role="assistant"),
    )
    fresh = run.when(fork(4)).after.other("run-2").contract
    assert [(one.id, one.role) for one in fresh.messages] == [("m-1", "assistant")]
    assert fresh.summary is not None


def _said(items: Any, placed: set[str]) -> list[dict[str, Any]]:
    return [item.model_dump(exclude=placed) for item in items]


def test_a_fork_performs_nothing() -> None:
    forked = ORIGIN.when(fork(5)).after.other("run-2").by(PROGRAM)
    claim = c.ClaimEffect(args="{}", recovery=x.intended().recovery, tool="refund", worker="w-1")
    assert "effects_disabled" in str(forked.when(claim).decision)
    assert not any(isinstance(event, e.EffectStarted) for event in forked.when(claim).decision.events)


def test_a_fork_is_opened_once_and_never_where_the_run_has_not_been() -> None:
    ORIGIN.when(fork(99)).then_refused("not_open", position=None)
    after = ORIGIN.when(fork(5)).after
    after.when(fork(5)).then_stands_at(5)
    after.when(fork(5, by="human:lee", reason="looking")).then_stands_at(5)
    after.when(fork(4)).then_refused("run_exists", position=1)
    ORIGIN.among(given(x.opened(), run="run-2")).when(fork(5)).then_refused("run_exists", position=1)


def test_what_did_not_hold_any_more_is_no_observation_of_a_fork() -> None:
    gone = given(x.opened(), x.observed(), e.ObservationInvalidated(key="stock", reason="miscounted"))
    assert gone.when(fork(3)).after.other("run-2").contract.observations == ()
    assert [one.key for one in gone.when(fork(2)).after.other("run-2").contract.observations] == ["stock"]
