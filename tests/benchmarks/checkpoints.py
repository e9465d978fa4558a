"""Checkpoints of graphs: our saver beside LangGraph's own, each call in turns, equally durable.

Two kinds of state: one whose messages grow by one of a thousand characters with each checkpoint, and a small
one that stays. Calls are timed by the clock; each has a line for the CPU time of this process too, since a
disk that is slow to sync makes all savers alike.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from itertools import count
from pathlib import Path
from string import ascii_letters
from typing import Any, NamedTuple, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ledger import open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.benchmarks.measure import Result, ratio
from tests.benchmarks.workload import ACTOR

STEPS = 300
THREADS = 2
NAMES = ("ours", "theirs")
_LAST = 30
"""Checkpoints at the end of a growing thread whose times count."""
_SMALL = 150
_READS = 40
_VALUES: dict[str, Any] = {"count": 1, "name": "hello", "numbers": [1, 2, 3]}

Saver = BaseCheckpointSaver[Any]
T = TypeVar("T")


class Taken(NamedTuple):
    """How long a call took, in seconds."""

    clock: float
    cpu: float


class Awaited:
    """The awaited methods of a saver, called from outside of their event loop."""

    def __init__(self, runner: asyncio.Runner, saver: Saver) -> None:
        # Not the runner's own `run`: taking its signal handler back, Python writes out what was returned.
        self._run = runner.get_loop().run_until_complete
        self._saver = saver
        self.get_next_version = saver.get_next_version

    def put(self, *args: Any) -> Any:
        return self._run(self._saver.aput(*args))

    def put_writes(self, *args: Any) -> None:
        self._run(self._saver.aput_writes(*args))

    def get_tuple(self, config: Any) -> Any:
        return self._run(self._saver.aget_tuple(config))


class Both:
    """Our saver and another one, which take turns at the same calls."""

    def __init__(self, ours: Saver | Awaited, theirs: Saver | Awaited) -> None:
        self._savers: tuple[Any, Any] = (ours, theirs)
        self._configs: list[Any] = []
        self._versions: list[Any] = []
        self._numbers = count()

    def begin(self, thread: str) -> None:
        """Begin a thread: each goes on from the latest checkpoint, as a graph does."""
        self._configs = [{"configurable": {"thread_id": thread, "checkpoint_ns": ""}}] * 2
        self._versions = [None, None]
        self.put({"begun": True}, ("begun",))
        for at, saver in enumerate(self._savers):
            latest = saver.get_tuple({"configurable": {"thread_id": thread}})
            assert latest is not None
            self._configs[at] = latest.config

    def put(self, values: dict[str, Any], changed: Sequence[str]) -> tuple[Taken, Taken]:
        """Save the same state in both, as a checkpoint that goes on from the last."""
        id, number = str(uuid6()), next(self._numbers)

        def put(at: int) -> Callable[[], object]:
            saver = self._savers[at]
            self._versions[at] = version = saver.get_next_version(self._versions[at], None)
            state: Any = {
                **empty_checkpoint(),
                "channel_values": dict(values),
                "channel_versions": dict.fromkeys(values, version),
                "id": id,
            }
            metadata: Any = {"source": "loop", "step": number, "parents": {}}

            def call() -> None:
                versions: Any = dict.fromkeys(changed, version)
                self._configs[at] = saver.put(self._configs[at], state, metadata, versions)

            return call

        return self._in_turns(put)

    def put_writes(self, writes: Sequence[tuple[str, Any]]) -> tuple[Taken, Taken]:
        """Keep the same writes of a task after the last checkpoint."""
        task = str(uuid6())
        return self._in_turns(lambda at: lambda: self._savers[at].put_writes(self._configs[at], writes, task))

    def get(self, *, latest: bool, messages: int | None) -> tuple[Taken, Taken]:
        """Load the last checkpoint: as the latest, or by its id."""

        def get(at: int) -> Callable[[], object]:
            place = dict(self._configs[at]["configurable"])
            if latest:
                del place["checkpoint_id"]
            return lambda: _check(self._savers[at].get_tuple({"configurable": place}), messages)

        return self._in_turns(get)

    def list_one(self, messages: int | None) -> tuple[Taken, Taken]:
        """List the newest checkpoint of the thread."""

        def listed(at: int) -> Callable[[], object]:
            config: Any = {"configurable": {"thread_id": self._configs[at]["configurable"]["thread_id"]}}
            return lambda: _check(next(iter(self._savers[at].list(config, limit=1))), messages)

        return self._in_turns(listed)

    def _in_turns(self, calls: Callable[[int], Callable[[], object]]) -> tuple[Taken, Taken]:
        both = [calls(0), calls(1)]
        found: dict[int, Taken] = {}
        for at in (0, 1) if next(self._numbers) % 2 else (1, 0):
            clock, cpu = time.perf_counter(), time.process_time()
            both[at]()
            found[at] = Taken(time.perf_counter() - clock, time.process_time() - cpu)
        return found[0], found[1]


def _check(found: Any, messages: int | None) -> None:
    assert found is not None
    assert messages is None or len(found.checkpoint["channel_values"]["messages"]) == messages


def message(number: int) -> BaseMessage:
    """Return a message of about 1 KB, which a database cannot compress."""
    kind = HumanMessage if number % 2 else AIMessage
    text = "".join(random.Random(number).choices(ascii_letters, k=1000))
    return kind(content=text, id=f"message-{number}")


def measure(folder: Path) -> list[Result]:
    """Measure on SQLite."""
    with _on_sqlite(folder, "growing") as both:
        results = growing(both)
    # Closing folds the write-ahead logs into the files.
    ours, theirs = (sum(file.stat().st_size for file in folder.glob(f"{name}-growing.db*")) for name in NAMES)
    results.append(bytes_on_disk(ours, theirs))
    with _on_sqlite(folder, "small") as both:
        results += small(both)
    with asyncio.Runner() as runner, open_ledger(folder / "ours-awaited.db", actor=ACTOR) as ledger:
        opened = AsyncSqliteSaver.from_conn_string(str(folder / "theirs-awaited.db"))
        with entered(runner, opened) as saver:
            runner.run(saver.conn.execute("PRAGMA synchronous = FULL"))
            results += awaited(runner, LedgerSaver(ledger), saver)
    return results


@contextmanager
def _on_sqlite(folder: Path, name: str) -> Iterator[Both]:
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(folder / f"ours-{name}.db", actor=ACTOR))
        theirs = stack.enter_context(SqliteSaver.from_conn_string(str(folder / f"theirs-{name}.db")))
        theirs.conn.execute("PRAGMA synchronous = FULL")
        yield Both(LedgerSaver(ledger), theirs)


@contextmanager
def entered(runner: asyncio.Runner, manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Enter what is entered in an event loop, from outside of it."""
    yield runner.run(manager.__aenter__())
    runner.run(manager.__aexit__(None, None, None))


