"""What the log of one run adds to a brief: its goals, where it comes from, what it did, and who is kin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ledger.events import (
    Dropped,
    EffectIntended,
    GoalRevised,
    ObligationOpened,
    RunClosed,
    RunOpened,
    RunRestarted,
)
from ledger.record import Record
from ledger.run.brief import GoalThen, Kin
from ledger.run.decision import said_by


class Descent(NamedTuple):
    """What the log of one run says."""

    kin: Kin
    goals: tuple[GoalThen, ...]
    """The first one first."""
    dropped: tuple[Dropped, ...]
    keys: tuple[str, ...]
    """Effects that it intended or inherited, each once."""
    beside: tuple[str, ...]
    """Runs that may be of the same lineage: what it comes from, its successor, and its children."""

    @property
    def root(self) -> str:
        """First run of the lineage."""
        return self.kin.run if self.kin.parent is None else self.kin.parent.root


def descent_of(records: Iterable[Record]) -> Descent | None:
    """Read the log of a run from its beginning; None where there is nothing to read."""
    kin: Kin | None = None
    goals: list[GoalThen] = []
    dropped: tuple[Dropped, ...] = ()
    keys: dict[str, None] = {}
    beside: dict[str, None] = {}
    for record in records:
        event = record.event
        if isinstance(event, EffectIntended):
            keys.setdefault(event.key)
        elif isinstance(event, GoalRevised):
            goals.append(_goal(record, event.text, event.by, event.reason, event.rests_on, len(goals) + 1))
        elif isinstance(event, RunOpened):
            kin = Kin(opened_at=record.at, parent=event.parent, run=record.run)
            first = _goal(record, event.goal, event.owner, None, event.rests_on, 1)
            goals.append(first.with_fields({"opened_by": record.actor.id}))
            if event.parent is not None:
                beside.setdefault(event.parent.run)
        elif isinstance(event, RunRestarted):
            dropped = event.dropped
            keys.update((effect.key, None) for effect in event.unsettled)
        elif isinstance(event, RunClosed) and kin is not None:
            kin = kin.with_fields({"ended": event.outcome, "successor": event.successor})
            if event.successor is not None:
                beside.setdefault(event.successor)
        elif isinstance(event, ObligationOpened) and event.because is not None:
            kind, _, name = event.because.partition(":")
            if kind == "run":
                beside.setdefault(name)
    return None if kin is None else Descent(kin, tuple(goals), dropped, tuple(keys), tuple(beside))


def _goal(
    record: Record, text: str, by: str | None, reason: str | None, rests_on: tuple[str, ...], revision: int
) -> GoalThen:
    fields = {
        "at": record.at,
        "by": by,
        "opened_by": None,
        "position": record.position,
        "reason": reason,
        "rests_on": rests_on,
        "revision": revision,
        "run": record.run,
        "said_by": None if isinstance(record.event, RunOpened) else said_by(record.actor, by),
        "text": text,
    }
    return GoalThen.unchecked(fields)


def goals_of(descents: Mapping[str, Descent], run: str) -> tuple[GoalThen, ...]:
    """Say how the goal of a run came to be what it is: through the runs that it goes on from, up to there."""
    found: list[tuple[GoalThen, ...]] = []
    until: int | None = None
    seen: set[str] = set()
    at: str | None = run
    while at is not None and at in descents and at not in seen:
        seen.add(at)
        descent = descents[at]
        found.append(tuple(goal for goal in descent.goals if until is None or goal.position <= until))
        parent = descent.kin.parent
        at = None if parent is None or parent.relation == "child" else parent.run
        until = None if parent is None else parent.position
    return tuple(goal for goals in reversed(found) for goal in goals)
