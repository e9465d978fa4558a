"""The `Checkpointer`: save the state of a conversation at the boundaries of its loop, and load it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ledger import Actor, Ledger, Resumption, Run, Runtime
from ledger.adapters.checkpointer.backend import Cache
from ledger.adapters.checkpointer.boundaries import Boundary
from ledger.adapters.checkpointer.data import Format
from ledger.adapters.checkpointer.engine import Engine
from ledger.adapters.checkpointer.in_ledger import Idle, LedgerBackend
from ledger.adapters.checkpointer.messages import Message
from ledger.adapters.checkpointer.opening import Surroundings, open_engine
from ledger.adapters.checkpointer.options import Options
from ledger.adapters.checkpointer.seen import SEEN, Parent, Seen
from ledger.adapters.checkpointer.streaming import Streaming
from ledger.adapters.checkpointer.values import Checkpoint, Loaded
from ledger.canonical import invalid
from ledger.stores.stamps import Clock

DELETED = "the thread was deleted"


class Checkpointer(Streaming):
    """Saves the states of conversations, each on the one before. Threads of a program may share it.

    Use it as a context manager, or call `close`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._seen = Seen()

    @classmethod
    def open(  # noqa: PLR0913 - each is an option
        cls,
        where: str | Path | Ledger,
        *,
        every: int = 100,
        format: Format = "json",
        messages: str | None = "messages",
        window: int | None = None,
        cache: str | Cache | None = None,
        actor: Actor | None = None,
        custodian: Actor | None = None,
        goal: Callable[[str], str] | None = None,
        clock: Clock | None = None,
        ids: Callable[[], str] | None = None,
        busy_seconds: float = 10.0,
    ) -> Self:
        """Open the place where states are kept.

        Args:
            where: a ledger that is open, which stays open; the address of one (a file path for SQLite,
                `postgresql://…`, `:memory:`); or `files:PATH`, a folder of files without a ledger.
            every: each first of so many checkpoints of a thread is whole, and rests on no other; the others
                hold what is new. None is ever left out.
            format: `json`, or `msgpack`, which has bytes. Each value says which it is, so that a thread may
                go on in another one.
            messages: the field of a state that has its messages, each a dict with an `id` that stays the
                same; None: there is none.
            window: how many messages stay in the state, the newest; the others move to the archive.
                None: all stay.
            cache: the address of a Redis that may forget and die, `redis://host:6379/0`, or a cache.
            actor: who writes; None: whoever the ledger is opened for. Nobody with files.
            custodian: who deletes, and lets the gate ask less, a person or a service, since no agent may;
                None: whoever writes. Nobody with files.
            goal: says what the run of a thread is for, given the thread.
            clock: returns the present moment in UTC. A ledger that is open has its own.
            ids: returns an id that nobody else has. A ledger that is open has its own.
            busy_seconds: how long to wait for others who write.

        Raises:
            InvalidInput: an option is none; `path` names it. Or what it needs is not installed.
            StoreUnavailable: the place cannot be opened.
        """
        options = Options(every, format, messages, window)
        around = Surroundings(actor, custodian, goal, clock, ids, busy_seconds)
        return cls(open_engine(where, options, cache, around))

    # --- saving -----------------------------------------------------------------------------------

    def save(
        self,
        thread_id: str,
        state: dict[str, Any],
        *,
        at: Boundary | None = None,
        parent: str | Parent | None = SEEN,
    ) -> str:
        """Save the state of a conversation; it is durable when this returns the id of the checkpoint.

        Args:
            thread_id: the conversation.
            state: plain data by name: what is loaded is equal, and of equal types, but for messages that
                moved to the archive.
            at: where in its loop the program stands; nowhere else is a state whole.
            parent: the checkpoint that it goes on from; None: there is none. Where nothing is said it is the
                one that this thread of the program, or this task, has loaded or saved last.

        Raises:
            StateMoved: the parent is not the newest checkpoint: load that, and decide again.
            InvalidInput: part of the state is no data, or `at` no boundary; `path` names it.
            MidStream: tokens stream in this thread, as this program was told.
            CorruptCheckpoint: the parent cannot be read, and was not loaded with `fallback=True` here.
            Superseded: the run of the thread was resumed elsewhere.
            StoreUnavailable: whether it was saved is not known: load.
        """
        id = self._engine.save(thread_id, state, at, self._seen.parent(thread_id, parent))
        self._seen.note(thread_id, id)
        return id

    def summarise(
        self,
        thread_id: str,
        text: str,
        *,
        through: str,
        at: Boundary | None = None,
        parent: str | Parent | None = SEEN,
    ) -> str:
        """Let a summary stand for the messages up to one, which move to the archive; save that.

        Raises:
            InvalidInput: no message of the newest state has the id `through`, or an argument is malformed.
            CheckpointNotFound: nothing was saved in this thread.
            and what `save` raises.
        """
        seen = self._seen.parent(thread_id, parent)
        id = self._engine.summarise(thread_id, text, through, at, seen)
        self._seen.note(thread_id, id)
        return id

    # --- loading ----------------------------------------------------------------------------------

    def load(self, thread_id: str, *, fallback: bool = False) -> Loaded | None:
        """Load the newest state of a conversation; None where nothing was saved.

        Args:
            thread_id: the conversation.
            fallback: where the newest cannot be read, load the newest before it that can: `fell_back_from`
                then says so. What is saved next goes on from the damaged one, and rests on nothing before.

        Raises:
            CorruptCheckpoint: the newest cannot be read; it names both, and loads neither.
            NewerFormat: a later release wrote it.
            StoreUnavailable: the place cannot be read now.
        """
        loaded = self._engine.load(thread_id, fallback=fallback)
        self._seen.note(thread_id, newest_of(loaded))
        return loaded

    def load_checkpoint(self, thread_id: str, checkpoint_id: str) -> Loaded:
        """Load a checkpoint by its id. What is saved on it is refused unless it is the newest.

        Raises:
            CheckpointNotFound: the thread has none of this id.
            InvalidInput: the id is no text.
            CorruptCheckpoint, NewerFormat: it cannot be read.
        """
        loaded = self._engine.load_checkpoint(thread_id, checkpoint_id)
        self._seen.note(thread_id, checkpoint_id)
        return loaded

    def list_checkpoints(
        self, thread_id: str, *, before: str | None = None, limit: int | None = None
    ) -> list[Checkpoint]:
        """List the checkpoints of a conversation, the newest first, without their states.

        Args:
            thread_id: the conversation.
            before: only those that were saved before this one.
            limit: so many at most.

        Raises:
            NewerFormat: a later release wrote one of them.
        """
        return self._engine.checkpoints(thread_id, before=before, limit=limit)

    def archive(self, thread_id: str, *, page: int = 100) -> Iterator[list[Message]]:
        """Yield the messages that left the state, a page at a time: the newest page first, each in order.

        Raises:
            CorruptCheckpoint, NewerFormat: the newest checkpoint, or what it rests on, cannot be read.
        """
        return self._engine.archive(thread_id, page=page)

    def delete(self, thread_id: str, *, by: str | None = None, reason: str = DELETED) -> bool:
        """Delete the states of a conversation, and its archive; tell whether there were any.

        In a ledger its run is closed, and what it did and may do stays on record.

        Args:
            thread_id: the conversation.
            by: who decided it, `kind:name`, no agent; None: the custodian.
            reason: why, in words.

        Raises:
            NotForAgents: an agent would delete it: name a `custodian` where the checkpointer is opened.
            StillOpen: effects of its run are unsettled.
            StoreUnavailable: on PostgreSQL, with the reason `no_privilege`: only the ledger's owner may.
        """
        deleted = self._engine.delete(thread_id, by=by, reason=reason)
        self._seen.note(thread_id, None)
        return deleted

    # --- the run ----------------------------------------------------------------------------------

    def run(self, thread_id: str) -> Run:
        """Return the run that a conversation is, opened where there is none. It is joined, never resumed.

        Raises:
            InvalidInput: states are kept in files, which have no runs.
        """
        return ledger_backend(self._engine).threads.open(thread_id).run

    def resume(
        self,
        thread_id: str,
        *,
        runtime: Runtime | None = None,
        take_over: bool = False,
        idle_seconds: Idle = "by_goal",
    ) -> Resumption[Run]:
        """Ask the gate whether a conversation may go on, and save on its new incarnation where it may.

        A state tells where a program stood, and not whether the goal still holds, who may do what, or what
        was done and never heard of. The gate does; arguments and errors are those of `Ledger.resume`.

        Args:
            thread_id: the conversation.
            runtime: the fingerprint of what would go on.
            take_over: go on although somebody else is at work on it; not for agents.
            idle_seconds: how long a conversation that nobody stopped may lie still until somebody has to
                confirm its goal; None: for ever. `by_goal`: a day where `goal` was given to `open`, or the
                goal was revised, and for ever where it only names the conversation.

        Raises:
            RunNotFound: the conversation was never begun.
            NotForAgents: more than a day, or None, where an agent asks and there is no `custodian`.
            InvalidInput: states are kept in files, which have no runs.
        """
        backend = ledger_backend(self._engine)
        return backend.resume(thread_id, runtime=runtime, take_over=take_over, idle_seconds=idle_seconds)

    def close(self) -> None:
        """Release what was opened here; a ledger that was handed in stays open."""
        self._engine.backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def newest_of(loaded: Loaded | None) -> str | None:
    """Return the checkpoint that what is saved next goes on from."""
    if loaded is None:
        return None
    return loaded.fell_back_from or loaded.checkpoint.id


def ledger_backend(engine: Engine) -> LedgerBackend:
    """Return the back end, where it is a ledger.

    Raises:
        InvalidInput: it is none.
    """
    if not isinstance(engine.backend, LedgerBackend):
        raise invalid("where", "files have no runs: save in a ledger")
    return engine.backend
