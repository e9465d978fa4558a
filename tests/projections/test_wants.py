"""Projections of facts are given those events that they make rows of, and no others."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ledger.application.rows import decoded
from ledger.events import (
    AuthorityReturned,
    EffectCompensated,
    Event,
    GoalRevised,
    MessagesSummarised,
    ObservationRecorded,
    RunResumed,
)
from ledger.record import Record
from ledger.stores.memory import MemoryStore
from ledger.values import Payload, Runtime
from projections.built_in import BUILT_IN
from projections.facts import Facts
from tests.benchmarks import desk
from tests.projections.case_file.story import write

RARE: list[Event] = [
    AuthorityReturned(budget={"eur": Decimal(1)}, by="human:kim", id="desk", run="child"),
    EffectCompensated(by="human:kim", key="0" * 64, undone_by="1" * 64),
    GoalRevised(by="human:kim", reason="So.", rests_on=("assumption:paid",), text="Refund"),
    MessagesSummarised(content=Payload(json_text='"said"'), count=2, through="m-2"),
    ObservationRecorded(
        key="k", rests_on=("assumption:paid",), tool="stock", value=Payload(json_text="3"), witnessed=True
    ),
    RunResumed(gap_seconds=1, incarnation=2, prompt_digest="0" * 64, runtime=Runtime(model="m-1")),
]
"""What the case file has nothing of, or not with what makes rows."""

FACTS = [one for one in BUILT_IN.values() if isinstance(one, Facts)]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    """Return everything that happened in the case file, and something of every other kind."""
    store = MemoryStore()
    write(store)
    found: list[Record] = []
    while rows := store.tail(after=found[-1].global_position or 0 if found else 0, limit=500):
        found += map(decoded, rows)
    return found + [found[0]._replace(event=event) for event in (*RARE, *desk.story(0))]


@pytest.mark.parametrize("projection", FACTS, ids=lambda one: one.name)
def test_it_wants_nothing_that_it_makes_no_rows_of(projection: Facts, records: list[Record]) -> None:
    wanted = [record for record in records if projection.wants_event(record.event)]
    kept = {type(record.event) for record in wanted if any(projection.facts(record))}
    assert kept == (projection.wants or {type(record.event) for record in records})
