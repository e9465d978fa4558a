"""Walking through the checkpoints of threads: lists of them, and what delta channels are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from ledger.adapters.langgraph.checkpoints import TRIES, Checkpoints, delta_channels, gone
from ledger.adapters.langgraph.configs import Place, configurable, place_of, state_name
from ledger.adapters.langgraph.heads import Head
from ledger.adapters.threads import Entry, Located
from ledger.adapters.threads.naming import line_name, named_in, thread_name
from ledger.application.query import RunQuery
from ledger.errors import IntegrityError, StateMoved, UndecodableRecord

RUNS = 200
"""Runs a page."""
BATCH = 32
"""Ancestors that are read at once, to begin with: most often a value is near. Then ever more are."""
MOST = 64
"""Ancestors that are read at once at most."""
PAGE = 4
"""Checkpoints of a list that are read at once, to begin with."""
PAGES = 32
"""Checkpoints of a list that are read at once at most."""


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
            name = named_in(summary.run)
            if name is not None and name != last:
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
    """Read what was written to channels before a checkpoint, back to where each has a value.

    Raises:
        UndecodableRecord: a channel is made of what was written after a checkpoint that was given up.
        StateMoved: the checkpoint itself was given up, or those that it is made of just now.
    """
    written: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    found = checkpoints.newest(at) if at.state is None else checkpoints.find(at)
    if found is None and checkpoints.was_here(at):
        raise gone(at, "of what its channels are made nobody can tell")
    ancestors = iter(()) if found is None else _ancestors(checkpoints, found)
    last, size = found, BATCH
    while (wanted := written.keys() - seeds.keys()) and (batch := list(islice(ancestors, size))):
        size = min(2 * size, MOST)
        for values, writes in checkpoints.written(batch, wanted):
            for write in reversed(writes):
                if write.channel in wanted:
                    value = checkpoints.codec.loads(write.value)
                    written[write.channel].append((write.task, write.channel, value))
            seeds.update((channel, values[channel]) for channel in wanted & values.keys())
            wanted -= values.keys()
            if not wanted:
                break
        last = batch[-1]
    if found is not None and last is not None and wanted:
        _check_whole(checkpoints, at, found, last, wanted)
    result: dict[str, DeltaChannelHistory] = {}
    for channel in channels:
        entry: DeltaChannelHistory = {"writes": written[channel][::-1]}
        if channel in seeds:
            entry["seed"] = seeds[channel]
        result[channel] = entry
    return result


def _check_whole(
    checkpoints: Checkpoints, at: Place, found: Located, last: Located, wanted: Collection[str]
) -> None:
    """Refuse a channel that has no value back to a checkpoint whose parent was given up.

    One that was never written to has none anywhere, and what goes on from a checkpoint that was never here
    begins with it.
    """
    parent = last.state.parent
    if parent is None or not checkpoints.states.was_here(at.thread, parent, at.ns):
        return
    head = checkpoints.head(found)
    lost = sorted(delta_channels(head) & set(wanted)) if head is not None else []
    if lost:
        raise UndecodableRecord(
            f"channel {lost[0]!r:.100} of checkpoint {found.state.id!r} is made of what was written after "
            f"{parent!r}, which was given up: load the latest, or delete this one too",
            thread=at.thread,
            checkpoint=found.state.id,
            missing=parent,
            channels=lost,
        )


def _ancestors(checkpoints: Checkpoints, found: Located) -> Iterator[Located]:
    """Yield the parent of a checkpoint, its parent, and so on.

    A parent stands before its child, so that one walk back through the runs of the thread finds all of them.
    """
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
    # Most of what is not asked for is passed over without being read.
    asked_for = (
        found
        for found in checkpoints.states.all(thread)
        if (ns is None or found.state.line == line) and (name is None or found.state.id == name)
    )
    for page in pages(asked_for, min(asked.limit or PAGE, PAGE)):
        for found in checkpoints.states.together(page, parts=not asked.filter):
            one = _loaded(checkpoints, found, earlier, asked.filter)
            if one is not None:
                yield one


def pages(found: Iterator[Located], size: int) -> Iterator[list[Located]]:
    """Yield what is read at once: ever more, up to a limit."""
    while page := list(islice(found, size)):
        yield page
        size = min(2 * size, PAGES)


def _loaded(
    checkpoints: Checkpoints,
    found: Located,
    earlier: Callable[[Located], bool],
    filter: Mapping[str, Any] | None,
) -> CheckpointTuple | None:
    """Load a checkpoint if it matches; one that is given up meanwhile is as good as given up before."""
    for attempt in range(TRIES):
        try:
            if earlier(found) and (not filter or _has(checkpoints.head(found), filter)):
                return checkpoints.load_own(found)
            return None
        except StateMoved:
            again = found.entry.run.states.find(found.state.id, found.state.line)
            if again.state is None or again.state.position != found.state.position:
                return None
            if attempt + 1 == TRIES:
                raise
            found = found._replace(dropped=again.dropped, parts=None, contents=None)
    raise AssertionError("a try ends by returning or raising")


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
