"""Questions about constraints that name a run, a key, a source or a period are answered by indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from projections.questions.affected import AffectedRuns
from projections.questions.base import Question
from projections.questions.before_acceptance import BeforeAcceptance
from projections.questions.constraint_history import ConstraintHistory
from projections.questions.constraints_in_force import ConstraintsAtEffect
from projections.questions.relaxations import EffectsAfterChange, Relaxations
from projections.questions.terms_at_effect import TermsAtEffect
from tests.projections.questions.refund_desk import Desk, answered, desk_on, minute
from tests.projections.questions.telling import explained

RUN, SOURCE, PERIOD = {"run": "refund-17"}, {"source": "policy:refunds"}, {"since": minute(5)}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on("sqlite", tmp_path_factory.mktemp("desk"))


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return explained(monkeypatch)


def passed_over(plans: list[str]) -> list[str]:
    """Return the steps that are not led by a run, a key, an id, a source or a time."""
    led = re.compile(r"\(tenant=\? AND (run|key|id|source|asserted_by|at)[=<>]")
    return [step for step in plans if step.startswith(("SCAN", "SEARCH")) and not led.search(step)]


@pytest.mark.parametrize(
    ("question", "given"),
    [
        (ConstraintsAtEffect(), {}),
        (TermsAtEffect(), {}),
        (EffectsAfterChange(), {**RUN, "id": "limit"}),
        *((one, given) for one in (Relaxations(), BeforeAcceptance()) for given in (RUN, SOURCE, PERIOD)),
        (Relaxations(), {"before": minute(20), **SOURCE}),
        (BeforeAcceptance(), {**RUN, **SOURCE, **PERIOD}),
        *((ConstraintHistory(), given) for given in (RUN, SOURCE, PERIOD, {"id": "limit"})),
        (ConstraintHistory(), {"asserted_by": "human:kim"}),
        (ConstraintHistory(), {**RUN, **SOURCE, **PERIOD}),
        (AffectedRuns(), SOURCE),
        (AffectedRuns(), {**SOURCE, "item": "limit"}),
    ],
    ids=lambda one: one.name if isinstance(one, Question) else "+".join(one),
)
@pytest.mark.parametrize("as_of", [None, minute(20)])
def test_no_table_is_passed_over(
    desk: Desk, plans: list[str], question: Question, given: dict[str, Any], as_of: Any
) -> None:
    named = {"key": desk.keys["C"]} if any(one.name == "key" for one in question.parameters) else {}
    answered(desk.ledger, question, as_of=as_of, **given, **named)
    assert passed_over(plans) == []
    assert any(step.startswith("SEARCH") for step in plans)


def test_what_names_nothing_does_pass_over_a_table(desk: Desk, plans: list[str]) -> None:
    """The measure of the test above tells the two apart."""
    answered(desk.ledger, Relaxations())
    assert passed_over(plans) != []
