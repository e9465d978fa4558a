"""Walking through the checkpoints of threads: lists of them, and what delta channels are put together from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple, DeltaChannelHistory, PendingWrite

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.configs import Place, configurable, place_of, state_name
from ledger.adapters.langgraph.heads import Head, Write, is_head, read_head
from ledger.adapters.threads import Entry, Located, ThreadStates
from ledger.application.query import RunQuery

RUNS = 200


class Bare(NamedTuple):
    """A checkpoint of which only the head and the names of its values were read."""

    found: Located
    head: Head


class History:
    """Reads more than one checkpoint."""

    def __init__(
        self,
        states: ThreadStates,
        codec: GraphCodec,
        load: Callable[[Located], CheckpointTuple],
        writes: Callable[[Located], list[Write]],
    ) -> None:
        self._states = states
        self._codec = codec
        self._load = load
        self._writes = writes

    # --- lists ------------------------------------------------------------------------------------

    def listed(
        self,
        config: Mapping[str, Any] | None,
        filter: Mapping[str, Any],
        before: Mapping[str, Any] | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints that match, thread by thread, the newest of each first."""
        if limit is not None and limit <= 0:
            return
        threads = self.threads() if config is None else (place_of(config).thread,)
        matching = (one for thread in threads for one in self._of_thread(thread, config, filter, before))
        yield from map(self._load, islice((one.found for one in matching), limit))

    def threads(self) -> Iterator[str]:
        """Yield the threads that have checkpoints, of the whole tenant."""
        after, last = None, None
        while True:
            page = self._states.threads.ledger.runs(RunQuery(after=after, limit=RUNS))
            for summary in page.runs:
                name, mark, generation = summary.run.rpartition("#")
                if mark and generation.isdecimal() and name != last:
                    last = name
                    thread = self._thread_of(summary.run)
                    if thread is not None:
                        yield thread
            after = page.next
            if after is None:
                return

    def bare(self, found: Located) -> Bare | None:
        """Read the head of a state; None: it is none of LangGraph's."""
        head = self._states.read(found, names=()).head
        return Bare(found, read_head(self._codec, head)) if is_head(head) else None

    def _of_thread(
        self,
        thread: str,
        config: Mapping[str, Any] | None,
        filter: Mapping[str, Any],
        before: Mapping[str, Any] | None,
    ) -> Iterator[Bare]:
        given = configurable(config)
        ns, id = given.get("checkpoint_ns"), given.get("checkpoint_id")
        earlier = self._before(thread, ns, before)
        for found in self._states.all(thread):
            if (found.state.line or "") and ns == "":
                continue
            one = self.bare(found)
            if one is None or not earlier(one):
                continue
            place, metadata = one.head.place, one.head.metadata
            if (ns is None or place.ns == ns) and (not id or place.id == id):
                if all(metadata.get(key) == wanted for key, wanted in filter.items()):
                    yield one

    def _before(
        self, thread: str, ns: str | None, before: Mapping[str, Any] | None
    ) -> Callable[[Bare], bool]:
        """Tell what comes before a checkpoint: by where it stands, or by its id where it is not in the thread.

        A subgraph that is replayed asks for what comes before a checkpoint of the graph above it.
        """
        given = configurable(before)
        id = given.get("checkpoint_id")
        if not id:
            return lambda one: True
        named = given.get("checkpoint_ns")
        lines = [named if named is not None else ns or ""]
        while lines[-1]:
            lines.append(lines[-1].rpartition("|")[0])
        for line in lines:
            found = self._states.find(thread, state_name(id), line)
            if found is not None:
                bound = (found.entry.generation, found.state.position)
                return lambda one: (one.found.entry.generation, one.found.state.position) < bound
        return lambda one: (one.head.place.id or "") < id

    def _thread_of(self, run: str) -> str | None:
        """Read which thread a run is of: its name may have been cut."""
        handle = self._states.threads.ledger.run(run)
        for state in handle.states.all():
            one = self.bare(Located(Entry(run, 1, handle), state, 0, None))
            return None if one is None else one.head.place.thread
        return None

    # --- delta channels ---------------------------------------------------------------------------

    def of_deltas(self, at: Place, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        """Read what was written to channels before a checkpoint, back to where each has a value."""
        written: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        for found in self._ancestors(at):
            wanted = written.keys() - seeds.keys()
            if not wanted:
                break
            values = self._states.read(found, names=wanted).values
            for write in reversed(self._writes(found)):
                if write.channel in wanted:
                    value = self._codec.loads(write.value)
                    written[write.channel].append((write.task, write.channel, value))
            seeds.update(values)
        result: dict[str, DeltaChannelHistory] = {}
        for channel in channels:
            entry: DeltaChannelHistory = {"writes": written[channel][::-1]}
            if channel in seeds:
                entry["seed"] = seeds[channel]
            result[channel] = entry
        return result

    def _ancestors(self, at: Place) -> Iterator[Located]:
        """Yield the parent of a checkpoint, its parent, and so on."""
        if at.state is None:
            found = self._states.newest(at.thread, at.ns)
        else:
            found = self._states.find(at.thread, at.state, at.ns)
        met: set[str] = set()
        while found is not None and found.state.parent is not None and found.state.parent not in met:
            met.add(found.state.parent)
            found = self._states.find(at.thread, found.state.parent, at.ns)
            if found is not None:
                yield found
