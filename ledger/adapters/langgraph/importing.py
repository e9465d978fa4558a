"""Moving threads here that another saver has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ledger.adapters.langgraph.configs import RESTS
from ledger.canonical import invalid


def import_threads(
    source: BaseCheckpointSaver[Any],
    saver: BaseCheckpointSaver[Any],
    thread_ids: Iterable[str] | None = None,
) -> int:
    """Copy the checkpoints of threads from another saver, and what tasks wrote after each; return how many.

    They are read with the other saver and put with this one in the order of their ids, so that the history,
    forks and interrupts that wait are here as they were there. What the graphs did is not known here: acts
    that were begun there are none of the run. Let no graph work on the threads meanwhile. Where a step waits
    of which some tasks are done, what these wrote to a delta channel comes before what the others will.

    Args:
        source: any saver of LangGraph whose methods need not be awaited; it is left as it is.
        saver: the `LedgerSaver`; register the types of the graphs' states before.
        thread_ids: the threads; None: all of them. One that the source does not have is passed over.

    Raises:
        InvalidInput: a thread has checkpoints here already, or a value is no data or of a type that is not
            registered (`path` names the place); the thread has the checkpoints before it then: delete it, and
            import it again.
    """
    copied = 0
    for thread in _all(source) if thread_ids is None else dict.fromkeys(thread_ids):
        place: RunnableConfig = {"configurable": {"thread_id": thread}}
        # The states of a long thread are too much for memory; where they are is not.
        configs = [one.config for one in source.list(place)]
        if configs and next(saver.list(place, limit=1), None) is not None:
            raise invalid("thread_ids", f"thread {thread!r:.100} has checkpoints here already")
        for config in sorted(configs, key=lambda one: one["configurable"]["checkpoint_id"]):
            one = source.get_tuple(config)
            if one is not None:
                _put(saver, one)
                copied += 1
    return copied


def _all(source: BaseCheckpointSaver[Any]) -> Iterable[str]:
    return list(dict.fromkeys(one.config["configurable"]["thread_id"] for one in source.list(None)))


def _put(saver: BaseCheckpointSaver[Any], one: CheckpointTuple) -> None:
    given = one.config["configurable"]
    parent = {} if one.parent_config is None else one.parent_config["configurable"]
    at: RunnableConfig = {
        "configurable": {
            "thread_id": str(given["thread_id"]),
            "checkpoint_ns": given.get("checkpoint_ns", ""),
            RESTS: True,
            **({"checkpoint_id": parent["checkpoint_id"]} if parent else {}),
        }
    }
    put = saver.put(at, one.checkpoint, one.metadata, one.checkpoint["channel_versions"])
    written: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in one.pending_writes or ():
        written.setdefault(task, []).append((channel, value))
    # Savers list what tasks wrote in the order in which it counts, and do not tell by which path that is.
    for number, (task, writes) in enumerate(written.items()):
        saver.put_writes(put, writes, task, f"{number:06}")
