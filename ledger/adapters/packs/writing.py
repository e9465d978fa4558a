"""Writing a state as a pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ledger.adapters.packs.codec import Codec
from ledger.adapters.packs.format import (
    FANOUT,
    LARGEST,
    PIECES,
    Entry,
    Ref,
    References,
    write_group,
    write_pack,
)
from ledger.adapters.packs.memo import ListMemo, Memo
from ledger.canonical import invalid
from ledger.errors import InvalidInput

SMALL = 64
"""Pieces up to this many bytes are written again: a reference to another pack takes half of that."""
COPIED = 16 * 1024
"""Elements up to this many bytes are copied into their group."""


class Packed(NamedTuple):
    """A pack that was written, and what is to be noted once it is stored."""

    content: bytes
    whole: bool
    """It refers to no other pack."""
    lists: dict[str, ListMemo]
    pieces: list[tuple[bytes, Ref]]

    def note(self, memo: Memo, line: str | None, digest: bytes) -> None:
        """Note what is stored now, in a content with this digest."""
        for name, known in self.lists.items():
            # Those before the last whole group were noted earlier, or stand in a group only.
            for at in range(len(known.refs) // FANOUT * FANOUT, len(known.refs)):
                ref = known.refs[at]
                if ref is not None:
                    known.refs[at] = _at(ref, digest)
            known.groups = {place: _at(ref, digest) for place, ref in known.groups.items()}
            memo.lists[line, name] = known
        for piece, ref in self.pieces:
            memo.note(piece, _at(ref, digest))


def pack(
    values: Mapping[str, Any], head: bytes, codec: Codec, *, memo: Memo | None = None, line: str | None = None
) -> Packed:
    """Write a state.

    Args:
        values: the values by name.
        head: what stands beside them: it is read first, without any value.
        codec: what writes the values.
        memo: what is stored already; without it the pack is whole.
        line: the line that the state is on.

    Raises:
        InvalidInput: a value is no data, or all come to more than 1 GiB; `path` says where.
    """
    writer = _Writer(codec, memo or Memo())
    writer.add(head)
    names: dict[str, Any] = {}
    lists: dict[str, ListMemo] = {}
    for name, value in values.items():
        split = codec.split(value)
        if split is None:
            piece = codec.dumps(value, name)
            writer.weigh(len(piece), name)
            names[name] = writer.number(writer.place(piece))
            continue
        old = writer.memo.lists.get((line, name))
        elements, same = writer.written(split.elements, name, old)
        writer.weigh(sum(map(len, elements)), name)
        known = writer.place_list(elements, same, old)
        lists[name] = known
        names[name] = [split.tag, [list(map(writer.number, level)) for level in writer.levels(known)]]
    return Packed(
        write_pack(names, writer.references, writer.pieces), not len(writer.references), lists, writer.new
    )


class _Writer:
    """Collects the pieces of a pack."""

    def __init__(self, codec: Codec, memo: Memo) -> None:
        self.codec = codec
        self.memo = memo
        self.references = References()
        self.pieces: list[bytes] = []
        self.new: list[tuple[bytes, Ref]] = []
        self._here: dict[bytes, Ref] = {}
        self._weight = 0

    def weigh(self, size: int, path: str) -> None:
        """Refuse what would not be read again."""
        self._weight += size
        if self._weight > LARGEST:
            raise invalid(path, f"the state comes to more than {LARGEST} bytes")

    def add(self, piece: bytes) -> Ref:
        if len(self.pieces) + 1 >= PIECES:
            raise invalid("state", f"it has more than {PIECES} parts")
        self.pieces.append(piece)
        return Ref(None, len(self.pieces) - 1)

    def place(self, piece: bytes) -> Ref:
        """Tell where a piece is, or put it here."""
        here = self._here.get(piece)
        if here is not None:
            return here
        if len(piece) > SMALL:
            found = self.memo.find(piece)
            if found is not None:
                return found
        self._here[piece] = ref = self.add(piece)
        if len(piece) > SMALL:
            self.new.append((piece, ref))
        return ref

    def number(self, ref: Ref) -> int:
        return self.references.number(ref)

    def written(self, elements: list[Any], name: str, old: ListMemo | None) -> tuple[list[bytes], int]:
        """Write the elements of a list; say how many of them the stored one begins with, too.

        One after another, so that what turns out to be stored is let go at once: what an element holds may
        have changed since, so each is written, and in a long list that is where the time goes.
        """
        dumps, known = self.codec.dumps, [] if old is None else old.elements
        same = 0
        try:
            for element, before in zip(elements, known, strict=False):
                if dumps(element, name) != before:
                    break
                same += 1
            return known[:same] + [dumps(element, name) for element in elements[same:]], same
        except InvalidInput:
            # A path for each element would cost as much as a short element.
            for at, element in enumerate(elements):
                dumps(element, f"{name}[{at}]")
            raise

    def place_list(self, elements: list[bytes], same: int, old: ListMemo | None) -> ListMemo:
        """Place the elements of a list, the first of them as in `old`, and the groups that are complete."""
        refs: list[Ref | None] = [] if old is None else old.refs[:same]
        refs += [None] * (len(elements) - same)
        groups: dict[tuple[int, int], Ref] = {}
        level, below, span = 1, len(elements), 1
        while below >= FANOUT:
            below, span = below // FANOUT, span * FANOUT
            for number in range(below):
                known = None if old is None else old.groups.get((level, number))
                if known is None or (number + 1) * span > same:
                    first = number * FANOUT
                    entries: Sequence[Entry] = (
                        [self.copied(element) for element in elements[first : first + FANOUT]]
                        if level == 1
                        else [groups[level - 1, at] for at in range(first, first + FANOUT)]
                    )
                    known = self.add(write_group(entries))
                groups[level, number] = known
            level += 1
        return ListMemo(elements, refs, groups)

    def copied(self, element: bytes) -> Entry:
        """Return what stands for an element in its group."""
        return element if len(element) <= COPIED else self.place(element)

    def levels(self, known: ListMemo) -> list[list[Ref]]:
        """List what a list is made of: the largest groups first, the elements that are in none last."""
        levels: list[list[Ref]] = []
        done, deepest = 0, max((level for level, _ in known.groups), default=0)
        for level in range(deepest, 0, -1):
            span = FANOUT**level
            first, last = done // span, len(known.elements) // span
            levels.append([known.groups[level, number] for number in range(first, last)])
            done = last * span
        tail: list[Ref] = []
        for at in range(done, len(known.elements)):
            ref = known.refs[at]
            if ref is None:
                known.refs[at] = ref = self.place(known.elements[at])
            tail.append(ref)
        levels.append(tail)
        return levels


def _at(ref: Ref, digest: bytes) -> Ref:
    return Ref(digest, ref.piece) if ref.pack is None else ref
