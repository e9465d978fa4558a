"""What keeps checkpoints: a ledger, or a folder of files. A cache never says which is the newest."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ledger.adapters.packs import Unpacked


class Stored(NamedTuple):
    """A checkpoint as the place where it is kept names it, without its content."""

    id: str
    parent: str | None
    at: datetime | None
    """When it was saved; None where that cannot be read."""
    digest: str
    """SHA-256 of its content, in hex; empty where that cannot be read."""
    size: int
    """Bytes that it took."""
    whole: bool
    """It rests on no other."""
    place: Any
    """Where it is, for the back end."""
    damaged: str | None = None
    """What is wrong with it, where that shows already."""


class New(NamedTuple):
    """A checkpoint that is to be kept."""

    id: str
    values: Mapping[str, Any]
    head: bytes
    whole: bool
    """Refer to no earlier content."""
    but: Collection[str] = ()
    """Lists that refer to what is stored of them all the same."""
    rests: bool = False
    """The program waits for somebody after this: nothing is at work."""


class Backend(Protocol):
    """Keeps the checkpoints of threads, each on the one before. Programs' threads may share it."""

    def place(self) -> Hashable:
        """Name the place: two that keep the same threads are named alike."""

    def new_id(self) -> str:
        """Draw an id that nobody else has."""

    def find(self, thread: str, id: str | None = None) -> Stored | None:
        """Find a checkpoint, or the newest one; None where there is none."""

    def all(self, thread: str) -> Iterator[Stored]:
        """Yield the checkpoints of a thread, the newest first."""

    def read(self, thread: str, stored: Stored, names: Collection[str] | None = None) -> Unpacked:
        """Read a checkpoint: all of its values, or those that are named.

        Raises:
            IntegrityError: its content is gone, or not what was written.
            UndecodableRecord: it cannot be read, or what it rests on is gone.
        """

    def save(self, thread: str, new: New, after: Stored | None, *, anew: bool) -> None:
        """Keep a checkpoint on the newest one; it is durable when this returns.

        With `anew` nothing that is known to be stored is relied on: it is damaged.

        Raises:
            StateMoved: `after` is not the newest one.
        """

    def delete(self, thread: str, *, by: str | None, reason: str) -> bool:
        """Give up all checkpoints of a thread; tell whether there were any."""

    def close(self) -> None:
        """Release what is held."""


class Cache(Protocol):
    """Has contents of checkpoints near, by their digest. It may lose any of them at any time, and be away.

    It raises nothing, and what it returns has the digest that was asked for.
    """

    def get(self, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Return those that it has."""

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Have these, maybe."""

    def drop(self, digests: Collection[bytes]) -> None:
        """Have these no more, if it can be reached."""

    def close(self) -> None:
        """Release what is held."""
