"""The projection `assumptions`: what was taken for granted, what refuted it, and what rests on what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ledger.events import (
    AssumptionMade,
    AssumptionRefuted,
    CursorMoved,
    EffectIntended,
    Event,
    GoalRevised,
    ObservationRecorded,
    PlanCommitted,
    PlanRevised,
    RunOpened,
)
from ledger.record import Record
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table
from projections.words import storable

ASSUMPTIONS, REFUTATIONS, RESTS = "assumptions", "refutations", "rests"


class Assumptions(Facts):
    """One row for each assumption as it was stated, each refutation, and each thing that something rests on.

    What rests on something is named `goal`, `plan:STEP`, `assumption:ID`, `observation:KEY`, `effect:KEY` or
    `cursor`. It does so as it was stated at this position: the next one of the same name states its own.
    """

    name = "assumptions"
    version = 1
    wants = frozenset(
        {
            AssumptionMade,
            AssumptionRefuted,
            CursorMoved,
            EffectIntended,
            GoalRevised,
            ObservationRecorded,
            PlanCommitted,
            PlanRevised,
            RunOpened,
        }
    )
    tables = (
        fact_table(
            ASSUMPTIONS,
            Column("id"),
            Column("text"),
            Column("by", optional=True),
            indexes=(("run", "id", "position"),),
        ),
        fact_table(
            REFUTATIONS,
            Column("id"),
            Column("evidence"),
            Column("by", optional=True),
            Column("occurred_at", optional=True),
            indexes=(("run", "id", "position"),),
        ),
        fact_table(
            RESTS,
            Column("n", "integer"),
            Column("what"),
            Column("on_ref"),
            # Not the names themselves: four of the longest do not fit the key of a PostgreSQL index.
            more_key=("n",),
            indexes=(("run", "what", "position"),),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        if isinstance(event, AssumptionMade):
            yield Fact(ASSUMPTIONS, {"id": event.id, "text": storable(event.text), "by": event.by})
        elif isinstance(event, AssumptionRefuted):
            occurred = event.occurred_at
            yield Fact(
                REFUTATIONS,
                {
                    "id": event.id,
                    "evidence": storable(event.evidence),
                    "by": event.by,
                    "occurred_at": None if occurred is None else write_time(occurred),
                },
            )
        entries = ((what, ref) for what, refs in _rests(event) for ref in dict.fromkeys(refs))
        for n, (what, ref) in enumerate(entries, 1):
            yield Fact(RESTS, {"n": n, "what": what, "on_ref": ref})


def _rests(event: Event) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what an event says to rest on something, and on what."""
    match event:
        case RunOpened() | GoalRevised():
            yield "goal", event.rests_on
        case PlanCommitted() | PlanRevised():
            for step in event.steps:
                yield f"plan:{step.name}", step.rests_on
        case AssumptionMade():
            yield f"assumption:{event.id}", event.rests_on
        case ObservationRecorded():
            yield f"observation:{event.key}", event.rests_on
        case EffectIntended():
            yield f"effect:{event.key}", event.rests_on
        case CursorMoved():
            yield "cursor", event.needs
