"""The loops of graphs that are at work on threads, each followed by itself until it has ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from langgraph import errors

from ledger.adapters.langgraph.resting import ERROR, RESUME, STOPS, nodes_due, rests_after
from ledger.adapters.threads import Entry

PART = "~__pregel_push, ~"
"""How the path begins of what is a part of another task: a function that it called as a task."""
HANDLED = "__error_source_node__"
"""What one leaves that failed, and is followed by another which deals with that."""
CUT: tuple[type[BaseException], ...] = (
    asyncio.CancelledError,
    getattr(errors, "NodeTimeoutError", asyncio.CancelledError),
)
"""What a task is said to have failed of that was given up: what it does in a thread goes on."""


@dataclass(slots=True)
class _Step:
    """What is known of the tasks that go on from a checkpoint."""

    checkpoint: str
    due: int | None
    done: set[str] = field(default_factory=set)
    stopped: bool = False
    """One of them asked somebody, or failed."""
    keeping: set[int] = field(default_factory=set)
    """What is being kept at present, numbered as it was begun."""


class Following:
    """Follows one loop on its line of a thread. Programs' threads may share it."""

    def __init__(self, every: Resting, entry: Entry, line: str, loop: Any) -> None:
        self.line = line
        """The line; what is saved on others is of graphs inside of it."""
        self.newest: str | None = None
        """The newest checkpoint of the line, as far as loops of this saver know."""
        self.incarnation = (entry.run.id, entry.run.incarnation)
        self._every = every
        self._loop = loop
        self._left = False
        self._changed = threading.Condition()
        self._step = _Step("", None)
        self._ended: set[str] = set()
        self._begun = 0
        self._kept = 0
        self._rests = False

    def loaded(
        self, checkpoint: Mapping[str, Any], writes: Sequence[tuple[str, str, Any]], newest: str | None
    ) -> None:
        """Note the checkpoint that the loop goes on from, what is kept of its tasks, and the newest one."""
        wrote: dict[str, set[str]] = {}
        for task, channel, _ in writes:
            wrote.setdefault(task, set()).add(channel)
        done = {task for task, channels in wrote.items() if channels - {RESUME} and not channels & STOPS}
        with self._changed:
            self._step = _Step(checkpoint["id"], nodes_due(checkpoint), done)
        self.newest = newest

    @contextmanager
    def saving(self, checkpoint: Mapping[str, Any], source: Any, *, at_exit: bool) -> Iterator[bool]:
        """Save a checkpoint, for `with`, which tells whether the thread rests after it."""
        due = nodes_due(checkpoint)
        rests = rests_after(due, source, at_exit=at_exit) and self._is_idle()
        with self._changed:
            self._step = step = _Step(checkpoint["id"], due)
            mine = self._begin(step)
            self._changed.notify_all()
        with self._keeping(step, mine, rests):
            yield rests
        self._every.saved(self, checkpoint["id"])

    @contextmanager
    def writing(
        self,
        checkpoint: str | None,
        task: str,
        path: str,
        writes: Sequence[tuple[str, Any]],
        *,
        at_exit: bool,
    ) -> Iterator[bool]:
        """Keep what a task wrote, for `with`, which tells whether the thread rests after it.

        It rests where each of the tasks has ended, and one asked somebody or failed: what ends the last of
        them is kept last. Else another checkpoint follows.
        """
        channels = {channel for channel, _ in writes}
        cut = any(channel == ERROR and isinstance(value, CUT) for channel, value in writes)
        with self._changed:
            step = self._step if self._step.checkpoint == checkpoint else _Step("", None)
            if not cut:
                self._ended.add(task)
                if path and not path.startswith(PART):
                    step.done.add(task)
                step.stopped |= not STOPS.isdisjoint(channels) and HANDLED not in channels
            stops = step.stopped and step.due is not None and len(step.done) >= step.due
            mine = self._begin(step)
            if stops:
                self._changed.wait_for(lambda: min(step.keeping) == mine)
        rests = (stops or at_exit) and self._is_idle()
        with self._keeping(step, mine, rests):
            yield rests

    def ended(self) -> str | None:
        """Return the newest checkpoint, where it is to be said that the thread rests; None: it is not.

        It is not where that is said, where another loop is at work on the thread, nor where something of this
        one may be.
        """
        idle = self._is_idle()
        self._left, self._loop = self.leaves_work(), None
        self._every.leave(self)
        return self.newest if idle and not self._rests else None

    def leaves_work(self) -> bool:
        """Tell whether tasks were given up that may be at work still, in threads.

        An event loop cannot stop its threads, and nothing tells whether a task had any.
        """
        loop = self._loop
        if not isinstance(getattr(loop, "stack", None), AsyncExitStack) or loop.status != "pending":
            return self._left
        return any(not self._has_ended(one) for one in list((getattr(loop, "tasks", None) or {}).values()))

    def _has_ended(self, task: Any) -> bool:
        failed = [value for channel, value in list(task.writes) if channel == ERROR]
        if any(isinstance(one, CUT) for one in failed):
            return False
        return bool(task.writes) or task.id in self._ended

    def is_at_work(self) -> bool:
        """Tell whether the loop has begun: one that failed before that is never told to end."""
        return getattr(self._loop, "status", "input") != "input"

    def _is_idle(self) -> bool:
        return self._every.is_alone(self) and not self.leaves_work()

    def _begin(self, step: _Step) -> int:
        self._begun += 1
        step.keeping.add(self._begun)
        return self._begun

    @contextmanager
    def _keeping(self, step: _Step, mine: int, rests: bool) -> Iterator[None]:
        try:
            yield
            with self._changed:
                if mine > self._kept:
                    self._kept, self._rests = mine, rests
        finally:
            with self._changed:
                step.keeping.discard(mine)
                self._changed.notify_all()


class Resting:
    """The loops of one saver that have not ended. Programs' threads may share it."""

    def __init__(self) -> None:
        # A loop that is refused as it begins is never told to end: it goes when nothing holds it any more.
        self._open: WeakSet[Following] = WeakSet()
        self._mutex = threading.Lock()

    def follow(self, entry: Entry, line: str, loop: Any) -> Following:
        """Follow a loop that enters a thread; None for the loop: it is not known when that ends."""
        one = Following(self, entry, line, loop)
        if loop is not None:
            with self._mutex:
                self._open.add(one)
        return one

    def saved(self, one: Following, checkpoint: str) -> None:
        """Tell the loops on a line that one of them saved a checkpoint."""
        one.newest = checkpoint
        with self._mutex:
            for other in self._open:
                if (other.incarnation, other.line) == (one.incarnation, one.line):
                    other.newest = checkpoint

    def is_alone(self, one: Following) -> bool:
        """Tell whether no other loop is at work on the thread; those of older incarnations were overtaken."""
        with self._mutex:
            return not any(
                other is not one and other.incarnation == one.incarnation and other.is_at_work()
                for other in self._open
            )

    def leave(self, one: Following) -> None:
        """Follow a loop no more."""
        with self._mutex:
            self._open.discard(one)
