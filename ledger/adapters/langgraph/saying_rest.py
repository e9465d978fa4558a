"""Whether a thread is said to rest with what is saved: by the loop of a graph, or by who edits or imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from langchain_core.runnables import RunnableConfig

from ledger.adapters.langgraph.configs import RESTS, Place, configurable, is_loop
from ledger.adapters.langgraph.resting import nodes_due, rests_after, saves_at_exit
from ledger.adapters.langgraph.running import entry_of, following_of
from ledger.adapters.threads import Threads


def saving(
    threads: Threads, config: RunnableConfig, place: Place, checkpoint: Mapping[str, Any], source: str | None
) -> AbstractContextManager[bool]:
    """Return what tells whether the thread rests after a checkpoint, and is around its saving."""
    if not is_loop(config):
        edits = source in ("fork", "update")
        return nullcontext(RESTS in configurable(config) or (edits and _is_at_rest(threads, place.thread)))
    following, at_exit = following_of(config, place.ns), saves_at_exit(config)
    if following is not None:
        return following.saving(checkpoint, source, at_exit=at_exit)
    rests = entry_of(config) is None and not place.ns
    return nullcontext(rests and rests_after(nodes_due(checkpoint), source, at_exit=at_exit))


def writing(
    threads: Threads,
    config: RunnableConfig,
    at: Place,
    writes: Sequence[tuple[str, Any]],
    task: str,
    path: str,
) -> AbstractContextManager[bool]:
    """Return what tells whether the thread rests after what a task wrote, and is around its saving."""
    if not is_loop(config):
        return nullcontext(_is_at_rest(threads, at.thread))
    following = following_of(config, at.ns)
    if following is None:
        return nullcontext(False)
    return following.writing(at.id, task, path, writes, at_exit=saves_at_exit(config))


def _is_at_rest(threads: Threads, thread: str) -> bool:
    """Tell whether nobody is at work: who edits a state is not, and says nothing of who is."""
    entry = threads.current(thread)
    if entry is None:
        return True
    contract = entry.run.contract
    alive = contract.alive
    return alive.rests or alive.begun or contract.resumed_position > alive.position
