"""Let a store go through `fork()`: nothing that is open crosses over.

A child inherits file descriptors and SQLite's memory of the locks on them, not the locks themselves; using
either there, or even closing them, can destroy the file. So a store closes its connections before the fork,
and parent and child open their own when they need them. It costs a fork something, and a call nothing.

Source: SQLite, "How To Corrupt An SQLite Database File", section 2.6.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What holds connections or locks."""

    def before_fork(self) -> None:
        """Finish what is under way, close what is open, let nothing begin."""

    def after_fork_in_parent(self) -> None:
        """Let work begin again."""

    def after_fork_in_child(self) -> None:
        """Begin anew: other threads, and the locks they held, are not here."""


_alive: WeakSet[Forkable] = WeakSet()
_forking: list[Forkable] = []
one_at_a_time = Lock()
"""Held through each fork, and free on both sides of it afterwards."""

_generation = 0


def watch(store: Forkable) -> None:
    """Tell a store about forks as long as it lives."""
    # A fork in another thread goes through the stores, and none may join them meanwhile.
    with one_at_a_time:
        _alive.add(store)


def generation() -> int:
    """Count the forks that lie between this process and the one that loaded the ledger.

    What holds nothing but a lock need not be told of forks: it looks whether it was made in this process.
    """
    return _generation


def _before() -> None:
    one_at_a_time.acquire()
    _forking.extend(_alive)
    for store in _forking:
        store.before_fork()


def _in_parent() -> None:
    for store in _forking:
        store.after_fork_in_parent()
    _forking.clear()
    one_at_a_time.release()


def _in_child() -> None:
    global _generation  # noqa: PLW0603 - one process has one
    _generation += 1
    for store in _forking:
        store.after_fork_in_child()
    _forking.clear()
    one_at_a_time.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
