"""LangGraph's checkpoints as saved states of runs: what a graph needs to go on is kept beside what it did."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)

from ledger import Actor, Ledger, Run, open_ledger
from ledger.adapters.langgraph.asynchronous import AwaitedSaver
from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.configs import (
    SEEN,
    Place,
    configurable,
    is_loop,
    is_root_loop,
    place_of,
    seen_in,
    state_name,
    thread_of,
)
from ledger.adapters.langgraph.deleting import Needs, StillNeeded
from ledger.adapters.langgraph.heads import (
    Head,
    Write,
    pending,
    read_head,
    read_parts,
    write_head,
    write_part,
)
from ledger.adapters.langgraph.history import History
from ledger.adapters.langgraph.serde import Serde, refuse_serde
from ledger.adapters.langgraph.types import KnownTypes, Types
from ledger.adapters.threads import Located, Threads, ThreadStates
from ledger.adapters.threads.copying import copy as copy_thread
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.adapters.threads.naming import line_name
from ledger.canonical import invalid
from ledger.errors import IntegrityError, RunIsClosed, StateMoved

Gate = Callable[["LedgerSaver", str, RunnableConfig], None]
"""Asked before a graph goes on with a thread; it raises where the graph must not."""

TRIES = 4


class LedgerSaver(AwaitedSaver):
    """Keeps the checkpoints of graphs in a ledger; give it to `compile(checkpointer=…)`.

        with LedgerSaver.from_url("runs.db") as saver:
            graph = builder.compile(checkpointer=saver)
            graph.invoke({"messages": […]}, {"configurable": {"thread_id": "order-17"}})

    A thread is a run, `thread#1`; its checkpoints are saved states of it. Threads and processes may share a
    ledger. The awaited methods do the same in worker threads.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        actor: Actor | None = None,
        goal: Callable[[str], str] | None = None,
        types: Types = (),
        custodian: Actor | None = None,
        gate: Gate | None = None,
        serde: Any = None,
    ) -> None:
        """Keep checkpoints in a ledger.

        Args:
            ledger: where; it stays the caller's to close.
            actor: who writes; None: whoever the ledger is opened for.
            goal: says what the run of a thread is for; None: a sentence that names the thread.
            types: classes whose values may stand in the state, beside what is data anyway, the messages of
                LangChain and what the graph's own schema names: pydantic models, dataclasses, named tuples
                and enums.
            custodian: who deletes and prunes, which no agent may; None: whoever writes.
            gate: asked before a graph goes on with a thread.
            serde: must be None: only data and registered types are stored.

        Raises:
            InvalidInput: a serializer is given, or no ledger.
        """
        refuse_serde(serde)
        if not isinstance(ledger, Ledger):
            raise invalid(
                "ledger",
                f"give the ledger that `open_ledger` returns, not {type(ledger).__name__}; its awaited "
                "methods are called on this saver too",
            )
        self.ledger = ledger
        self.threads = Threads(ledger, actor=actor, goal=goal)
        self._custodian = custodian or actor or ledger.actor
        self._gate = gate
        self._owned: Ledger | None = None
        self._use(KnownTypes())
        for name, cls in types.items() if isinstance(types, Mapping) else ((None, cls) for cls in types):
            self.register(cls, name)

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Open a ledger, and keep checkpoints in it; the saver closes it as a context manager, or by `close`.

        Args:
            url: as `open_ledger` takes it, e.g. `runs.db`, `:memory:` or `postgresql://…`.
            options: as the saver itself takes them.

        Raises:
            What `open_ledger` raises.
        """
        ledger = open_ledger(url)
        try:
            saver = cls(ledger, **options)
        except BaseException:
            ledger.close()
            raise
        saver._owned = ledger
        return saver

    def close(self) -> None:
        """Close the ledger, if the saver opened it; a second call does nothing."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- types ------------------------------------------------------------------------------------

    def register(
        self,
        cls: type,
        name: str | None = None,
        *,
        take: Callable[[Any], Any] | None = None,
        build: Callable[[Any], Any] | None = None,
    ) -> None:
        """Let values of a class stand in the state.

        Args:
            cls: a pydantic model, a dataclass, a named tuple or an enum; with `take` and `build` any class.
            name: what is stored of the class, so that it is found again after it was moved; None: its module
                and name.
            take: turns a value into data.
            build: turns what `take` gave into a value.

        Raises:
            InvalidInput: it is none of them, or the name is another class's.
        """
        self._types.register(cls, name, take=take, build=build)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> LedgerSaver:
        """Return a saver that knows the classes of a graph's schema too. LangGraph calls it as it compiles."""
        types = self._types.with_schema(extra_allowlist)
        if types is self._types:
            return self
        other = copy.copy(self)
        other._use(types)
        return other

    def _use(self, types: KnownTypes) -> None:
        self._types = types
        self._codec = GraphCodec(types)
        self._states = ThreadStates(self.threads, self._codec)
        self._needs = Needs(self._states, self._codec)
        self._history = History(self._states, self._codec, self._tuple, self._writes)
        self.serde = Serde(self._codec)

    # --- saving -----------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is durable when this returns.

        One that goes on from the latest must be the first to do so. One that goes on from a checkpoint that
        was addressed by its id, a fork and an update are branches, which may.

        Raises:
            StateMoved: somebody else went on from the latest meanwhile: load it again.
            InvalidInput: no thread is named, or something in the state is no data or of a type that is not
                registered; `path` names the place.
        """
        at = place_of(config)
        place = Place(at.thread, at.ns, checkpoint["id"])
        rest: dict[str, Any] = dict(checkpoint)
        values = rest.pop("channel_values")
        head = Head(place, at.id, rest, dict(get_checkpoint_metadata(config, metadata)))
        seen = seen_in(config, place, metadata.get("source"))
        position = self._saved(place, at, values, write_head(self._codec, head), seen)
        return place.config(
            checkpoint["id"], seen=position if SEEN in configurable(config) and seen is not None else None
        )

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint; it is durable when this returns.

        Raises:
            InvalidInput: no thread or no checkpoint is named, or a value is no data; `path` names the place.
        """
        place = place_of(config)
        if not writes:
            return
        if place.state is None:
            raise invalid(
                "checkpoint_id", "what a task wrote belongs to a checkpoint, and the config names none"
            )
        content = write_part(self._codec, writes, task_id, task_path)
        entry = self.threads.writing(place.thread)
        for attempt in range(TRIES):
            try:
                entry.run.save_state_part(place.state, state_name(task_id), content, line=line_name(place.ns))
                return
            except RunIsClosed:
                if attempt + 1 == TRIES:
                    raise
                entry = self.threads.open(place.thread)

    def _saved(
        self, place: Place, at: Place, values: Mapping[str, Any], head: bytes, seen: int | None
    ) -> int:
        assert place.state is not None
        for attempt in range(TRIES):
            try:
                _, position = self._states.save(
                    place.thread, place.state, values, head, line=place.ns, parent=at.state, seen=seen
                )
                return position
            except StateMoved:
                # It may be that too many other lines moved, or that the parent was named and is none.
                if seen is None or attempt + 1 == TRIES:
                    raise
                newest = self._states.newest(at.thread, at.ns)
                if (None if newest is None else newest.state.id) == at.state:
                    seen = 0 if newest is None else newest.seen
                elif at.state is not None and self._states.find(at.thread, at.state, at.ns) is None:
                    seen = None
                else:
                    raise
        raise AssertionError("a try ends by returning or raising")

    # --- reading ----------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint: the one whose id the configuration has, or the latest; None: there is none.

        Raises:
            UnknownType: it holds a value of a type that is not registered.
            UndecodableRecord: it was written by a later release, or cannot be read.
            IntegrityError: it is not what was written.
            InvalidInput: no thread is named.
        """
        place = place_of(config)
        if is_root_loop(config):
            self._entering(place.thread, config)
        if place.state is None:
            found = self._states.newest(place.thread, place.ns)
            return None if found is None else self._tuple(found, latest=True)
        found = self._states.find(place.thread, place.state, place.ns)
        if found is None:
            return None
        given = dict(configurable(config))
        if is_loop(config) or SEEN in given:
            given[SEEN] = False
        return self._tuple(found)._replace(config={**config, "configurable": given})

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all threads of the tenant, thread by thread, newest first.

        Args:
            config: which thread, and which line or checkpoint of it; None: all threads.
            filter: what the metadata must have, compared as values.
            before: only those before the one it names.
            limit: how many at most.

        Raises:
            What `get_tuple` raises.
        """
        yield from self._history.listed(config, filter or {}, before, limit)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what was written to delta channels, back to where each has a value; all in one walk."""
        return self._history.of_deltas(place_of(config), channels)

    def _tuple(self, found: Located, *, latest: bool = False) -> CheckpointTuple:
        unpacked = self._states.read(found, learn=latest)
        head = read_head(self._codec, unpacked.head)
        place = head.place
        assert place.id is not None
        writes = self._writes(found)
        return CheckpointTuple(
            config=place.config(place.id, seen=found.seen if latest else None),
            checkpoint={**head.checkpoint, "channel_values": unpacked.values},  # type: ignore[typeddict-item]
            metadata=head.metadata,  # type: ignore[arg-type]
            parent_config=None if not head.parent else place.config(head.parent),
            pending_writes=pending(self._codec, writes),
        )

    def _writes(self, found: Located) -> list[Write]:
        """Read what tasks wrote after a checkpoint: in its run, or in those after it where that was closed."""
        last = self.threads.last_seen(found.entry.thread) or found.entry
        entries = [found.entry]
        if last.generation > found.entry.generation:
            entries += reversed(
                [one for one in self.threads.past(last) if one.generation > found.entry.generation]
            )
        contents: list[bytes] = []
        for entry in entries:
            parts = entry.run.states.parts(found.state._replace(run=entry.run.id))
            known = entry.run.states.contents([part.digest for part in parts])
            missing = next((part for part in parts if part.digest not in known), None)
            if missing is not None:
                raise IntegrityError(
                    f"what task {missing.task!r} wrote after {found.state.id!r} of {entry.run.id!r} is gone",
                    digest=missing.digest.hex(),
                )
            contents += [known[part.digest] for part in parts]
        return read_parts(self._codec, contents)

    # --- deleting ---------------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread, and close its run: what is saved next begins anew.

        What was recorded of it stays: what was done, approved and asserted, and that it was deleted.

        Raises:
            StillOpen: effects of the thread are unsettled; nothing was deleted.
            NotForAgents: an agent deletes; see `custodian`.
        """
        delete(self.threads, thread_of(thread_id), by=self._custodian.id, actor=self._custodian)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that some runs of graphs made, in all threads; they are named in the metadata.

        Raises:
            StillNeeded: others are read with them; nothing was deleted.
            NotForAgents: an agent deletes; see `custodian`.
        """
        wanted = set(run_ids)
        if not wanted:
            return
        gone = {
            thread: names for thread in self._history.threads() if (names := self._made_by(thread, wanted))
        }
        for thread, names in gone.items():
            drop(self.threads, thread, names, by=self._custodian.id, actor=self._custodian)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the older checkpoints of threads.

        Args:
            thread_ids: the threads; those that are not there are passed over.
            strategy: `keep_latest` keeps the latest of each namespace, with those that its delta channels are
                put together from; `delete` deletes the threads.

        Raises:
            What `delete_thread` raises, and InvalidInput: there is no such strategy.
        """
        if strategy not in ("keep_latest", "delete"):
            raise invalid("strategy", f"one of keep_latest and delete, not {strategy!r:.50}")
        for thread in map(thread_of, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread)
            else:
                prune(
                    self.threads,
                    thread,
                    by=self._custodian.id,
                    actor=self._custodian,
                    needed=self._needs.needed,
                )

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints of a thread, and what tasks wrote after each, to one that has none.

        What the thread did, and what was approved in it, is not copied.

        Raises:
            InvalidInput: the target has checkpoints, or is the thread itself.
        """
        target = thread_of(target_thread_id)

        def head(state: Any, content: bytes) -> bytes:
            one = read_head(self._codec, content)
            return write_head(self._codec, one._replace(place=one.place._replace(thread=target)))

        copy_thread(self.threads, thread_of(source_thread_id), target, head=head)

    def _made_by(self, thread: str, run_ids: Collection[str]) -> builtins.list[tuple[str, str]]:
        """List the checkpoints that runs of a graph made, as line and name.

        Raises:
            StillNeeded: others of the thread are read with them.
        """
        states = list(self._states.all(thread))
        made: dict[tuple[str, int], tuple[str, str]] = {}
        for one in states:
            head = self._needs.head(one)
            if head is not None and head.metadata.get("run_id") in run_ids:
                made[one.state.run, one.state.position] = head.place.ns, one.state.id
        if made:
            kept = [one for one in states if (one.state.run, one.state.position) not in made]
            for stays, above in self._needs.needs(states, kept):
                if (above.state.run, above.state.position) in made:
                    raise StillNeeded(
                        f"checkpoint {above.state.id!r} of thread {thread!r:.100} cannot be deleted: delta channels "
                        f"of {stays.state.id!r}, which stays, are put together from it",
                        rule="still_needed",
                        position=above.state.position,
                        evidence={"thread": thread, "checkpoint": stays.state.id, "needed": above.state.id},
                    )
        return list(made.values())

    # --- versions, runs ---------------------------------------------------------------------------

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the next version of a channel: a number, or a text where another saver began with one."""
        if isinstance(current, str):
            number, dot, rest = current.partition(".")
            return f"{int(number) + 1:032}{dot}{rest}"
        return 1 if current is None else current + 1

    def thread_run(self, config: RunnableConfig) -> Run:
        """Return the present run of a thread, which is opened where there is none."""
        return self.threads.writing(place_of(config).thread).run

    def _entering(self, thread: str, config: RunnableConfig) -> None:
        """A graph is about to go on with a thread."""
        if self._gate is not None:
            self._gate(self, thread, config)
