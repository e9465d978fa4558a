"""The projection `goals`: every goal and every plan that a run had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.canonical import canonical_text
from ledger.events import GoalRevised, PlanCommitted, PlanRevised, RunOpened
from ledger.record import Record
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

GOALS, PLANS = "goals", "plans"


class Goals(Facts):
    """One row for each goal, the one a run was opened with included, and one for each plan."""

    name = "goals"
    version = 1
    wants = frozenset({RunOpened, GoalRevised, PlanCommitted, PlanRevised})
    tables = (
        fact_table(
            GOALS,
            Column("what"),
            Column("text"),
            Column("rests_on", optional=True),
            Column("reason", optional=True),
            Column("by", optional=True),
            Column("actor"),
        ),
        fact_table(
            PLANS,
            Column("what"),
            Column("steps"),
            Column("reason", optional=True),
            Column("by", optional=True),
            Column("actor"),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        what = event.name.partition(".")[2]
        if isinstance(event, PlanCommitted | PlanRevised):
            # As the record has them: a field that says nothing is left out.
            steps = [step.model_dump(mode="json", exclude_defaults=True) for step in event.steps]
            yield Fact(
                PLANS,
                {
                    "what": what,
                    "steps": canonical_text(steps),
                    "reason": storable(event.reason),
                    "by": event.by,
                    "actor": record.actor.id,
                },
            )
        elif isinstance(event, GoalRevised):
            said = {"reason": storable(event.reason), "by": event.by}
            yield _goal(what, event.text, event.rests_on, record, said)
        elif isinstance(event, RunOpened):
            yield _goal(what, event.goal, event.rests_on, record, {})


def _goal(
    what: str, text: str, rests_on: tuple[str, ...], record: Record, said: Mapping[str, str | None]
) -> Fact:
    refs = text_or_none(list(rests_on))
    own = {"what": what, "text": storable(text), "rests_on": refs, "actor": record.actor.id}
    return Fact(GOALS, {**own, **said})
