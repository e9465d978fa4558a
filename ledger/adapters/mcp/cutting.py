"""Answers of a bounded size, which say how to read on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

MOST_BYTES = 64 * 1024
"""JSON bytes of a list in one answer; one item may take more."""
MOST_CHARACTERS = 100_000
"""Characters of the words for a model in one answer."""


class Some(NamedTuple):
    """Some items of a list, and how many stand behind them."""

    items: list[Any]
    left_out: int


def some(items: Sequence[Any], limit: int, offset: int = 0) -> Some:
    """Take as many items as there is room for, at least one."""
    taken: list[Any] = []
    room = MOST_BYTES
    for item in items[offset : offset + limit]:
        room -= len(json.dumps(item))
        if taken and room < 0:
            break
        taken.append(item)
    return Some(taken, max(0, len(items) - offset - len(taken)))


def cut(document: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Cut every list of a document, and say in `left_out` how many items of which are missing."""
    found: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    for name, value in document.items():
        if isinstance(value, list):
            found[name], missing = some(value, limit)
            if missing:
                left_out[name] = missing
        else:
            found[name] = value
    return {**found, "left_out": left_out} if left_out else found


def lists_of(document: Mapping[str, Any]) -> Iterable[str]:
    """Name what of a document is a list."""
    return (name for name, value in document.items() if isinstance(value, list))


def shortened(text: str, how_on: str) -> str:
    """Cut words for a model where they are too long, and say so where they end."""
    if len(text) <= MOST_CHARACTERS:
        return text
    missing = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n\n[Cut here: {missing:,} characters are missing. {how_on}]\n"
