"""Whether a graph rests: it has come to its end, or waits for somebody, and none of its nodes is at work.

What a graph saves tells it. In doubt it does not rest: another program then waits for a while before it goes
on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DURABILITY = "__pregel_durability"
SENDS = "__pregel_tasks"
START = "__start__"
BRANCH = "branch:to:"
JOIN = "join:"
RESUME = "__resume__"
ERROR = "__error__"
STOPS = frozenset(("__interrupt__", ERROR))
"""What a node leaves that asked somebody, or failed."""
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


def rests_after(due: int | None, source: Any, *, at_exit: bool) -> bool:
    """Tell whether a graph rests after a checkpoint, from which so many tasks go on."""
    return at_exit or (source == "loop" and due == 0)


def _is_own(channel: str) -> bool:
    return channel in (SENDS, START) or channel.startswith((BRANCH, JOIN))
