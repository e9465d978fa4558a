"""Secrets that are known by their value, since a reference was resolved to it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ledger.canonical import MAX_DEPTH
from ledger.secrets.shapes import marker

RULE = "resolved"

LEAST = 4
"""Characters of the shortest value that is looked for; shorter ones are in too many words."""


def without_values(value: Any, secrets: Collection[str], depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value with these texts replaced wherever they stand; the same object where none does."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= LEAST and secret in value:
                value = value.replace(secret, marker(RULE))
        return value
    if not secrets or depth < 0:
        return value
    if isinstance(value, dict):
        items = {
            without_values(key, secrets): without_values(item, secrets, depth - 1)
            for key, item in value.items()
        }
        same = len(items) == len(value) and all(
            key in items and items[key] is item for key, item in value.items()
        )
        return value if same else items
    if isinstance(value, list | tuple):
        new = [without_values(item, secrets, depth - 1) for item in value]
        if all(one is other for one, other in zip(new, value, strict=True)):
            return value
        return new if isinstance(value, list) else tuple(new)
    return value
