"""Giving up states of threads, and freeing what nothing needs any more: deleting, dropping, pruning.

Each is said by an event before anything goes; what was done, approved and asserted in a thread stays on record.
Asked again after it was cut short, it frees what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from ledger import Actor
from ledger.adapters.threads.states import Located
from ledger.adapters.threads.threads import Threads
from ledger.application.freeing import Freed, Progress

__all__ = ["Freed", "Needed", "delete", "drop", "prune"]

Needed = Callable[[Sequence[Located], Collection[Located]], Iterable[Located]]
"""Given all states of a thread, the newest first, and those of them that stay: lists what has to stay with
them, e.g. the parents that a state is read with."""


def delete(
    threads: Threads,
    thread: str,
    *,
    by: str,
    reason: str = "the thread was deleted",
    actor: Actor | None = None,
    force: bool = False,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Delete a thread: give up all its states, and close its run, so that the next state begins anew.

    Args:
        threads: the runs of threads.
        thread: the thread; of one that is not there nothing is deleted.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: whoever the ledger is opened for.
        force: also where effects of the thread are unsettled.
        dry_run: change nothing, say what would go.
        progress: called after each run, and each batch of contents.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        StillOpen: effects are unsettled, and it is not forced: a thread of the same name would know nothing
            of them, and might do again what was done.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger. Nothing was written then.
    """
    raise NotImplementedError


def drop(
    threads: Threads,
    thread: str,
    states: Iterable[tuple[str, str]],
    *,
    by: str,
    reason: str = "the states were dropped",
    actor: Actor | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up some states of a thread; what others rest on stays stored.

    Args:
        threads: the runs of threads.
        thread: the thread.
        states: line and id of each; those that are not there are passed over.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: whoever the ledger is opened for.
        dry_run: change nothing, say what would go.
        progress: called after each run, and each batch of contents.

    Raises:
        NotForAgents, StoreUnavailable: as `delete` does.
        PositionConflict: the thread moves too fast; nothing is half done, ask again.
        UndecodableRecord, IntegrityError: a state that stays cannot be read; nothing was given up.
    """
    raise NotImplementedError


def prune(
    threads: Threads,
    thread: str,
    *,
    keep: int = 1,
    by: str,
    reason: str = "the thread was pruned",
    actor: Actor | None = None,
    needed: Needed | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up the older states of each line of a thread.

    Args:
        threads: the runs of threads.
        thread: the thread.
        keep: how many of each line stay, the newest.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        actor: who writes; None: whoever the ledger is opened for.
        needed: says which others have to stay with those that stay.
        dry_run: change nothing, say what would go.
        progress: called after each run, and each batch of contents.

    Raises:
        What `drop` raises, and InvalidInput: fewer than one are to stay.
    """
    raise NotImplementedError
