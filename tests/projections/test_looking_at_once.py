"""Questions at the same time: nobody who looks waits for a connection of another who does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.stores.base import FullStore
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.read_models import Look
from projections import views
from projections.asking import ask
from projections.questions.base import SOME_RUN, Asked, Question, Row
from tests.projections.samples import fill
from tests.stores.builder import shown
from tests.stores.place import address, database, schema_of

READERS = 2
ASKING = 3 * READERS


class Together(Question):
    """Reads records while as many others look as there are connections."""

    name = "together"
    group = "Time"
    about = "What a run says, read in each way there is."
    cannot = "Anything else."
    parameters = (SOME_RUN,)
    columns = ()
    uses = ("timeline", "runs")

    def __init__(self) -> None:
        self.barrier = Barrier(READERS)

    def rows(self, asked: Asked) -> Iterable[Row]:
        self.barrier.wait(60)
        run = str(asked.given["run"])
        first = asked.record(run, 1)
        yield first.position, sum(1 for _ in asked.records(run))
        self.barrier.wait(60)


@pytest.fixture
def few(tmp_path: Path) -> Iterator[FullStore]:
    """Return a store that reads on few connections, and waits for none of them."""
    url = address("postgres", tmp_path)
    store = PostgresStore(database(url), schema=schema_of(url), max_readers=READERS, busy_seconds=5)
    with closing(store):
        yield store


def asked_at_once(ledger: Ledger, question: Question, **options: object) -> list[tuple[object, ...]]:
    def go(number: int) -> tuple[object, ...]:
        (row,) = ask(ledger, question, run=f"run-{number % 2}", **options).rows  # type: ignore[arg-type]
        return row

    with ThreadPoolExecutor(ASKING) as pool:
        return list(pool.map(go, range(ASKING)))


def test_more_ask_at_once_than_there_are_connections(few: FullStore) -> None:
    ledger = Ledger(Edge(few, "default", Actor("service:tests")))
    fill(ledger, runs=2, events=3)
    shown(few)
    ask(ledger, "timeline", run="run-0")
    views.obligations(ledger)
    for options in ({"catch_up": False}, {}, {"as_of": few.end(), "catch_up": False}):
        assert asked_at_once(ledger, Together(), **options) == [(1, 3)] * ASKING
    ledger.run("run-0").revise_goal("later", reason="it changed", by="human:kim")
    shown(few)
    # What waits is told of by each of them.
    found = asked_at_once(ledger, Together(), catch_up=False)
    assert found == [(1, 3)] * ASKING


def test_records_are_of_the_moment_of_the_rows(ledger: Ledger) -> None:
    """What is appended while a question reads is not there for it."""
    fill(ledger, runs=1, events=3)
    shown(ledger.store)
    ask(ledger, "timeline", run="run-0")
    tenant, models = ledger.tenant, ledger.store.read_models()
    run = ledger.run("run-0")

    def appending(one: Look) -> tuple[int, int, int, int]:
        before = one.end()
        run.revise_goal("later", reason="it changed", by="human:kim")
        assert one.end() == before
        return len(one.read("run-0")), len(one.tail()), len(one.tail(everyone=True)), one.behind(0).events

    assert models.look(tenant, appending) == (3, 3, 3, 3)
