"""The awaited methods of a saver: the same, in worker threads.

Appends of many threads still join one commit, and what was begun is ended although who waits is cancelled.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from anyio import to_thread
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from ledger import Run
from ledger.adapters.langgraph.loops import loop_of

T = TypeVar("T")


class AwaitedSaver(BaseCheckpointSaver[Any]):
    """Awaits what the saver does; each method is documented at the one of the same name without the `a`."""

    @abstractmethod
    def close(self) -> None:
        """Close what the saver opened."""

    @abstractmethod
    def _load(self, config: RunnableConfig, loop: Any) -> CheckpointTuple | None:
        """Load a checkpoint, for the loop of the graph that asks."""

    @abstractmethod
    def thread_run(self, config: RunnableConfig) -> Run:
        """Return the present run of a thread."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _aside(self.close)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load a checkpoint."""
        # The loop that asks is found here only: the thread that reads has frames of its own.
        return await _aside(self._load, config, loop_of(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await _aside(_next, found)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint."""
        # A graph that does not wait for its checkpoints goes on, and changes some of them in place.
        held = checkpoint.copy()
        held["channel_values"] = {name: _held(value) for name, value in held["channel_values"].items()}
        return await _aside(self.put, config, held, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote."""
        await _aside(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints of a thread."""
        await _aside(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that runs of a graph made."""
        await _aside(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the checkpoints of a thread to another."""
        await _aside(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete the older checkpoints of threads."""
        await _aside(partial(self.prune, thread_ids, strategy=strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what was written to delta channels."""
        return await _aside(partial(self.get_delta_channel_history, config=config, channels=channels))

    async def athread_run(self, config: RunnableConfig) -> Run:
        """Return the present run of a thread."""
        return await _aside(self.thread_run, config)


async def _aside(function: Callable[..., T], *given: Any) -> T:
    """Call a function in a thread; who is cancelled meanwhile is so once it has ended."""
    doing = asyncio.ensure_future(to_thread.run_sync(function, *given))
    stopped: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as error:
            stopped = error
    if stopped is not None:
        doing.exception()  # who was cancelled does not hear of it
        raise stopped
    return doing.result()


def _held(value: Any) -> Any:
    """Copy a container, not what is in it; of a pair, such as channels make, both."""
    if type(value) in (list, set, dict):
        return value.copy()
    return tuple(map(_held, value)) if type(value) is tuple else value


def _next(found: Iterator[T]) -> T | None:
    return next(found, None)
