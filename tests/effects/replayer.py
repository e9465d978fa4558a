"""The process that replays a recorded run and is killed at a step of one of its calls."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import wraps
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ledger import Ledger, Recovery, Tool
from ledger.adapters.transcripts import Repeat, ReplayedCall, ReplayReport, Tools, Wanted, replay_transcripts
from ledger.adapters.transcripts.samples.hotel import Hotel
from ledger.testing import START, Clock
from tests.effects.hooked import CLAIM, Hook, hooked
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
    """Record of what the calls act on."""
    declare: Callable[[Path, Tools], list[Tool]]
    """Declares the tools that act on it."""
    transcript: str
    """One line of a file."""
    tools: Tools
    run: str
    repeats: Mapping[int, Repeat] = {}


def replay(job: Job, ledger: Ledger, *, done: Hook | None = None, **more: Any) -> ReplayReport:
    """Replay a recorded run; `done` is called when the outside has done a call, before it answers."""
    outside = job.declare(job.outside, job.tools)
    if done is not None:
        outside = [one if one.recovery is Recovery.READ_ONLY else _after(one, done) for one in outside]
    wanted = Wanted(only=(job.run,), repeats=job.repeats)
    return replay_transcripts(
        ledger, [job.transcript], outside=outside, tools=job.tools, wanted=wanted, **more
    )


def _after(tool: Tool, hook: Hook) -> Tool:
    """Return the same tool, which calls a hook after its function."""
    function = tool.function
    assert function is not None

    @wraps(function)
    def hooked(**args: Any) -> Any:
        value = function(**args)
        hook()
        return value

    return replace(tool, function=hooked)


def hotel_tools(books: Path, declared: Tools) -> list[Tool]:
    """Declare the tools that act on the hotel of the samples."""
    return Hotel(books).tools()


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
