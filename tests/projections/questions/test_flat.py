"""However a question is asked, the rows it reads are found by what it is asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ledger import Ledger
from projections.asking import ask
from projections.questions import subjects
from projections.questions.catalogue import QUESTIONS
from tests.benchmarks import desk
from tests.benchmarks.ways import Given, asked
from tests.projections.questions.telling import explained, scans

WAYS = list(asked(5))

LED = re.compile(r"(act|id|key|other_run|owed_to|run|source|subject|thing|value)=|(at|key)[<>]")
"""A column of an index that leads to few rows: all rows of a name, or those between two times."""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    path = tmp_path_factory.mktemp("desk") / "ledger.db"
    desk.fill(path, desk.TOGETHER)
    ledger, clock = desk.opened(path)
    clock.now = desk.minute(100)
    with ledger:
        yield ledger


@pytest.mark.parametrize(
    ("question", "given"), WAYS, ids=lambda one: one if isinstance(one, str) else "+".join(one)
)
def test_no_way_of_asking_passes_over_a_table(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, question: str, given: Given
) -> None:
    plans = explained(monkeypatch)
    ask(ledger, question, **given)
    tables = [step for step in plans if "projection_" in step]
    # One folds the records of the run.
    assert tables or question == "said-on"
    assert [step for step in tables if step in scans(plans) or not LED.search(step)] == []


def test_nor_does_a_short_period_of_a_subject_with_a_long_history(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subjects, "_MANY", 1)
    plans = explained(monkeypatch)
    ask(ledger, "about-subject", subject=desk.KIM, since=desk.minute(5), before=desk.minute(6))
    # What is counted ends at a number.
    tables = [step for step in plans[plans.index("SCAN found") + 1 :] if "projection_" in step]
    assert [step for step in tables if step in scans(plans) or not LED.search(step)] == []
    assert any("at>?" in step for step in tables)


def test_every_question_is_asked() -> None:
    assert {name for name, _ in WAYS} == set(QUESTIONS)
