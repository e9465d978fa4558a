"""What is known to be stored of a run's states, so that it is not stored again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ledger.adapters.packs.format import Ref

PIECES_KNOWN = 10_000
"""Pieces of which a memo knows where they are: those that were used last."""

STATES_KNOWN = 8
"""States of which a memo knows the packs."""


class Image(NamedTuple):
    """What a group was made from."""

    content: Any
    """As `Imaging.image` gave it."""
    size: int
    """Bytes of its elements."""


@dataclass(slots=True)
class ListMemo:
    """A list as it was last stored."""

    elements: list[bytes]
    """Each as it was written; empty where it is in a group of which there is an image."""
    refs: list[Ref | None]
    """Where each is by itself; None: only in a group."""
    groups: dict[tuple[int, int], Ref]
    """By level and number: groups of level 1 stand for 32 elements each."""
    images: dict[int, Image] = field(default_factory=dict)
    """Of groups of level 1, by number."""
    size: int = field(init=False)
    """Bytes of the elements."""

    def __post_init__(self) -> None:
        self.size = sum(map(len, self.elements)) + sum([image.size for image in self.images.values()])


@dataclass(slots=True)
class Memo:
    """What is stored of one run. It holds as long as no state of the run is dropped."""

    dropped: int | None = None
    """Where states of the run were last dropped when this was learnt."""
    lists: dict[tuple[str | None, str], ListMemo] = field(default_factory=dict)
    """By line and name of the value."""
    pieces: OrderedDict[bytes, Ref] = field(default_factory=OrderedDict)
    """Where each piece is, by a digest of it."""
    rests: OrderedDict[bytes, tuple[bytes, ...]] = field(default_factory=OrderedDict)
    """The packs that the states saved or read last refer to, by the digest of their own."""

    @property
    def size(self) -> int:
        """Bytes of the elements that it holds on to."""
        return sum(known.size for known in self.lists.values())

    def only(self, line: str | None, names: Collection[str]) -> Memo:
        """Return a memo that knows of these lists of a line, and of nothing else."""
        wanted = {(line, name) for name in names}
        lists = {place: known for place, known in self.lists.items() if place in wanted}
        return Memo(self.dropped, lists)

    def refers(self, digest: bytes, others: tuple[bytes, ...]) -> None:
        """Note which packs a state refers to: who reads it can ask for all of them at once."""
        self.rests[digest] = others
        self.rests.move_to_end(digest)
        if len(self.rests) > STATES_KNOWN:
            self.rests.popitem(last=False)

    def find(self, piece: bytes) -> Ref | None:
        """Tell where a piece is stored."""
        key = _key(piece)
        found = self.pieces.get(key)
        if found is not None:
            self.pieces.move_to_end(key)
        return found

    def note(self, piece: bytes, ref: Ref) -> None:
        """Note where a piece is stored."""
        self.pieces[_key(piece)] = ref
        if len(self.pieces) > PIECES_KNOWN:
            self.pieces.popitem(last=False)


def _key(piece: bytes) -> bytes:
    return hashlib.sha256(piece).digest()