def growing(both: Both) -> list[Result]:
    """Measure a state whose messages grow: what a checkpoint costs in the end, and reading it."""
    puts = [taken for thread in range(THREADS) for taken in _grown(both, f"growing-{thread}")]
    results = [_together(f"put, {STEPS} messages of 1 KB", puts, "<= 0.25")]
    results += _results(f"put, {STEPS} messages of 1 KB", puts, "<= 0.25")
    for latest, how in ((True, "the latest"), (False, "by its id")):
        reads = [both.get(latest=latest, messages=STEPS) for _ in range(_READS)]
        results += _results(f"get_tuple, {how}, {STEPS} messages", reads, "<= 1")
    listed = [both.list_one(STEPS) for _ in range(_READS)]
    return [*results, *_results(f"list(limit=1), {STEPS} messages", listed, "none")]


def awaited(runner: asyncio.Runner, ours: Saver, theirs: Saver) -> list[Result]:
    """Measure the awaited methods: ours do the same in worker threads."""
    both = Both(Awaited(runner, ours), Awaited(runner, theirs))
    puts = _grown(both, "awaited")
    reads = [both.get(latest=True, messages=STEPS) for _ in range(_READS)]
    results = _results(f"aput, {STEPS} messages of 1 KB", puts, "none")
    results += _results(f"aget_tuple, the latest, {STEPS} messages", reads, "none")
    both.begin("awaited-small")
    puts = [both.put(_VALUES, tuple(_VALUES)) for _ in range(_SMALL)]
    return [*results, *_results("aput, small", puts, "none")]


def _grown(both: Both, thread: str) -> list[tuple[Taken, Taken]]:
    """Let the messages of a thread grow; return how long the last checkpoints took."""
    both.begin(thread)
    messages: list[BaseMessage] = []
    taken: list[tuple[Taken, Taken]] = []
    for step in range(STEPS):
        messages = [*messages, message(step)]
        taken.append(both.put({"messages": messages}, ("messages",)))
    return taken[-_LAST:]


def small(both: Both) -> list[Result]:
    """Measure a small state that stays as it is."""
    both.begin("small")
    puts = [both.put(_VALUES, tuple(_VALUES)) for _ in range(_SMALL)]
    writes = [both.put_writes([("count", 1), ("name", "hello")]) for _ in range(_SMALL)]
    both.put(_VALUES, tuple(_VALUES))
    results = _results("put, small", puts, "<= 1")
    results += _results("put_writes, small", writes, "none")
    reads = [both.get(latest=True, messages=None) for _ in range(_READS)]
    return [*results, *_results("get_tuple, the latest, small", reads, "none")]


def bytes_on_disk(ours: int, theirs: int) -> Result:
    """Compare what growing threads take."""
    share = ours / theirs
    note = f"{ours / 1e6 / THREADS:.1f} and {theirs / 1e6 / THREADS:.1f} MB a thread, tables and indexes"
    return Result("bytes of growing threads / theirs", share, share, share, "<= 0.05", note)


def _results(name: str, taken: Sequence[tuple[Taken, Taken]], goal: str) -> list[Result]:
    results = []
    for clock, how, mine in (("clock", "", goal), ("cpu", ", CPU time", "none")):
        ours, theirs = ([getattr(one[at], clock) for one in taken] for at in (0, 1))
        results.append(
            ratio(f"{name} / theirs{how}", ours, theirs, mine, f"{_middle(ours)}, {_middle(theirs)} µs")
        )
    return results


def _together(name: str, taken: Sequence[tuple[Taken, Taken]], goal: str) -> Result:
    """Divide all time of one side by all time of the other.

    Of a log that is folded into its file every so often a median shows nothing, and somebody waits for it.
    """
    ours, theirs = (sum(pair[side].clock for pair in taken) / len(taken) for side in (0, 1))
    share = ours / theirs
    note = f"{ours * 1e6:.0f}, {theirs * 1e6:.0f} µs on average"
    return Result(f"{name}, all together / theirs", share, share, share, goal, note)


def _middle(seconds: Sequence[float]) -> str:
    return f"{sorted(seconds)[len(seconds) // 2] * 1e6:.0f}"
