"""LangGraph's `PostgresSaver`: a checkpoint of a small state that does not grow, and the writes of its task.

Both calls return when they are committed. That is what a graph with `durability="sync"` does before it goes
on; its default, "async", hands the checkpoint to a thread and goes on at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

from tests.benchmarks.peers.serving import Side, payload, serve


@contextmanager
def opened(url: str) -> Iterator[dict[str, Side]]:
    """Open it as it opens by default, and with a pipeline for each call's statements."""
    with ExitStack() as stack:
        savers = {
            "put + put_writes": stack.enter_context(PostgresSaver.from_conn_string(url)),
            "put + put_writes, pipeline=True": stack.enter_context(
                PostgresSaver.from_conn_string(url, pipeline=True)
            ),
        }
        next(iter(savers.values())).setup()
        yield {name: _Thread(saver, name).steps for name, saver in savers.items()}


class _Thread:
    """The steps of one thread."""

    def __init__(self, saver: Any, name: str) -> None:
        self._saver = saver
        self._config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        self._numbers = count(1)

    def steps(self, times: int) -> float:
        begin = time.perf_counter()
        for _ in range(times):
            self._step(next(self._numbers))
        return time.perf_counter() - begin

    def _step(self, number: int) -> None:
        content = payload(number)
        # A text, which is kept in the checkpoint's own row: what is no scalar would be a second row.
        state: Any = {
            **empty_checkpoint(),
            "channel_values": {"state": content["note"]},
            "channel_versions": {"state": number},
        }
        metadata: Any = {"source": "loop", "step": number, "parents": {}}
        self._config = self._saver.put(self._config, state, metadata, {"state": number})
        self._saver.put_writes(self._config, [("result", content)], f"task-{number}")


if __name__ == "__main__":
    serve(opened, distribution="langgraph-checkpoint-postgres")
