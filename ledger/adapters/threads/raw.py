"""The values of states as the bytes that they are stored as: for who moves them and need not know them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from ledger.adapters.packs import Codec, Split, Unpacked


class RawList(NamedTuple):
    """A list of a state whose elements are not decoded."""

    tag: str
    elements: list[bytes]


class _Raw:
    """A codec that leaves everything as it is."""

    def dumps(self, value: Any, path: str) -> bytes:
        assert isinstance(value, bytes)
        return value

    def loads(self, content: bytes) -> Any:
        return content

    def split(self, value: Any) -> Split | None:
        return Split(value.tag, value.elements) if isinstance(value, RawList) else None

    def join(self, tag: str, elements: list[Any]) -> Any:
        return RawList(tag, elements)


RAW = _Raw()


def made_of(raw: Unpacked, codec: Codec, names: Collection[str] | None = None) -> Unpacked:
    """Decode a state that was read as bytes, or those of its values that are named.

    Raises:
        UndecodableRecord: a value is none, or of a type that is not known here.
    """
    loads, values = codec.loads, {}
    for name, value in raw.values.items():
        if names is not None and name not in names:
            continue
        if type(value) is RawList:
            values[name] = codec.join(value.tag, list(map(loads, value.elements)))
        else:
            values[name] = loads(value)
    return Unpacked(raw.head, values)
