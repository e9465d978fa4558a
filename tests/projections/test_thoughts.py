"""The projections `goals`, `assumptions` and `observations`: whatever an event holds, it has rows."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Runtime, Step
from ledger.events import Event
from ledger.record import ZERO_HASH, Record
from ledger.values import MAX_ID_LENGTH
from projections.assumptions import Assumptions
from projections.facts import Facts
from projections.goals import Goals
from projections.observations import Observations
from projections.rows import Rows
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.samples import catch_up, kept
from tests.strategies import COMPLETE, event

THOUGHTS: tuple[Facts, ...] = (Goals(), Assumptions(), Observations())


def told(event: Event) -> Record:
    return Record(
        tenant="t", run="run", position=1, hash=ZERO_HASH, prev=ZERO_HASH, id="id", name=event.name,
        version=event.version, at=datetime(2026, 1, 31, tzinfo=UTC), actor=Actor("agent:a"), causation=None,
        correlation=None, terms=None, about=(), event=event, global_position=7,
    )  # fmt: skip


@pytest.mark.parametrize("projection", THOUGHTS, ids=lambda one: one.name)
def test_every_event_that_is_wanted_has_rows_that_every_database_keeps(projection: Facts) -> None:
    kinds = sorted(projection.wants or (), key=lambda kind: kind.name)

    @given(st.one_of(*(event(kind) for kind in kinds), *(event(kind, COMPLETE) for kind in kinds)))
    def fits(one: Event) -> None:
        rows = Rows(projection.model, lambda table, keys: {})
        projection.handle(told(one), rows)
        facts = list(projection.facts(told(one)))
        assert sum(len(of) for of in rows.changes.values()) == len(facts)

    fits()


def longest(seed: int) -> str:
    """Make up an id of the most bytes, which does not compress."""
    letters = Random(seed)
    return "".join(chr(letters.randrange(0x20000, 0x2A6DF)) for _ in range(MAX_ID_LENGTH))


def test_the_longest_ids_fit_the_indexes_of_every_database(open_on: OpenLedger, clock: SetClock) -> None:
    tenant, run_id, name, other = map(longest, range(4))
    ledger = open_on(tenant)
    runtime = Runtime(model=name, prompt=other)
    run = ledger.open_run(run_id, "go", rests_on=[f"assumption:{name}"], runtime=runtime)
    run.assume(name, "so", rests_on=[f"observation:{name}", f"assumption:{other}"])
    run.commit_plan([Step(name=name, rests_on=(f"assumption:{name}",))])
    run.observe(name, 1, tool=name, observed_at=clock.now)
    run.record_message(name, "user", "hello")
    run.invalidate(name, reason="old")
    run.refute(name, evidence="no", by="human:kim")
    catch_up(ledger, *THOUGHTS)
    assert {
        f"{one.name}.{table}": len(rows) for one in THOUGHTS for table, rows in kept(ledger, one).items()
    } == {
        "goals.goals": 1,
        "goals.plans": 1,
        "assumptions.assumptions": 1,
        "assumptions.refutations": 1,
        "assumptions.rests": 4,
        "observations.observations": 1,
        "observations.invalidations": 1,
        "observations.messages": 1,
        "observations.runtimes": 1,
        "observations.versions": 2,
    }
