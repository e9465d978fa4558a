"""How tests of questions tell a ledger what happened, and ask."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.imported import NEVER
from ledger.events import ConstraintAccepted, EffectReconciled, Event
from ledger.run.decision import is_agent
from ledger.stores.sqlite_read_models import SQLiteLook
from projections.asking import ask
from projections.questions.base import Answer, Question
from tests.projections.conftest import SetClock
from tests.stores.builder import shown

PERSON = Actor("human:kim")

on_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)
"""For tests of what other tests of the same query show to be alike on every store."""


class Teller:
    """Says events into runs as they are, each at the time of a clock that a test sets."""

    def __init__(self, ledger: Ledger, clock: SetClock, actor: Actor) -> None:
        self.ledger = ledger
        self.clock = clock
        self.actor = actor
        self._positions: dict[str, int] = {}

    def say(self, run: str, *events: Event, by: Actor | None = None, after: float = 0) -> int:
        """Say events, some seconds later; return the position of the last one.

        What is not for agents to say a person says.
        """
        self.clock.tick(after)
        place = self._positions.get(run, 0)
        actor = by or self.actor
        for not_theirs, some in groupby(
            events,
            lambda event: (
                is_agent(actor) and isinstance(event, (*NEVER, ConstraintAccepted, EffectReconciled))
            ),
        ):
            who = PERSON if not_theirs else actor
            place = self.ledger.import_events(run, tuple(some), expected=place, actor=who).position
        self._positions[run] = place
        return place

    @property
    def gid(self) -> int:
        """Return the last global position, once everything is shown to followers."""
        shown(self.ledger.store)
        return self.ledger.store.end()


def answered(ledger: Ledger, question: str | Question, **given: Any) -> Answer:
    """Ask, once everything is shown to followers."""
    shown(ledger.store)
    return ask(ledger, question, **given)


def told(ledger: Ledger, question: str | Question, *columns: str, **given: Any) -> list[tuple[Any, ...]]:
    """Ask, and return the cells of some columns, row by row; of all where none is named."""
    answer = answered(ledger, question, **given)
    names = [column.name for column in answer.columns]
    assert all(len(row) == len(names) for row in answer.rows)
    places = [names.index(column) for column in columns or names]
    return [tuple(row[place] for place in places) for row in answer.rows]


def written(moment: datetime) -> str:
    """Write a time as read models hold it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def explained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that fills with what SQLite plans to do for each query from here on."""
    plans: list[str] = []
    original = SQLiteLook.select

    def select(self: SQLiteLook, query: str, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
        plans.extend(row[3] for row in original(self, f"EXPLAIN QUERY PLAN {query}", *args, **options))
        return original(self, query, *args, **options)

    monkeypatch.setattr(SQLiteLook, "select", select)
    return plans


def scans(plans: list[str]) -> list[str]:
    """Return those steps of plans that read a whole table or index, or all rows of a tenant."""
    return [
        plan
        for plan in plans
        if (plan.startswith("SCAN ") and "CONSTANT ROW" not in plan) or plan.endswith("(tenant=?)")
    ]


def unbounded(plans: list[str], *bounds: str) -> list[str]:
    """Return those steps of plans that may grow with the ledger, whatever was asked for.

    What keeps a step small is a run, a key, or one of the bounds, as SQLite writes them: `at>?`.
    """
    few = ("run=?", "key=?", *bounds)
    looks = (plan.partition(" USING ")[2] for plan in plans if plan.startswith(("SCAN ", "SEARCH ")))
    return [look for look in looks if "AUTOMATIC" in look or not any(bound in look for bound in few)]
