"""Whether a graph rests: it has come to its end, or waits for somebody, and none of its nodes is at work.

What a graph saves tells it. In doubt it does not rest: another program then waits for a while before it goes
on.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

KEPT = 1024
"""Threads of which it is known which nodes of theirs are at work."""
DURABILITY = "__pregel_durability"
SENDS = "__pregel_tasks"
START = "__start__"
BRANCH = "branch:to:"
JOIN = "join:"
RESUME = "__resume__"
STOPS = frozenset(("__interrupt__", "__error__"))
"""What a node leaves that asked somebody, or failed."""
PART = "~__pregel_push, ~"
"""How the path begins of what is a part of another task: a function that it called as a task."""
HANDLED = "__error_source_node__"
"""What one leaves that failed, and is followed by another which deals with that."""
_ABOUT = frozenset(("__input__", "__interrupt__"))
"""What is noted beside the nodes as who has seen which channels."""


def saves_at_exit(config: Mapping[str, Any]) -> bool:
    """Tell whether the graph that works with a configuration saves nothing before it stops."""
    return (config.get("configurable") or {}).get(DURABILITY) == "exit"


def nodes_due(checkpoint: Mapping[str, Any]) -> int | None:
    """Count the tasks that go on from a checkpoint; None: they cannot be counted.

    A graph that is built of nodes and edges keeps in channels of its own which nodes are due, and each
    is emptied once they have run.
    """
    for node, seen in (checkpoint.get("versions_seen") or {}).items():
        if node not in _ABOUT and not all(map(_is_own, seen)):
            return None
    nodes, sends, later = set[str](), 0, False
    for channel, value in checkpoint["channel_values"].items():
        if channel == SENDS:
            sends = len(value)
        elif channel == START:
            nodes.add(channel)
        elif channel.startswith(BRANCH):
            # One that runs after all others waits for them, which its channel says.
            if isinstance(value, tuple) and value[1:] == (False,):
                later = True
            else:
                nodes.add(channel.removeprefix(BRANCH))
        elif channel.startswith(JOIN):
            sources, _, node = channel.removeprefix(JOIN).rpartition(":")
            seen, finished = value if isinstance(value, tuple) else (value, True)
            if sum(map(len, seen)) + len(seen) - 1 == len(sources):
                later = later or not finished
                if finished:
                    nodes.add(node)
    due = len(nodes) + sends
    return None if later and not due else due


def _is_own(channel: str) -> bool:
    return channel in (SENDS, START) or channel.startswith((BRANCH, JOIN))


@dataclass(slots=True)
class _Step:
    """What is known of the tasks that go on from a checkpoint."""

    checkpoint: str
    due: int | None
    done: set[str] = field(default_factory=set)
    stopped: bool = False
    """One of them asked somebody, or failed."""
    begun: int = 0
    keeping: set[int] = field(default_factory=set)
    """What is being kept at present, numbered as it was begun."""
    rests: bool = False
    """What was said last says that the graph rests."""


class Resting:
    """Follows the main lines of threads. Programs' threads may share it."""

    def __init__(self) -> None:
        self._steps: OrderedDict[str, _Step] = OrderedDict()
        self._changed = threading.Condition()

    def saved(self, thread: str, checkpoint: Mapping[str, Any], source: Any, *, at_exit: bool) -> bool:
        """Note a checkpoint that a graph is about to save; tell whether the graph rests after it."""
        due = nodes_due(checkpoint)
        rests = at_exit or (source == "loop" and due == 0)
        self._begin(thread, _Step(checkpoint["id"], due, rests=rests))
        return rests

    def loaded(
        self, thread: str, checkpoint: Mapping[str, Any], writes: Sequence[tuple[str, str, Any]]
    ) -> None:
        """Note the checkpoint that a graph goes on from, and what is kept of its tasks."""
        wrote: dict[str, set[str]] = {}
        for task, channel, _ in writes:
            wrote.setdefault(task, set()).add(channel)
        done = {task for task, channels in wrote.items() if channels - {RESUME} and not channels & STOPS}
        self._begin(thread, _Step(checkpoint["id"], nodes_due(checkpoint), done))

    @contextmanager
    def writing(
        self, thread: str | None, checkpoint: str | None, task: str, path: str, channels: Collection[str]
    ) -> Iterator[bool]:
        """Keep what a task wrote, for `with`, which tells whether the graph rests after it.

        `thread` is None where it is a task of a graph inside of another. The graph rests where each of the
        tasks has ended, and one asked somebody or failed: what ends the last of them is kept last. Else
        another checkpoint follows.
        """
        with self._changed:
            step = None if thread is None else self._steps.get(thread)
            if step is None or step.checkpoint != checkpoint:
                step = _Step("", None)
            if path and not path.startswith(PART):
                step.done.add(task)
            step.stopped |= not STOPS.isdisjoint(channels) and HANDLED not in channels
            rests = step.stopped and step.due is not None and len(step.done) >= step.due
            step.begun += 1
            step.rests = rests
            mine = step.begun
            step.keeping.add(mine)
            if rests:
                self._changed.wait_for(lambda: min(step.keeping) == mine)
        try:
            yield rests
        finally:
            with self._changed:
                step.keeping.discard(mine)
                self._changed.notify_all()

    def unsaid(self, thread: str) -> str | None:
        """Return the last checkpoint of a graph that has ended; None: it says by itself that it rests."""
        with self._changed:
            step = self._steps.get(thread)
            return None if step is None or step.rests else step.checkpoint

    def _begin(self, thread: str, step: _Step) -> None:
        with self._changed:
            self._steps[thread] = step
            self._steps.move_to_end(thread)
            while len(self._steps) > KEPT:
                self._steps.popitem(last=False)
            self._changed.notify_all()
