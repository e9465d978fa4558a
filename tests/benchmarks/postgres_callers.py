"""Many callers on PostgreSQL: threads and tasks against raw connections, and against a peer's recorder."""

from __future__ import annotations

from contextlib import ExitStack, closing
from itertools import count

from ledger import open_ledger
from tests.benchmarks import peer
from tests.benchmarks import raw_postgres as raw
from tests.benchmarks.crowd import in_threads, tasks
from tests.benchmarks.measure import Result, interleaved, ratio
from tests.benchmarks.workload import ACTOR, moves, sample_row

_FEW, _MANY = 8, 64
_EVENTS = 1_280
_PEER_SHARE = 5
"""The peer stores a fifth of the events, and its time counts five times."""
_ROUNDS = 9


def measure(url: str) -> list[Result]:
    """Measure as many events on each side, each caller on a run of its own."""
    raw.create(url)
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(url, actor=ACTOR))
        row = sample_row(ledger)
        connections = [stack.enter_context(closing(raw.connect(url))) for _ in range(_FEW)]
        writers = [raw.writer(each, f"raw-{n}", [row]) for n, each in enumerate(connections)]
        steps = [moves(ledger.open_run(f"thread-{n}", "goal"), count()) for n in range(_MANY)]
        loop = stack.enter_context(tasks(url))
        awaited = loop.steps("task", _MANY)
        recorder = stack.enter_context(peer.recorder(url, connections=_MANY))
        theirs = [peer.writer(recorder, n, row.record) for n in range(_MANY)]
        times = interleaved(
            {
                "raw": lambda: in_threads(writers, _EVENTS // _FEW),
                "few": lambda: in_threads(steps[:_FEW], _EVENTS // _FEW),
                "many": lambda: in_threads(steps, _EVENTS // _MANY),
                "tasks": lambda: loop.time(awaited, _EVENTS // _MANY),
                "peer": lambda: _PEER_SHARE * in_threads(theirs, _EVENTS // _MANY // _PEER_SHARE),
            },
            _ROUNDS,
        )
    by = f"/ {_FEW} raw connections"
    lines = [
        (f"{_FEW} threads, full path {by}", "raw", "few", ">= 1.0"),
        (f"{_MANY} threads, full path {by}", "raw", "many", ">= 1.2"),
        (f"{_MANY} asyncio callers, full path {by}", "raw", "tasks", ">= 1.7"),
        (f"{_MANY} asyncio callers / eventsourcing's recorder, {_MANY} threads", "peer", "tasks", ">= 6"),
    ]
    return [ratio(name, times[over], times[under], goal) for name, over, under, goal in lines]
