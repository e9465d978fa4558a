"""The process that replays a recorded run and is killed at a step of one of its calls."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ledger import Ledger
from ledger.adapters.transcripts import Repeat, ReplayedCall, ReplayReport, Tools, Wanted, replay_transcripts
from ledger.testing import START, Clock
from tests.effects import airline
from tests.effects.hooked import CLAIM, hooked
from tests.effects.worker import ANSWERED, BEFORE, CLAIMED, CONTEXT, DONE, STORED

CONTEXT.set_forkserver_preload(["tests.effects.replayer", "tests.effects.worker"])

STEPS = (BEFORE, CLAIMED, DONE, ANSWERED, STORED)
ENDED = frozenset({"effect.succeeded", "effect.failed"})
APART = 120
"""Seconds between two processes: no lease of the first is left, and nothing that it sent can still land."""


class Job(NamedTuple):
    """A recorded run that is replayed."""

    place: Path | str
    """Of the ledger."""
    outside: Path
    """Record of the airline."""
    transcript: str
    """One line of a file."""
    tools: Tools
    run: str
    repeats: Mapping[int, Repeat] = {}


def replay(job: Job, ledger: Ledger, **more: Any) -> ReplayReport:
    """Replay a recorded run."""
    wanted = Wanted(only=(job.run,), repeats=job.repeats)
    outside = airline.tools_of(job.outside, job.tools, done=more.pop("done", None))
    lines = [job.transcript]
    return replay_transcripts(ledger, lines, outside=outside, tools=job.tools, wanted=wanted, **more)


def clock(number: int) -> Clock:
    """Return the clock of a process, which begins when all is over that the one before left behind."""
    return Clock(START + timedelta(seconds=APART * number))


def replay_until(job: Job, number: int, call: int, step: str, reports: Connection) -> None:
    """Replay a run, and be killed at a step of a call."""
    told: list[ReplayedCall] = []
    ledger, store = hooked(job.place, clock(number))

    def at_call() -> bool:
        return len(told) + 1 == call

    def die() -> None:
        if at_call():
            _kill_myself()

    if step == BEFORE:
        store.before(CLAIM, die)
    if step == CLAIMED:
        store.after(CLAIM, die)
    if step == ANSWERED:
        store.before(ENDED, die)
    if step == STORED:
        store.after(ENDED, die)
    report = replay(job, ledger, told=told.append, done=die if step == DONE else None)
    reports.send(report.rows[0])


def _kill_myself() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("SIGKILL cannot be survived")
