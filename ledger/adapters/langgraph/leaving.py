"""What is said when the loop of a graph has ended: that its thread rests, where the graph did not say so."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import anyio
from anyio import to_thread

from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.configs import state_name
from ledger.adapters.langgraph.heads import write_part
from ledger.adapters.threads import Entry
from ledger.adapters.threads.naming import line_name
from ledger.errors import LedgerError, RunIsClosed, Superseded

log = logging.getLogger("ledger")
NAME = "rests"
"""Stands in the place of a task: none wrote it."""


def at_end(loop: Any, do: Callable[[], None]) -> bool:
    """Have something done when the loop of a graph has ended, and all that it began to save is saved.

    What a loop leaves open it closes by a stack, the last first: what is put there when it begins to read
    comes last. Where it has none, nothing is done, and False returned.
    """
    stack = getattr(loop, "stack", None)
    if isinstance(stack, ExitStack):
        stack.callback(do)
    elif isinstance(stack, AsyncExitStack):
        stack.push_async_callback(_aside, do)
    else:
        return False
    return True


async def _aside(do: Callable[[], None]) -> None:
    with anyio.CancelScope(shield=True):
        await to_thread.run_sync(do)


def rest(entry: Entry, line: str, checkpoint: str, codec: GraphCodec) -> None:
    """Say that a thread rests, unless that is said: no node of its graph is at work any more.

    Args:
        entry: the run as the graph entered it. Once another goes on with it, nothing is said.
        line: the line that the graph saved on.
        checkpoint: the newest of the line, as far as it is known here. Where another is, somebody else is at
            work, or was: nothing is said.
        codec: writes what a task wrote: nothing.
    """
    named = line_name(line)
    try:
        contract = entry.run.contract
        lines = () if contract.saved is None else contract.saved.lines
        newest = next((one.id for one in lines if one.line == named), None)
        if (
            contract.alive.rests
            or contract.closed is not None
            or contract.incarnation != entry.run.incarnation
            or newest not in (None, state_name(checkpoint))
        ):
            return
        entry.run.save_state_part(
            state_name(checkpoint),
            state_name(NAME),
            write_part(codec, (), NAME, ""),
            line=named,
            rests=True,
        )
    except (RunIsClosed, Superseded):
        return
    except LedgerError as error:  # others wait for a while then
        log.warning("that thread %r rests could not be said: %s", entry.thread, error)
