"""LangGraph's checkpoints in a ledger: what a graph goes on with is kept beside what it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
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
from ledger.adapters.bound import Bound
from ledger.adapters.langgraph.configs import (
    SEEN,
    Place,
    configurable,
    is_loop,
    place_of,
    seen_in,
    thread_of,
)
from ledger.adapters.langgraph.deleting import made_by, needed
from ledger.adapters.langgraph.following import Following, Resting
from ledger.adapters.langgraph.heads import Head, read_head, write_head
from ledger.adapters.langgraph.history import Asked, deltas, listed
from ledger.adapters.langgraph.interrupts import left
from ledger.adapters.langgraph.leaving import at_end, rest
from ledger.adapters.langgraph.loops import loop_of, own_configurable
from ledger.adapters.langgraph.resuming import STRICT, UNFINISHED, GateChoice, Gatekeeper, opening_of
from ledger.adapters.langgraph.running import ENTERED, Entered, Faces, entry_of
from ledger.adapters.langgraph.saying_rest import saving, writing
from ledger.adapters.langgraph.serde import refuse_serde
from ledger.adapters.langgraph.typed import TypedSaver
from ledger.adapters.langgraph.types import Types
from ledger.adapters.threads import Located, Threads
from ledger.adapters.threads.copying import copy as copy_thread
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.application.saved_states import SavedState
from ledger.canonical import invalid


class LedgerSaver(Bound, TypedSaver):
    """Keeps the checkpoints of graphs in a ledger; give it to `compile(checkpointer=…)`.

        with LedgerSaver.from_url("runs.db") as saver:
            graph = builder.compile(checkpointer=saver)
            graph.invoke({"messages": […]}, {"configurable": {"thread_id": "order-17"}})

    A thread is a run, `thread#1`; its checkpoints are saved states of it. Threads and processes may share a
    ledger. The awaited methods do the same in worker threads.

    A thread is named by a text; what is none is the thread that `str` makes of it.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        actor: Actor | None = None,
        custodian: Actor | None = None,
        gate: GateChoice = None,
        goal: Callable[[str], str] | None = None,
        serde: None = None,
        types: Types = (),
    ) -> None:
        """Keep checkpoints in a ledger.

        Args:
            ledger: where; it stays the caller's to close.
            actor: who writes; None: whoever the ledger is opened for.
            custodian: who deletes and prunes, and by whose decision the gate is milder, which no agent may;
                None: whoever writes.
            gate: how the gate is asked before a graph goes on with a thread, or "off".
            goal: says what the run of a thread is for; None: a sentence that names the thread.
            serde: must be None: only data and registered types are stored.
            types: classes whose values may stand in the state, beside what is data anyway and the messages of
                LangChain: pydantic models, dataclasses, named tuples and enums, with what their fields are
                of; a graph, or what is compiled to one, stands for all classes in its schemas. Or such
                classes by the name that is stored of each.

        Raises:
            InvalidInput: a serializer is given, no ledger, a class that cannot be stored, or an agent's gate
                that is milder by nobody's decision.
        """
        refuse_serde(serde)
        if not isinstance(ledger, Ledger):
            raise invalid(
                "ledger",
                f"give what `open_ledger` returns, not {type(ledger).__name__}: a saver has awaited methods",
            )
        for role, who in (("actor", actor), ("custodian", custodian)):
            if who is not None and not isinstance(who, Actor):
                raise invalid(role, f'give an Actor, e.g. Actor("agent:payments"), not {who!r:.50}')
        self.ledger = ledger
        self.threads = Threads(ledger, actor=actor, goal=goal, **opening_of(gate))
        self.faces = Faces(ledger)
        self._custodian = custodian or actor or ledger.actor
        self._gatekeeper = Gatekeeper(ledger, self.threads, gate, self._custodian)
        self._resting = Resting()
        self._owned = False
        self._begin(types)

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """Open a ledger, and keep checkpoints in it; leaving the saver's context, or `close`, closes it.

        Args:
            url: as `open_ledger` takes it: the path of a file (also `sqlite:///runs.db`, with four slashes an
                absolute one), `:memory:` or `postgresql://user@host/database`.
            options: as the saver itself takes them.

        Raises:
            What `open_ledger` raises.
        """
        if isinstance(url, str) and url.startswith("files:"):
            raise invalid("url", "a folder of files is for a Checkpointer: a graph needs a ledger")
        ledger = open_ledger(url)
        try:
            saver = cls(ledger, **options)
        except BaseException:
            ledger.close()
            raise
        saver._owned = True
        return saver

    @classmethod
    def from_conn_string(cls, conn_string: str, **options: Any) -> Self:
        """Open a ledger as `from_url` does, by the name that other savers of LangGraph have for it."""
        return cls.from_url(conn_string, **options)

    def close(self) -> None:
        """Let go of what the saver holds, and close the ledger if the saver opened it."""
        self.faces.close()
        if self._owned:
            self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        was addressed by its id is a branch, and so are forks and updates: they go on from any.

        Raises:
            StateMoved: somebody else went on from the latest meanwhile: load it again.
            Superseded: the graph that saves was overtaken by another, which goes on with the thread.
            RunIsClosed: the thread was restarted since the graph that saves entered it.
            InvalidInput: no thread is named, or something in the state is no data or of a type that is not
                registered; `path` names the place.
        """
        at = place_of(config)
        place = Place(at.thread, at.ns, checkpoint["id"])
        rest: dict[str, Any] = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        carried = self._checkpoints.carried(at, checkpoint, metadata, new_versions)
        values = {**checkpoint["channel_values"], **carried}
        head = Head(place, at.id, rest, dict(get_checkpoint_metadata(config, metadata)))
        seen = seen_in(config, place, metadata.get("source"))
        with saving(self.threads, config, place, checkpoint, metadata.get("source")) as rests:
            position = self._checkpoints.save(at, head, values, seen, entry_of(config), rests=rests)
        marked = seen is not None and SEEN in configurable(config)
        return place.config(checkpoint["id"], seen=position if marked else None)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint; it is durable when this returns.

        Raises:
            InvalidInput: no thread or no checkpoint is named, or a value is no data; `path` names the place.
        """
        if writes:
            at = place_of(config)
            with writing(self.threads, config, at, writes, task_id, task_path) as rests:
                self._checkpoints.keep(at, writes, task_id, task_path, entry_of(config), rests=rests)
            self._gatekeeper.wrote(at.thread, {channel for channel, _ in writes})

    def _follow(self, entered: Entered, config: RunnableConfig, loop: Any) -> Following:
        """Follow the loop that has entered a thread, until it has ended."""
        own = None if loop is None else own_configurable(loop)
        if own is not None:
            own.update((key, said) for key, said in configurable(config).items() if key in (ENTERED, STRICT))
        is_told = at_end(loop, partial(self._rest, entered))
        entered.following = self._resting.follow(entered.entry, entered.line, loop if is_told else None)
        return entered.following

    def _rest(self, entered: Entered) -> None:
        """Say that a thread rests whose loop has ended, where that is so."""
        entered.ended, following = True, entered.following
        checkpoint = None if following is None else following.ended()
        if checkpoint is not None:
            rest(entered.entry, entered.line, checkpoint, self._codec)
        elif following is not None and following.leaves_work():
            # Who goes on here enters anew, so that nothing of this is heard any more.
            self._gatekeeper.wrote(entered.thread, UNFINISHED)

    # --- reading ----------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint: the one whose id the configuration has, or the latest; None: there is none.

        Where a graph that begins to run asks, the gate is asked first.

        Raises:
            UnknownType: it holds a value of a type that is not registered.
            UndecodableRecord: it was written by a later release, or cannot be read.
            IntegrityError: it is not what was written.
            InvalidInput: no thread is named.
            RunIsHeld: the gate does not let the thread go on.
        """
        return self._load(config, loop_of(config))

    def _load(self, config: RunnableConfig, loop: Any) -> CheckpointTuple | None:
        """Load a checkpoint as `get_tuple` does; `loop` is what `loop_of` finds."""
        place = place_of(config)
        entering = self._gatekeeper.is_entering(config)
        entered = self._gatekeeper.enter(config) if entering else None
        following = None if entered is None else self._follow(entered, config, loop)
        if place.id is None:
            found = self._checkpoints.newest(place)
            if found is None:
                return None
            latest = self._checkpoints.load(found, latest=True)
            if following is not None:
                newest = latest.checkpoint
                following.loaded(newest, latest.pending_writes or (), newest["id"])
            return latest if entered is None else left(entered, latest, loop)
        found = self._checkpoints.find(place)
        if found is None:
            return None
        given = dict(configurable(config))
        if is_loop(config) or SEEN in given:
            given[SEEN] = False
        addressed = self._checkpoints.load(found)
        if following is not None:  # its tasks run again, whatever they wrote
            following.loaded(addressed.checkpoint, (), self._newest_id(place))
        addressed = addressed._replace(config={**config, "configurable": given})
        return addressed if entered is None else left(entered, addressed, loop)

    def _newest_id(self, place: Place) -> str | None:
        found = self._checkpoints.newest(place)
        head = None if found is None else self._checkpoints.head(found)
        return None if head is None else head.place.id

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all threads of the tenant, thread by thread, newest first.

        A few are read at once: one that is given up just then may still be among them.

        Args:
            config: which thread, and which namespace or checkpoint of it; None: all threads.
            filter: what the metadata must have, compared as values.
            before: only those before the one it names.
            limit: how many at most.

        Raises:
            What `get_tuple` raises, but for the gate.
        """
        return listed(self._checkpoints, Asked(config, filter, before, limit))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what was written to delta channels, back to where each has a value; all in one walk."""
        return deltas(self._checkpoints, place_of(config), channels) if channels else {}

    # --- deleting, copying ------------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread, and close its run: what is saved next begins anew.

        What was recorded of it stays: what was done, approved and asserted, and that it was deleted.

        Raises:
            StillOpen: effects of the thread are unsettled; nothing was deleted.
            NotForAgents: an agent deletes: name a `custodian`.
        """
        delete(self.threads, thread_of(thread_id), by=self._custodian.id, actor=self._custodian)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that some runs of graphs made, in all threads: `run_id` in the metadata.

        Raises:
            StillNeeded: others are read with them; nothing was deleted.
            NotForAgents: an agent deletes: name a `custodian`.
            UndecodableRecord: of some threads it cannot be told, since a checkpoint of theirs cannot be read;
                in all others they were deleted.
        """
        if not run_ids:
            return
        made = made_by(self._checkpoints, frozenset(run_ids))
        for thread, names in made.names.items():
            drop(self.threads, thread, names, by=self._custodian.id, actor=self._custodian)
        made.check_read()

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the older checkpoints of threads.

        Args:
            thread_ids: the threads; those that are not there are passed over.
            strategy: `keep_latest` keeps the latest of each namespace, with those that its delta channels are
                made of; `delete` deletes the threads.

        Raises:
            What `delete_thread` raises, and InvalidInput: there is no such strategy.
        """
        if strategy not in ("keep_latest", "delete"):
            raise invalid("strategy", f"one of keep_latest and delete, not {strategy!r:.50}")

        def others(states: Sequence[Located], kept: Collection[Located]) -> Iterator[Located]:
            return (above for _, above in needed(self._checkpoints, states, kept))

        for thread in map(thread_of, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread)
            else:
                prune(self.threads, thread, by=self._custodian.id, actor=self._custodian, needed=others)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints of a thread, and what tasks wrote after each, to one that has none.

        What the thread did, and what was approved in it, is not copied.

        Raises:
            InvalidInput: the target has checkpoints, or is the thread itself.
        """
        target = thread_of(target_thread_id)

        def head(state: SavedState, content: bytes) -> bytes:
            one = read_head(self._codec, content)
            return write_head(self._codec, one._replace(place=one.place._replace(thread=target)))

        copy_thread(self.threads, thread_of(source_thread_id), target, head=head)

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

    def restart(
        self, thread_id: str, *, reason: str, by: str, goal: str | None = None, actor: Actor | None = None
    ) -> Run:
        """Have a thread succeeded by its next run, where its graph begins anew; see `Ledger.restart`.

        It is for people and services: what the run may still do and owes goes over, its checkpoints do not.

        Args:
            thread_id: the thread.
            reason: why it cannot go on as it is.
            by: who decided it.
            goal: another goal; None: the same.
            actor: who writes, no agent; None: the custodian.

        Raises:
            NotFound: the thread was never begun.
            RunIsClosed: its run has ended.
            NotForAgents: an agent asks.
        """
        return self._gatekeeper.restart(
            thread_of(thread_id), reason=reason, by=by, goal=goal, actor=actor or self._custodian
        )
