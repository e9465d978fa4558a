"""Writing a state as a pack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import ne
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
from ledger.adapters.packs.memo import Image, ListMemo, Memo
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
    refers_to: tuple[bytes, ...]
    head: bytes
    written: dict[str, bytes | tuple[str, list[bytes]]]
    """The values as they were written; a list as its tag and its elements, as in `ListMemo`."""
    size: int
    """Bytes of the values."""

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
        memo.refers(digest, self.refers_to)


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
    written: dict[str, bytes | tuple[str, list[bytes]]] = {}
    for name, value in values.items():
        split = codec.split(value)
        if split is None:
            written[name] = piece = codec.dumps(value, name)
            writer.weigh(len(piece), name)
            names[name] = writer.number(writer.place(piece))
            continue
        old = writer.memo.lists.get((line, name))
        known = writer.place_list(writer.written(split.elements, name, old), old)
        writer.weigh(known.size, name)
        lists[name] = known
        written[name] = split.tag, known.elements
        names[name] = [split.tag, [list(map(writer.number, level)) for level in writer.levels(known)]]
    references = writer.references
    content = write_pack(names, references, writer.pieces)
    new, weight = writer.new, writer.weight
    return Packed(content, not len(references), lists, new, references.digests, head, written, weight)


class Written(NamedTuple):
    """A list that was written."""

    elements: list[bytes]
    """As in `ListMemo`."""
    same: int
    """So many of them, from the first on, are what is stored."""
    images: dict[int, Image]


_IN_A_GROUP = [b""] * FANOUT


class _Writer:
    """Collects the pieces of a pack."""

    def __init__(self, codec: Codec, memo: Memo) -> None:
        self.codec = codec
        self.image: Callable[[list[Any], Any], Any] = getattr(codec, "image", _untold)
        """As in `Imaging`, where the codec is one."""
        self.is_written_as: Callable[[list[Any], list[bytes]], Any] = getattr(codec, "is_written_as", _untold)
        self.memo = memo
        self.references = References()
        self.number = self.references.number
        self.pieces: list[bytes] = []
        self.new: list[tuple[bytes, Ref]] = []
        self._here: dict[bytes, Ref] = {}
        self.weight = 0

    def weigh(self, size: int, path: str) -> None:
        """Refuse what would not be read again."""
        self.weight += size
        if self.weight > LARGEST:
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

    def written(self, elements: list[Any], name: str, old: ListMemo | None) -> Written:
        """Write the elements of a list, except for those that the stored one begins with, too.

        What an element holds may have changed since, so each is written to find out; what turns out to be
        stored is let go at once. In a long list that is where the time goes.
        """
        dumps = self.codec.dumps
        try:
            known, same, images = ([], 0, {}) if old is None else self.unchanged(elements, name, old)
            return Written(known[:same] + [dumps(element, name) for element in elements[same:]], same, images)
        except InvalidInput:
            # A path for each element would cost as much as a short element.
            for at, element in enumerate(elements):
                dumps(element, f"{name}[{at}]")
            raise

    def unchanged(
        self, elements: list[Any], name: str, old: ListMemo
    ) -> tuple[list[bytes], int, dict[int, Image]]:
        """Count the elements that a list begins with as the stored one does, by groups where that is told."""
        dumps, image = self.codec.dumps, self.image
        known, same, images = list(old.elements), 0, {}
        for number in range(min(len(elements), len(known)) // FANOUT):
            these = slice(same, same + FANOUT)
            # First the image: it is kept only if the elements still were what is stored afterwards.
            before = old.images.get(number)
            found = image(elements[these], None if before is None else before.content)
            if found is None or before is None or found is not before.content:
                if any(map(ne, map(dumps, elements[these], repeat(name)), known[these])):
                    break
                before = None if found is None else Image(found, sum(map(len, known[these])))
            if before is not None and (1, number) in old.groups:
                images[number] = before
                known[these] = _IN_A_GROUP
            same += FANOUT
        else:
            rest = elements[same : len(known)]
            if rest and self.is_written_as(rest, known[same : same + len(rest)]):
                same += len(rest)
        for element, piece in zip(elements[same:], known[same:], strict=False):
            if dumps(element, name) != piece:
                break
            same += 1
        return known, same, images

    def place_list(self, written: Written, old: ListMemo | None) -> ListMemo:
        """Place the elements of a list, and the groups that are complete."""
        elements, same, images = written
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
        return ListMemo(elements, refs, groups, images)

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


def _untold(values: list[Any], other: Any) -> None:
    """Stand for what only a codec that makes images can tell."""


def _at(ref: Ref, digest: bytes) -> Ref:
    return Ref(digest, ref.piece) if ref.pack is None else ref
