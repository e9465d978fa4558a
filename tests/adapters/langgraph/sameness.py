"""Telling whether a value is what another one was, down to the types of what it holds."""

from __future__ import annotations

import dataclasses
from collections import Counter, deque
from typing import Any

from pydantic import BaseModel


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are equal, and so are their types and attributes all the way down."""
    if type(left) is not type(right) or not _alike(left, right):
        return False
    if isinstance(left, BaseModel):
        return same(left.__pydantic_private__, right.__pydantic_private__) and same(vars(left), vars(right))
    if dataclasses.is_dataclass(left):
        names = [field.name for field in dataclasses.fields(left)]
        return all(same(getattr(left, name), getattr(right, name)) for name in names) and _same_rest(
            left, right
        )
    return _same_rest(left, right)


def _same_rest(left: Any, right: Any) -> bool:
    held = getattr(left, "__dict__", None)
    return type(held) is not dict or same(held, vars(right))


def _alike(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple, deque)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return len(left) == len(right) and all(
            map(same, [*left.keys(), *left.values()], [*right.keys(), *right.values()])
        )
    if isinstance(left, (set, frozenset)):
        return Counter(map(repr, left)) == Counter(map(repr, right))
    if isinstance(left, int) or hasattr(left, "__dict__"):
        return bool(left == right)
    return repr(left) == repr(right)
