"""Walking through the checkpoints of threads: lists of them, and what delta channels are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from ledger.adapters.langgraph.checkpoints import Checkpoints
from ledger.adapters.langgraph.configs import Place, configurable, place_of, state_name
from ledger.adapters.langgraph.heads import Head
from ledger.adapters.threads import Entry, Located
from ledger.adapters.threads.naming import line_name, thread_name
from ledger.application.query import RunQuery
from ledger.errors import IntegrityError, UndecodableRecord

RUNS = 200
"""Runs a page."""
BATCH = 32
"""Ancestors that are read at once."""


class Asked(NamedTuple):
    """Which checkpoints to list."""

    config: Mapping[str, Any] | None = None
    filter: Mapping[str, Any] | None = None
    before: Mapping[str, Any] | None = None
    limit: int | None = None


def listed(checkpoints: Checkpoints, asked: Asked) -> Iterator[CheckpointTuple]:
    """Yield the checkpoints that match, thread by thread, the newest of each first."""
    if asked.limit is not None and asked.limit <= 0:
        return
    threads = threads_of(checkpoints) if asked.config is None else iter((place_of(asked.config).thread,))
    found = (one for thread in threads for one in _of_thread(checkpoints, thread, asked))
    yield from islice(found, asked.limit)


def threads_of(checkpoints: Checkpoints) -> Iterator[str]:
    """Yield the threads that may have checkpoints, of the whole tenant."""
    ledger = checkpoints.threads.ledger
    after, last = None, None
    while True:
        page = ledger.runs(RunQuery(after=after, limit=RUNS))
        for summary in page.runs:
            name, mark, generation = summary.run.rpartition("#")
            if mark and generation.isdecimal() and name != last:
                thread = summary.thread
                if thread is None or thread_name(thread) != name:
                    thread = _thread_of(checkpoints, summary.run)
                if thread is not None:
                    last = name
                    yield thread
        after = page.next
        if after is None:
            return


def deltas(checkpoints: Checkpoints, at: Place, channels: Sequence[str]) -> dict[str, DeltaChannelHistory]:
    """Read what was written to channels before a checkpoint, back to where each has a value."""
    written: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    ancestors = _ancestors(checkpoints, at)
    while (wanted := written.keys() - seeds.keys()) and (batch := list(islice(ancestors, BATCH))):
        for values, writes in checkpoints.written(batch, wanted):
            for write in reversed(writes):
                if write.channel in wanted:
                    value = checkpoints.codec.loads(write.value)
                    written[write.channel].append((write.task, write.channel, value))
            seeds.update((channel, values[channel]) for channel in wanted & values.keys())
            wanted -= values.keys()
            if not wanted:
                break
    result: dict[str, DeltaChannelHistory] = {}
    for channel in channels:
        entry: DeltaChannelHistory = {"writes": written[channel][::-1]}
        if channel in seeds:
            entry["seed"] = seeds[channel]
        result[channel] = entry
    return result


def _ancestors(checkpoints: Checkpoints, at: Place) -> Iterator[Located]:
    """Yield the parent of a checkpoint, its parent, and so on.

    A parent stands before its child, so that one walk back through the runs of the thread finds all of them.
    """
    found = checkpoints.newest(at) if at.state is None else checkpoints.find(at)
    if found is None:
        return
    parent, line, before = found.state.parent, found.state.line, found.state.position
    for entry in checkpoints.threads.past(found.entry):
        upto = before if entry is found.entry else None
        for state in entry.run.states.all(before=upto):
            if parent is None:
                return
            if state.line == line and state.id == parent:
                parent = state.parent
                yield Located(entry, state, found.seen, found.dropped)


def _of_thread(checkpoints: Checkpoints, thread: str, asked: Asked) -> Iterator[CheckpointTuple]:
    given = configurable(asked.config)
    ns, id = given.get("checkpoint_ns"), given.get("checkpoint_id")
    line, name = line_name(ns or ""), state_name(id) if id else None
    earlier = _before(checkpoints, thread, ns, asked.before)
    for found in checkpoints.states.all(thread):
        # Most of what is not asked for is passed over without being read.
        if ns is not None and found.state.line != line:
            continue
        if name is not None and found.state.id != name:
            continue
        if earlier(found) and (not asked.filter or _has(checkpoints.head(found), asked.filter)):
            one = checkpoints.load_own(found)
            if one is not None:
                yield one


def _has(head: Head | None, filter: Mapping[str, Any]) -> bool:
    return head is not None and all(head.metadata.get(key) == wanted for key, wanted in filter.items())


def _before(
    checkpoints: Checkpoints, thread: str, ns: str | None, before: Mapping[str, Any] | None
) -> Callable[[Located], bool]:
    """Tell what comes before a checkpoint: by where it stands, or by its id if it is not in the thread.

    A subgraph that is replayed asks for what comes before a checkpoint of the graph above it.
    """
    given = configurable(before)
    id = given.get("checkpoint_id")
    if not id:
        return lambda found: True
    named = given.get("checkpoint_ns")
    lines = [named if named is not None else ns or ""]
    while lines[-1]:
        lines.append(lines[-1].rpartition("|")[0])
    for line in lines:
        bound = checkpoints.states.find(thread, state_name(id), line)
        if bound is not None:
            place = _position(bound)
            return lambda found: _position(found) < place
    return lambda found: _id(checkpoints.head(found)) < id


def _position(found: Located) -> tuple[int, int]:
    return found.entry.generation, found.state.position


def _id(head: Head | None) -> str:
    return (head.place.id if head is not None else None) or ""


def _thread_of(checkpoints: Checkpoints, run: str) -> str | None:
    """Read which thread a run is of where its name was cut; None: it has no checkpoints that can be read."""
    handle = checkpoints.threads.ledger.run(run)
    for state in handle.states.all():
        with suppress(IntegrityError, UndecodableRecord):
            head = checkpoints.head(Located(Entry(run, 1, handle), state, 0, None))
            if head is not None:
                return head.place.thread
    return None
