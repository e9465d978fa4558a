"""Approvals: the first answer in time counts, and they leave with the act they were for."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import pytest

from ledger import events as e
from ledger.testing import START, given
from ledger.values import ErrorSaid
from tests.run import examples as x

ASKED = e.ApprovalRequested(id="ok-1", key=x.ONE, expires_at=START + x.HOUR)


def answered(answer: Literal["approved", "denied"] = "approved", by: str = "human:kim") -> e.ApprovalAnswered:
    return e.ApprovalAnswered(answer=answer, by=by, id="ok-1")


def test_a_request_records_the_terms_it_was_made_under() -> None:
    history = given(x.opened(), x.granted())
    (approval,) = history.also(ASKED).contract.approvals
    assert approval.terms == history.contract.terms
    assert (approval.key, approval.answered, approval.position) == (x.ONE, None, 3)


def test_the_first_answer_counts_and_later_ones_change_nothing() -> None:
    history = given(x.opened(), ASKED, answered("denied"))
    (approval,) = history.contract.approvals
    assert approval.answered is not None
    assert (approval.answered.answer, approval.answered.by, approval.answered.position) == (
        "denied",
        "human:kim",
        3,
    )
    assert history.also(answered("approved", "human:lee")).contract.approvals == (approval,)


def test_an_answer_that_came_too_late_does_not_count() -> None:
    asked = given(x.opened(), ASKED)
    late = asked.at(START + x.HOUR).also(answered())
    assert late.contract.approvals[0].answered is None
    just = asked.at(START + x.HOUR - timedelta(microseconds=1)).also(answered())
    assert just.contract.approvals[0].answered is not None


def test_an_answer_to_nothing_changes_nothing() -> None:
    assert given(x.opened(), answered()).contract.approvals == ()


def test_asking_again_under_the_same_id_asks_anew() -> None:
    again = ASKED.model_copy(update={"key": x.TWO})
    (approval,) = given(x.opened(), ASKED, answered(), again).contract.approvals
    assert (approval.key, approval.answered) == (x.TWO, None)


ACTED = given(x.opened(), ASKED, answered(), x.intended(approval="ok-1"), x.started())


@pytest.mark.parametrize(
    "done",
    [
        e.EffectSucceeded(key=x.ONE, attempt=1),
        e.EffectReconciled(key=x.ONE, attempt=1, evidence="bank", found="happened", method="probe"),
    ],
)
def test_it_leaves_when_its_act_has_happened(done: e.Event) -> None:
    other = e.ApprovalRequested(id="ok-2", key=x.TWO)
    assert [item.id for item in ACTED.also(other, done).contract.approvals] == ["ok-2"]


def test_it_stays_for_the_next_attempt_when_nothing_happened() -> None:
    failed = e.EffectFailed(key=x.ONE, attempt=1, error=ErrorSaid(message="no", type="No"))
    assert [item.id for item in ACTED.also(failed).contract.approvals] == ["ok-1"]
