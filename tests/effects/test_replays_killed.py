"""Recorded runs that are killed while they are replayed, and begun anew each time.

What the airline's own record holds after an uninterrupted replay is the measure: the one that was killed at
all its calls must leave the same in it.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Recovery, open_ledger
from ledger.adapters.transcripts import ReplayedCall, ReplayedRun
from tests.effects import airline, worker
from tests.effects.recorded import REPEATED, TRIED_AGAIN, Recorded, assert_as_recorded, uninterrupted
from tests.effects.replayer import STEPS, Job, clock, replay, replay_until
from tests.effects.worker import BEFORE, STORED
from tests.stores.place import address

pytestmark = pytest.mark.slow


class Whole(NamedTuple):
    """What a run comes to without a kill."""

    calls: list[tuple[Any, ...]]
    deeds: list[airline.Deed]


class Measured(Recorded):
    """Recorded runs, and what each comes to without a kill."""

    def __init__(self, shared: Path) -> None:
        super().__init__(shared)
        self._measured: dict[str, Whole] = {}

    def whole(self, run: str) -> Whole:
        if run not in self._measured:
            job = self.job(run)
            row = uninterrupted(job)
            assert_as_recorded(row, job, self)
            self._measured[run] = Whole(came(row.calls), airline.deeds(job.outside))
        return self._measured[run]


def came(calls: tuple[ReplayedCall, ...]) -> list[tuple[Any, ...]]:
    return [(call.number, call.tool, call.came, call.answer, call.key) for call in calls]


@pytest.fixture(scope="module")
def recorded(shared_dir: Path) -> Measured:
    return Measured(shared_dir)


class Killed:
    """A replay that is killed and begun anew, again and again."""

    def __init__(self, job: Job, recorded: Recorded) -> None:
        self._job, self._recorded = job, recorded
        self._numbers: Iterator[int] = count()

    def kill(self, call: int, step: str) -> None:
        """Replay in a process of its own that is killed at a step of a call."""
        process, reports = worker.start(replay_until, self._job, next(self._numbers), call, step)
        process.join()
        assert process.exitcode == -signal.SIGKILL, reports.recv() if reports.poll() else "it failed"
        reports.close()
        tool = self._recorded.calls(self._job.run)[call].tool
        only_a_person_knows = self._job.tools.of(tool).recovery is Recovery.AT_MOST_ONCE
        if only_a_person_knows and step not in (BEFORE, STORED):
            self._settle_by_hand(call)

    def _settle_by_hand(self, call: int) -> None:
        """Let a person look into the airline's record."""
        with open_ledger(self._job.place, clock=clock(next(self._numbers))) as ledger:
            [row] = replay(self._job, ledger).rows
            assert (row.verdict, row.code, row.call) == ("unknown", "outcome_unknown", call)
            assert row.key is not None
            done = {deed.key: deed.words for deed in airline.deeds(self._job.outside)}
            ledger.settle(
                row.key,
                happened=row.key in done,
                result=done.get(row.key),
                evidence="looked into the airline's record",
                by="human:kim",
            )

    def end(self) -> ReplayedRun:
        return uninterrupted(self._job, next(self._numbers))


def assert_ends_alike(
    recorded: Measured, run: str, plan: Mapping[int, str], place: Path | str | None = None
) -> None:
    """Replay a run with kills as planned, and compare with a replay without any."""
    job = recorded.job(run, place)
    killed = Killed(job, recorded)
    for call, step in plan.items():
        killed.kill(call, step)
    row = killed.end()
    assert_as_recorded(row, job, recorded)
    whole = recorded.whole(run)
    assert came(row.calls) == whole.calls, plan
    assert airline.deeds(job.outside) == whole.deeds, plan
    with open_ledger(job.place) as ledger:
        assert not ledger.effects(run), plan


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("run", [REPEATED, *TRIED_AGAIN])
def test_killed_at_every_call_a_replay_ends_as_without_a_kill(
    recorded: Measured, run: str, step: str
) -> None:
    assert_ends_alike(recorded, run, dict.fromkeys(recorded.changing(run), step))


def test_killed_at_every_call_the_other_runs_end_as_without_a_kill_whatever_the_step(
    recorded: Measured,
) -> None:
    for run in recorded.lines:
        if run not in (REPEATED, *TRIED_AGAIN):
            changing = recorded.changing(run)
            if changing:
                assert_ends_alike(recorded, run, {call: random.choice(STEPS) for call in changing})


def test_killed_at_every_call_a_replay_on_postgresql_ends_as_without_a_kill(
    recorded: Measured, tmp_path: Path
) -> None:
    changing = recorded.changing(REPEATED)
    steps = [*STEPS, *random.choices(STEPS, k=len(changing) - len(STEPS))]
    plan = dict(zip(changing, steps, strict=True))
    assert_ends_alike(recorded, REPEATED, plan, address("postgres", tmp_path))
