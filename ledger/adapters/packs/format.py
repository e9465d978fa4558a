"""The bytes of packs.

A pack is `ILP1`, the length of its head (4 bytes, big-endian), the head as JSON, the digests of the packs it
refers to (32 bytes each), and its pieces one after another. The head has `d`, how many digests there are;
`s`, the sizes of the pieces; `n`, what each value is made of:

    a number           the piece with that reference
    [tag, levels]      a list: levels of references, the last one to elements, those before to groups

A reference is `pack * 2^24 + piece`; pack 0 is the pack itself, n the n-th digest. A *group* is a piece that
stands for 32 elements, or for 32 groups of the level below, in the same form without the magic: its head has
`d`, and `e`, its entries: a reference, or -1 - size for an element whose bytes follow in the group itself. So
elements that were written one by one are found together later.

JSON and a few sizes rather than a library's format: what is kept for years should be readable with a page of
description.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from pydantic_core import to_json

from ledger.errors import UndecodableRecord

MAGIC = b"ILP1"
FANOUT = 32
"""Elements of a group."""
PIECES = 1 << 24
"""Pieces of a pack are fewer."""
LARGEST = 1 << 30
"""Bytes of the values of a state, written out: more is neither written nor read, as a few bytes that refer to
one large piece many times may stand for more than any memory holds."""
DEEPEST = 5
"""Levels of groups: they hold more elements than there may be pieces."""
DIGEST = 32


class Ref(NamedTuple):
    """A piece of a pack."""

    pack: bytes | None
    """Digest of the pack; None: the one that is being written."""
    piece: int


Entry = Ref | bytes
"""An element or a group: where it is, or what it is."""


class Opened(NamedTuple):
    """A pack that was read."""

    digests: tuple[bytes, ...]
    pieces: tuple[bytes, ...]
    names: dict[str, Any]


class Group(NamedTuple):
    """A group that was read."""

    digests: tuple[bytes, ...]
    entries: list[int | bytes]


class References:
    """Numbers the packs that something refers to."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def number(self, ref: Ref) -> int:
        """Return the number that stands for a reference."""
        if ref.pack is None:
            return ref.piece
        return self._numbers.setdefault(ref.pack, len(self._numbers) + 1) * PIECES + ref.piece

    @property
    def digests(self) -> tuple[bytes, ...]:
        """The digests, in the order of their numbers."""
        return tuple(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def write_pack(names: dict[str, Any], references: References, pieces: Sequence[bytes]) -> bytes:
    """Write a pack."""
    head = {"d": len(references), "n": names, "s": list(map(len, pieces))}
    return b"".join((MAGIC, _head(head), *references.digests, *pieces))


def write_group(entries: Sequence[Entry]) -> bytes:
    """Write a group; what of it is given as bytes is copied into it."""
    references = References()
    written = [-1 - len(e) if isinstance(e, bytes) else references.number(e) for e in entries]
    head = {"d": len(references), "e": written}
    return b"".join((_head(head), *references.digests, *(e for e in entries if isinstance(e, bytes))))


def read_pack(content: bytes) -> Opened:
    """Read a pack.

    Raises:
        UndecodableRecord: the bytes are none, or of a later format, which `format` then names.
    """
    if content[: len(MAGIC)] != MAGIC:
        if content.startswith(MAGIC[:-1]):
            name, known = content[: len(MAGIC)].decode("latin-1"), MAGIC.decode()
            raise UndecodableRecord(
                f"the content of a saved state is of format {name!r}, and {known!r} is known here: upgrade",
                format=name,
                known=known,
            )
        raise _undecodable("it does not begin as a pack of this format does")
    head, start = _read_head(content, len(MAGIC))
    try:
        digests, start = _digests(content, start, head["d"])
        sizes, names = head["s"], head["n"]
        if not (isinstance(sizes, list) and isinstance(names, dict)) or set(map(type, sizes)) - {int}:
            raise _undecodable("its head does not say what is in it")
        ends = list(accumulate(sizes, initial=start))
        if ends[-1] != len(content) or min(sizes, default=0) < 0:
            raise _undecodable("its pieces are not as long as it says")
        pieces = tuple(content[a:b] for a, b in pairwise(ends))
    except (KeyError, TypeError) as error:
        raise _undecodable(f"its head is not one: {error!r}") from None
    return Opened(digests, pieces, names)


def read_group(piece: bytes) -> Group:
    """Read a group.

    Raises:
        UndecodableRecord: the bytes are none.
    """
    head, start = _read_head(piece, 0)
    entries: list[int | bytes] = []
    try:
        digests, start = _digests(piece, start, head["d"])
        for entry in head["e"]:
            if type(entry) is not int:
                raise _undecodable("an entry of a group is no number")
            if entry >= 0:
                entries.append(entry)
            else:
                entries.append(piece[start : start - entry - 1])
                start += -entry - 1
    except (KeyError, TypeError) as error:
        raise _undecodable(f"the head of a group is not one: {error!r}") from None
    if start != len(piece):
        raise _undecodable("a group is not as long as it says")
    return Group(digests, entries)


def ref_of(number: int, own: bytes, digests: Sequence[bytes]) -> Ref:
    """Read a reference that stands in a pack, or in a group of it.

    Args:
        number: the reference.
        own: digest of the pack in which it stands.
        digests: those that the pack, or the group, lists.

    Raises:
        UndecodableRecord: it refers to nothing that is listed.
    """
    if type(number) is not int or number < 0:
        raise _undecodable(f"{number!r:.50} is no reference")
    pack, piece = divmod(number, PIECES)
    if pack > len(digests):
        raise _undecodable(f"it refers to pack {pack} of {len(digests)}")
    return Ref(digests[pack - 1] if pack else own, piece)


def _head(head: dict[str, Any]) -> bytes:
    try:
        text = to_json(head)
    except ValueError:  # a lone surrogate in a name
        text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return len(text).to_bytes(4, "big") + text


def _read_head(content: bytes, start: int) -> tuple[dict[str, Any], int]:
    size = int.from_bytes(content[start : start + 4], "big")
    end = start + 4 + size
    try:
        head = json.loads(content[start + 4 : end].decode("utf-8", "surrogatepass"))
    except (RecursionError, ValueError) as error:
        raise _undecodable(f"its head is not JSON: {error}") from None
    if not isinstance(head, dict) or end > len(content):
        raise _undecodable("its head is not one")
    return head, end


def _digests(content: bytes, start: int, count: int) -> tuple[tuple[bytes, ...], int]:
    if type(count) is not int or count < 0:
        raise _undecodable("it does not say how many digests it lists")
    end = start + count * DIGEST
    if end > len(content):
        raise _undecodable("it ends before the digests that it lists")
    return tuple(content[at : at + DIGEST] for at in range(start, end, DIGEST)), end


def _undecodable(why: str) -> UndecodableRecord:
    return UndecodableRecord(f"the content of a saved state cannot be read: {why}")
