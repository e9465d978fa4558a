"""Words as every database keeps them."""

from __future__ import annotations

_NUL_SHOWN = "\N{SYMBOL FOR NULL}"


def storable(text: str | None) -> str | None:
    """Return text without NUL, which PostgreSQL keeps in no text: its picture stands in its place.

    Words for people may hold it; the record keeps them as they were.
    """
    return text if text is None else text.replace("\0", _NUL_SHOWN)
