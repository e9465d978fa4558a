"""Replaying: from stored records to a contract, against eventsourcing's repository and raw rows.

It is timed by the CPU time of this process. All three sides work in it alone, so that is what they take on an
idle machine, and on one that is shared it is what stays comparable.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from ledger import Actor, open_ledger
from ledger.events import CursorMoved, GoalRevised, RunOpened
from tests.benchmarks.measure import Result, speed

EVENTS = 50_000
_ROUNDS = 5


class Goals(Aggregate):
    """The same story as an aggregate of `eventsourcing`."""

    def __init__(self, goal: str) -> None:
        self.goal = goal

    @event("Revised")
    def revise(self, text: str, reason: str, by: str) -> None:
        """Change the goal."""
        self.goal = text


def measure(folder: Path) -> list[Result]:
    """Measure a contract without any snapshot."""
    path = folder / "replay.db"
    with open_ledger(path, actor=Actor("agent:refunds")) as ledger:
        _write(path)
        raw = sqlite3.connect(path)
        decoder = msgspec.json.Decoder()

        def ours() -> None:
            assert ledger.contract("long").position == EVENTS

        def rows() -> None:
            query = "SELECT record FROM events WHERE tenant = 'default' AND run = 'long' ORDER BY position"
            last = None
            for (record,) in raw.execute(query):
                last = decoder.decode(record)
            assert last is not None
            assert last["position"] == EVENTS

        app, id = _application(folder)
        # The repository of a tenth of the events is timed, and counts ten times.
        theirs = lambda: 10 * _cpu(lambda: app.repository.get(id))  # noqa: E731
        results = [
            speed(
                f"replay of {EVENTS:,} events / eventsourcing's repository",
                lambda: _cpu(ours),
                theirs,
                rounds=_ROUNDS,
                goal=">= 8",
            ),
            speed(
                f"replay of {EVENTS:,} events / raw SELECT + msgspec",
                lambda: _cpu(ours),
                lambda: _cpu(rows),
                rounds=_ROUNDS,
                goal=">= 0.25",
            ),
        ]
        raw.close()
        app.close()
        return results


def _cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _write(path: Path) -> None:
    with open_ledger(path, actor=Actor("agent:refunds")) as ledger:
        ledger.import_events("long", [RunOpened(goal="goal 0")], expected=0)
        at = 1
        while at < EVENTS:
            size = min(5_000, EVENTS - at)
            ledger.import_events("long", [story(at + n) for n in range(size)], expected=at)
            at += size
        ledger.store.drop_snapshots()


def story(number: int) -> GoalRevised | CursorMoved:
    """Return the event number n of the story."""
    if number % 2:
        return CursorMoved(node=f"node-{number}", round=number)
    return GoalRevised(text=f"goal {number}, " + "in more words " * 10, reason="asked", by="human:kim")


def _application(folder: Path) -> tuple[Application[UUID], UUID]:
    app = Application[UUID](
        env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "peer.db")}
    )
    goals = Goals("goal 0")
    for number in range(1, EVENTS // 10):
        goals.revise(f"goal {number}, " + "in more words " * 10, "asked", "human:kim")
    app.save(goals)
    return app, goals.id
