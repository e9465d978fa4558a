"""The values of states as the bytes that they are stored as: for who moves them and need not know them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ledger.adapters.packs import Split


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
