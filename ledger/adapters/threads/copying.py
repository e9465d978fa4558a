"""Copying the states of a thread to another one."""

from __future__ import annotations

from ledger.adapters.threads.threads import Threads


def copy(threads: Threads, thread: str, to: str) -> int:
    """Copy the states of a thread and what was kept of the work after each, in their order; return how many.

    Nothing else is copied: an effect that was performed, or approved, in the one is neither in the other. The
    copy shares no storage with what it was made from.

    Args:
        threads: the runs of threads.
        thread: the thread; of one that is not there nothing is copied.
        to: where to; a thread that has no states.

    Raises:
        InvalidInput: the target has states, or is the thread itself.
        UndecodableRecord, IntegrityError: a state cannot be read; then the target may have the ones before it.
    """
    raise NotImplementedError
