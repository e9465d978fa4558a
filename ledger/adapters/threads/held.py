"""What a small state is made of, held so that who saved it, or has read it, need not ask for it again.

Which state is the newest, and whether one was given up, the run tells; held is what cannot change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ledger.adapters.packs import Packed, Unpacked
from ledger.adapters.threads.raw import RawList

if TYPE_CHECKING:
    from ledger.adapters.threads.threads import Entry

LARGEST = 16 * 1024
"""Bytes of the largest state that is held: one of each thread, beside what its memo holds."""


class Held(NamedTuple):
    """A state that was saved or read."""

    digest: bytes
    """Of its content."""
    raw: Unpacked
    """Its values as the bytes that they are stored as."""


def held_in(entry: Entry, digest: bytes, *, learn: bool) -> Unpacked | None:
    """Return what a state is made of, if it is held.

    Args:
        entry: the run that keeps it; its mutex is held.
        digest: of its content.
        learn: only if the memo of the run knows where it is stored.
    """
    held = entry.held
    if held is None or held.digest != digest or (learn and digest not in entry.memo.rests):
        return None
    return held.raw


def hold_saved(entry: Entry, digest: bytes, packed: Packed) -> None:
    """Hold a state that was saved, unless it is large or part of it is not at hand; the mutex is held."""
    if packed.size + len(packed.head) > LARGEST or any(known.images for known in packed.lists.values()):
        return
    values = {name: RawList(*one) if type(one) is tuple else one for name, one in packed.written.items()}
    entry.held = Held(digest, Unpacked(packed.head, values))


def hold_read(entry: Entry, digest: bytes, raw: Unpacked) -> None:
    """Hold a state that was read as a whole, unless it is large; the mutex is held."""
    left = LARGEST - len(raw.head)
    for value in raw.values.values():
        left -= sum(map(len, value.elements)) if type(value) is RawList else len(value)
        if left < 0:
            return
    entry.held = Held(digest, raw)
