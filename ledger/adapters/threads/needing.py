"""What states of a program that need others to be read with need: those of graphs need the states above."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ledger.adapters.threads.located import Located
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.states import ThreadStates
from ledger.adapters.threads.threads import Threads
from ledger.canonical import invalid

Needed = Callable[[Sequence[Located], Collection[Located]], Iterable[Located]]
"""Given all states of a thread, the newest first, and those of them that stay: lists what has to stay with
them, e.g. the parents that a state is read with."""

GRAPHS = b"LGC"
"""What stands beside the values of a checkpoint of LangGraph begins so."""


def needed_by_graphs(
    threads: Threads, states: Sequence[Located], kept: Collection[Located]
) -> Iterable[Located]:
    """List what checkpoints of graphs need that stay; those of the `Checkpointer` need no other.

    Raises:
        InvalidInput: there are such, and LangGraph is not installed.
        UndecodableRecord, IntegrityError: a state that stays cannot be read.
    """
    raw = ThreadStates(threads, RAW)
    if not any(raw.read(one, names=()).head.startswith(GRAPHS) for one in kept):
        return ()
    try:
        from ledger.adapters.langgraph.checkpoints import Checkpoints
        from ledger.adapters.langgraph.codec import GraphCodec
        from ledger.adapters.langgraph.deleting import needed
        from ledger.adapters.langgraph.types import KnownTypes
    except ModuleNotFoundError as error:
        thread = next(iter(kept)).entry.thread
        raise invalid("thread", f"{thread!r:.100} has checkpoints of LangGraph: {error}") from error
    checkpoints = Checkpoints(threads, GraphCodec(KnownTypes()))
    # Which channels have a value is told without reading values, whose classes only the graph knows.
    checkpoints.states = raw
    # One after the other: who stops at the first does not read what it needs further.
    return (above for _, above in needed(checkpoints, states, kept))
