"""Reading checkpoints: each is what it is named as, or is told to be damaged, of a later release, or gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from ledger.adapters.checkpointer.backend import Backend, Stored
from ledger.adapters.checkpointer.errors import CorruptCheckpoint, NewerFormat
from ledger.adapters.checkpointer.values import number_of
from ledger.adapters.packs import Unpacked
from ledger.errors import IntegrityError, StateMoved, UndecodableRecord

VERSION: Final = 1
"""Of what a checkpoint holds."""
TRIES: Final = 8
"""How often somebody may delete what is being read."""

R = TypeVar("R")


class Reader:
    """Reads the checkpoints of a back end."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def look(self, thread: str, id: str | None, read: Callable[[Stored], R]) -> R | None:
        """Find a checkpoint, or the newest, and read it; None where there is none.

        Where it was given up between the two, it is looked for again.

        Raises:
            StateMoved: that happens all the time.
        """
        for attempt in range(TRIES):
            found = self._backend.find(thread, id)
            if found is None:
                break
            try:
                return read(found)
            except StateMoved:
                if attempt + 1 == TRIES:
                    raise
        return None

    def sound(self, thread: str, stored: Stored, names: Collection[str]) -> Unpacked:
        """Read some values of a checkpoint.

        Raises:
            CorruptCheckpoint: they cannot be read.
            NewerFormat: a later release wrote it.
            StateMoved: it was given up meanwhile.
        """
        try:
            return self._read(thread, stored, names)
        except NewerFormat:
            raise
        except (IntegrityError, UndecodableRecord) as error:
            self._check_kept(thread, stored)
            raise _corrupt(thread, stored, self._good_before(thread, stored), error) from error

    def _read(self, thread: str, stored: Stored, names: Collection[str] | None) -> Unpacked:
        """Read a checkpoint, and see that it is what it is named as."""
        try:
            read = self._backend.read(thread, stored, names)
        except UndecodableRecord as error:
            if "format" in error.data:
                raise NewerFormat(str(error), **error.data) from error
            raise
        try:
            head = json.loads(read.head)
            version, named = head["v"], (head["thread"], head["id"])
        except (ValueError, KeyError, TypeError):
            raise not_ours(thread, stored.id) from None
        if type(version) is not int or version > VERSION:
            raise NewerFormat(
                f"checkpoint {stored.id!r:.200} is of format {version!r:.50}, and this release knows "
                f"{VERSION}: upgrade",
                format=version,
                known=VERSION,
            )
        if named != (thread, stored.id):
            raise IntegrityError(
                f"what is kept as checkpoint {stored.id!r:.200} of {thread!r:.200} is {named!r:.400}",
                digest=stored.digest,
            )
        return read

    def _check_kept(self, thread: str, stored: Stored) -> None:
        """Tell what was given up while it was read from what is damaged."""
        again = self._backend.find(thread, stored.id)
        if again is None or again.digest != stored.digest:
            raise StateMoved(
                f"checkpoint {stored.id!r:.200} of thread {thread!r:.200} was given up while it was read",
                run=thread,
                expected=number_of(stored.id) or 0,
                actual=0,
                dropped=None,
            )

    def _good_before(self, thread: str, stored: Stored) -> str | None:
        """Name the newest checkpoint before one that can be read as a whole."""
        passed = False
        for one in self._backend.all(thread):
            if passed:
                try:
                    self._read(thread, one, None)
                except NewerFormat:
                    raise
                except (IntegrityError, UndecodableRecord):
                    continue
                return one.id
            passed = one.id == stored.id
        return None


def _corrupt(thread: str, stored: Stored, good: str | None, error: Exception) -> CorruptCheckpoint:
    advice = (
        "no older one can be read"
        if good is None
        else f"the newest before it that can be read is {good!r:.200}, and is loaded with fallback=True"
    )
    return CorruptCheckpoint(
        f"checkpoint {stored.id!r:.200} of thread {thread!r:.200} cannot be read ({error}); {advice}",
        thread=thread,
        id=stored.id,
        good=good,
    )


def not_ours(thread: str, id: str | None) -> UndecodableRecord:
    """Say that a state was saved by something else."""
    return UndecodableRecord(
        f"state {id!r:.200} of thread {thread!r:.200} was not saved by a Checkpointer: name another thread"
    )
