"""What each thread or task has seen to be the newest checkpoint, so that it need not say what it saves on."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from enum import Enum
from itertools import count
from types import MappingProxyType
from typing import Final

MOST: Final = 1024
"""Threads of conversation that one thread or task remembers at a time: those that it saw last."""

_serials = count()
_NOTHING: Mapping[tuple[int, str], str | None] = MappingProxyType({})
_seen: ContextVar[Mapping[tuple[int, str], str | None]] = ContextVar("checkpoints_seen", default=_NOTHING)


class Parent(Enum):
    """The parent that need not be named."""

    SEEN = "the checkpoint that this thread or task has loaded or saved last"


SEEN: Final = Parent.SEEN


class Seen:
    """The checkpoint that was loaded or saved last, by conversation.

    Each thread of the program and each task has its own, which a task begins with a copy of: two of them that
    work on one conversation never take what the other saved for what they have read.
    """

    def __init__(self) -> None:
        self._serial = next(_serials)

    def parent(self, thread: str, parent: str | Parent | None) -> str | None:
        """Return the parent that was named, or the one that was seen."""
        return _seen.get().get((self._serial, thread)) if isinstance(parent, Parent) else parent

    def note(self, thread: str, id: str | None) -> None:
        """Note what was seen."""
        key = self._serial, thread
        known = {place: seen for place, seen in _seen.get().items() if place != key}
        if id is not None:
            known[key] = id
        if len(known) > MOST:
            del known[next(iter(known))]
        _seen.set(known)
