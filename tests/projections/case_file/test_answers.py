"""Every question, asked about the case file, against answers that were worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from projections.asking import ask
from projections.questions.catalogue import QUESTIONS
from tests.projections.case_file.answers import ANSWERS
from tests.projections.case_file.golden import END, Golden, HashOf
from tests.projections.case_file.pen import TENANT, Written
from tests.projections.case_file.story import write
from tests.stores.conftest import KINDS

Filed = tuple[Ledger, Written]


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def filed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filed]:
    store = KINDS[request.param](tmp_path_factory.mktemp("filed"))
    written = write(store)
    yield Ledger(Edge(store, TENANT, Actor("service:tests"), lambda: END)), written
    store.close()


def _told(cell: Any, written: Written) -> Any:
    return written.hash_of(*cell) if isinstance(cell, HashOf) else cell


@pytest.mark.parametrize("golden", ANSWERS, ids=lambda golden: golden.name)
def test_answers_as_worked_out(filed: Filed, golden: Golden) -> None:
    ledger, written = filed
    answer = ask(ledger, golden.question, as_of=golden.as_of, now=golden.now, **golden.given)
    names = [column.name for column in answer.columns]
    places = [names.index(name) for name in golden.columns.split()]
    rows = [tuple(row[place] for place in places) for row in answer.rows]
    assert rows == [tuple(_told(cell, written) for cell in row) for row in golden.rows], golden.why


def test_every_question_has_a_golden_answer() -> None:
    assert QUESTIONS.keys() == {golden.question for golden in ANSWERS}
