"""The `Checkpointer` for an event loop: the same names, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
import anyio.to_thread

from ledger import Actor, AsyncLedger, AsyncRun, Ledger, Resumption, Runtime
from ledger.adapters.checkpointer.backend import Cache
from ledger.adapters.checkpointer.boundaries import Boundary
from ledger.adapters.checkpointer.checkpointer import DELETED, ledger_backend, newest_of
from ledger.adapters.checkpointer.data import Format
from ledger.adapters.checkpointer.engine import Engine
from ledger.adapters.checkpointer.in_ledger import Idle
from ledger.adapters.checkpointer.messages import Message
from ledger.adapters.checkpointer.opening import Surroundings, open_engine
from ledger.adapters.checkpointer.options import Options
from ledger.adapters.checkpointer.seen import SEEN, Parent, Seen
from ledger.adapters.checkpointer.streaming import Streaming
from ledger.adapters.checkpointer.values import Checkpoint, Loaded
from ledger.canonical import invalid
from ledger.stores.stamps import Clock

R = TypeVar("R")


class AsyncCheckpointer(Streaming):
    """A `Checkpointer` for the tasks of one event loop of asyncio or trio; each call is made in a thread.

    A call that is cancelled is waited for; whether it saved is not told then: load. Each task remembers by
    itself what it has loaded and saved. One that is started for a single call, as `asyncio.wait_for` does
    before Python 3.12, takes that memory with it: name the `parent`.
    """

    def __init__(self, engine: Engine, ledger: AsyncLedger | None = None) -> None:
        self._engine = engine
        self._ledger = ledger
        self._seen = Seen()

    @classmethod
    async def open(  # noqa: PLR0913 - each is an option
        cls,
        where: str | Path | Ledger | AsyncLedger,
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
        """Open the place where states are kept: as `Checkpointer.open`, also in an `AsyncLedger`."""
        options = Options(every, format, messages, window)
        around = Surroundings(actor, custodian, goal, clock, ids, busy_seconds)
        face = where if isinstance(where, AsyncLedger) else None
        place = where._ledger if isinstance(where, AsyncLedger) else where
        return cls(await _in_thread(lambda: open_engine(place, options, cache, around)), face)

    # --- saving -----------------------------------------------------------------------------------

    async def save(
        self,
        thread_id: str,
        state: dict[str, Any],
        *,
        at: Boundary | None = None,
        parent: str | Parent | None = SEEN,
    ) -> str:
        """Save the state of a conversation; as `Checkpointer.save`. Change nothing of the state meanwhile."""
        seen = self._seen.parent(thread_id, parent)
        id = await _in_thread(lambda: self._engine.save(thread_id, state, at, seen))
        self._seen.note(thread_id, id)
        return id

    async def summarise(
        self,
        thread_id: str,
        text: str,
        *,
        through: str,
        at: Boundary | None = None,
        parent: str | Parent | None = SEEN,
    ) -> str:
        """Let a summary stand for the messages up to one, and save that; as `Checkpointer.summarise`."""
        seen = self._seen.parent(thread_id, parent)
        id = await _in_thread(lambda: self._engine.summarise(thread_id, text, through, at, seen))
        self._seen.note(thread_id, id)
        return id

    # --- loading ----------------------------------------------------------------------------------

    async def load(self, thread_id: str, *, fallback: bool = False) -> Loaded | None:
        """Load the newest state of a conversation; as `Checkpointer.load`."""
        loaded = await _in_thread(lambda: self._engine.load(thread_id, fallback=fallback))
        self._seen.note(thread_id, newest_of(loaded))
        return loaded

    async def load_checkpoint(self, thread_id: str, checkpoint_id: str) -> Loaded:
        """Load a checkpoint by its id; as `Checkpointer.load_checkpoint`."""
        loaded = await _in_thread(lambda: self._engine.load_checkpoint(thread_id, checkpoint_id))
        self._seen.note(thread_id, checkpoint_id)
        return loaded

    async def list_checkpoints(
        self, thread_id: str, *, before: str | None = None, limit: int | None = None
    ) -> list[Checkpoint]:
        """List the checkpoints of a conversation, the newest first; as `Checkpointer.list_checkpoints`."""
        return await _in_thread(lambda: self._engine.checkpoints(thread_id, before=before, limit=limit))

    async def archive(self, thread_id: str, *, page: int = 100) -> AsyncIterator[list[Message]]:
        """Yield the messages that left the state, a page at a time; as `Checkpointer.archive`."""
        pages = self._engine.archive(thread_id, page=page)
        while (found := await _in_thread(partial(next, pages, None))) is not None:
            yield found

    async def delete(self, thread_id: str, *, by: str | None = None, reason: str = DELETED) -> bool:
        """Delete the states of a conversation, and its archive; as `Checkpointer.delete`."""
        deleted = await _in_thread(lambda: self._engine.delete(thread_id, by=by, reason=reason))
        self._seen.note(thread_id, None)
        return deleted

    # --- the run ----------------------------------------------------------------------------------

    async def run(self, thread_id: str) -> AsyncRun:
        """Return the run that a conversation is; as `Checkpointer.run`.

        Raises:
            InvalidInput: it was not opened in an `AsyncLedger`.
        """
        face, threads = self._face(), ledger_backend(self._engine).threads
        entry = await _in_thread(lambda: threads.open(thread_id))
        return await face.run(entry.run.id, actor=threads.actor)

    async def resume(
        self,
        thread_id: str,
        *,
        runtime: Runtime | None = None,
        take_over: bool = False,
        idle_seconds: Idle = "by_goal",
    ) -> Resumption[AsyncRun]:
        """Ask the gate whether a conversation may go on; as `Checkpointer.resume`.

        Raises:
            InvalidInput: it was not opened in an `AsyncLedger`.
        """
        face, backend = self._face(), ledger_backend(self._engine)
        asking = await _in_thread(lambda: backend.asking(thread_id, idle_seconds))
        decision = await face.resume(**asking._asdict(), runtime=runtime, take_over=take_over)
        await _in_thread(lambda: backend.join(thread_id))
        return decision

    def _face(self) -> AsyncLedger:
        if self._ledger is None:
            raise invalid("where", "open the checkpointer in an AsyncLedger: others have no runs to await")
        return self._ledger

    async def close(self) -> None:
        """Release what was opened here; as `Checkpointer.close`."""
        with anyio.CancelScope(shield=True):
            await _in_thread(self._engine.backend.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def _in_thread(call: Callable[[], R]) -> R:
    """Make a call that may wait for a disk or a server. Who is cancelled waits for it."""
    return await anyio.to_thread.run_sync(call)
