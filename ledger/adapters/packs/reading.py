"""Reading a state out of its pack, and of those that it refers to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ledger.adapters.packs.codec import Codec
from ledger.adapters.packs.format import (
    DEEPEST,
    FANOUT,
    LARGEST,
    Entry,
    Opened,
    Ref,
    read_group,
    read_pack,
    ref_of,
)
from ledger.adapters.packs.memo import ListMemo, Memo
from ledger.adapters.packs.writing import SMALL
from ledger.errors import UndecodableRecord

Fetch = Callable[[Collection[bytes]], Mapping[bytes, bytes]]
"""Reads contents by their digests; those that are gone are left out."""


class Unpacked(NamedTuple):
    """A state that was read."""

    head: bytes
    values: dict[str, Any]


def unpack(
    digest: bytes,
    content: bytes,
    fetch: Fetch,
    codec: Codec,
    *,
    names: Collection[str] | None = None,
    memo: Memo | None = None,
    line: str | None = None,
) -> Unpacked:
    """Read a state.

    Args:
        digest: of its content.
        content: the pack.
        fetch: reads the packs that it refers to: a few times at most, however long its lists are.
        codec: what reads the values.
        names: only these values; none of them: only the head.
        memo: where what is stored is to be noted.
        line: the line that the state is on.

    Raises:
        UndecodableRecord: a content is none, or is gone.
    """
    packs = _Packs(digest, content, fetch)
    root = packs.opened[digest]
    if names is None:
        packs.fetch(root.digests)
    wanted = {name: made for name, made in root.names.items() if names is None or name in names}
    lists = {name: _List(packs, made, root, digest) for name, made in wanted.items() if type(made) is list}
    packs.fetch(
        ref.pack
        for ref in (ref_of(made, digest, root.digests) for made in wanted.values() if type(made) is not list)
    )
    _descend(lists.values())
    packs.fetch(ref.pack for one in lists.values() for ref in one.refs())
    values: dict[str, Any] = {}
    size = 0
    for name, made in wanted.items():
        if type(made) is list:
            one = lists[name]
            elements = one.read()
            size += sum(map(len, elements))
            _bounded(size)
            values[name] = codec.join(one.tag, list(map(codec.loads, elements)))
            if memo is not None:
                memo.lists[line, name] = one.known(elements)
        else:
            ref = ref_of(made, digest, root.digests)
            piece = packs.piece(ref)
            size += len(piece)
            _bounded(size)
            values[name] = codec.loads(piece)
            if memo is not None and len(piece) > SMALL:
                memo.note(piece, ref)
    if memo is not None:
        memo.refers(digest, root.digests)
    return Unpacked(packs.piece(Ref(digest, 0)), values)


def refers_to(digest: bytes, content: bytes, fetch: Fetch) -> set[bytes]:
    """List the packs that have to be kept so that a state can be read, its own among them.

    Raises:
        UndecodableRecord: a content is none, or is gone.
    """
    packs = _Packs(digest, content, fetch)
    root = packs.opened[digest]
    lists = [_List(packs, made, root, digest) for made in root.names.values() if type(made) is list]
    _descend(lists)
    needed = {digest, *root.digests}
    for one in lists:
        needed.update(ref.pack for ref in (*one.refs(), *one.groups.values()) if ref.pack is not None)
    return needed


def _bounded(size: int) -> None:
    if size > LARGEST:
        raise UndecodableRecord(f"a saved state comes to more than {LARGEST} bytes")


def _descend(lists: Collection[_List]) -> None:
    """Go down to the elements of all lists, a level of all at a time."""
    above = list(lists)
    while above:
        above = [one for one in above if one.descend()]


class _Packs:
    """Packs that were read, by digest."""

    def __init__(self, digest: bytes, content: bytes, fetch: Fetch) -> None:
        self._fetch = fetch
        self.opened: dict[bytes, Opened] = {digest: read_pack(content)}

    def fetch(self, digests: Iterable[bytes | None]) -> None:
        wanted = {digest for digest in digests if digest is not None and digest not in self.opened}
        if not wanted:
            return
        found = self._fetch(wanted)
        missing = wanted - found.keys()
        if missing:
            raise UndecodableRecord(
                f"a saved state rests on {len(missing)} content(s) that are gone, "
                f"the first is {min(missing).hex()}"
            )
        for digest in wanted:
            self.opened[digest] = read_pack(found[digest])

    def piece(self, ref: Ref) -> bytes:
        assert ref.pack is not None
        try:
            return self.opened[ref.pack].pieces[ref.piece]
        except IndexError:
            raise UndecodableRecord(
                f"a saved state refers to piece {ref.piece} of {ref.pack.hex()}, which has fewer"
            ) from None


class _List:
    """A list on the way from its groups down to its elements."""

    def __init__(self, packs: _Packs, made: list[Any], root: Opened, digest: bytes) -> None:
        try:
            self.tag, levels = made
            if not isinstance(self.tag, str):
                raise TypeError("its tag is no text")
            self._levels = [[ref_of(number, digest, root.digests) for number in level] for level in levels]
        except (TypeError, ValueError) as error:
            raise UndecodableRecord(f"a list of a saved state is not one: {error}") from None
        if not 1 <= len(self._levels) <= 1 + DEEPEST:
            raise UndecodableRecord(f"a list of a saved state has {len(self._levels)} levels")
        self._packs = packs
        self._entries: list[Entry] = list(self._levels[0])
        self._level = len(self._levels) - 1
        self.groups: dict[tuple[int, int], Ref] = {}

    def descend(self) -> bool:
        """Go down one level; False where it is at its elements."""
        if self._level == 0:
            return False
        self._packs.fetch(entry.pack for entry in self._entries if isinstance(entry, Ref))
        # Each stands at one place in one list. One that stood at many could stand for more than there is.
        if len(set(self._entries)) < len(self._entries):
            raise UndecodableRecord("a group of a saved state stands at two places")
        below: list[Entry] = []
        for number, entry in enumerate(self._entries):
            assert isinstance(entry, Ref)
            self.groups[self._level, number] = entry
            group = read_group(self._packs.piece(entry))
            if len(group.entries) != FANOUT:
                raise UndecodableRecord(f"a group of a saved state has {len(group.entries)} entries")
            assert entry.pack is not None
            pack, digests = entry.pack, group.digests
            below += [one if isinstance(one, bytes) else ref_of(one, pack, digests) for one in group.entries]
        self._level -= 1
        self._entries = below + list(self._levels[len(self._levels) - 1 - self._level])
        return True

    def refs(self) -> list[Ref]:
        """Return the references to elements that are not copied into a group."""
        return [entry for entry in self._entries if isinstance(entry, Ref)]

    def read(self) -> list[bytes]:
        """Return the elements."""
        return [entry if isinstance(entry, bytes) else self._packs.piece(entry) for entry in self._entries]

    def known(self, elements: list[bytes]) -> ListMemo:
        """Return what a memo has to know of it."""
        refs = [entry if isinstance(entry, Ref) else None for entry in self._entries]
        return ListMemo(elements, refs, self.groups)
