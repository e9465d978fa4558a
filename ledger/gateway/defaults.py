"""Fields that hold what their class declares as default: they are no part of what names an act.

Only where the declared type leaves no doubt about the class. Among several classes, or under `Any`, a field
may be all that tells one from another.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, RootModel
from pydantic_core import PydanticUndefined

from ledger.canonical import MAX_DEPTH

Tree = dict[Any, Any]
"""What pydantic takes as `exclude`: True for a field, or what is to be left out within."""

_EMPTY = (list, dict, tuple, set, frozenset)
"""Factories that make the same each time; what others make may be another tomorrow."""
_SEQUENCES = (list, tuple, Sequence)
_MAPPINGS = (dict, Mapping)
_NONE = object()


class _Field(NamedTuple):
    type: Any
    default: Any


def holding_defaults(declared: Any, value: Any, depth: int = 0) -> Tree | None:
    """Find the fields within a value of this type that hold their defaults; None where there are none."""
    if depth > MAX_DEPTH:
        return None
    declared = _plain(declared)
    origin, of = get_origin(declared), get_args(declared)
    items: Mapping[Any, tuple[Any, Any]]
    if origin in _MAPPINGS and isinstance(value, dict) and len(of) == 2:
        items = {key: (of[1], item) for key, item in value.items()}
    elif origin in _SEQUENCES and isinstance(value, list | tuple):
        each = of * len(value) if len(of) == 1 or origin is not tuple else of
        each = of[:1] * len(value) if of[1:] == (...,) else each
        items = dict(enumerate(zip(each, value, strict=False)))
    elif isinstance(declared, type) and type(value) is declared:
        return _in_fields(declared, value, depth)
    else:
        return None
    return _gathered(items, depth)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, and equal as JSON: True is no 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001  whatever its class raises
        return False


def _in_fields(kind: type, value: Any, depth: int) -> Tree | None:
    found: Tree = {}
    inner: dict[Any, tuple[Any, Any]] = {}
    for name, field in _fields(kind).items():
        item = getattr(value, name, _NONE)
        if item is _NONE:
            continue
        if field.default is not _NONE and same(item, field.default):
            found[name] = True
        else:
            inner[name] = field.type, item
    return (found | (_gathered(inner, depth) or {})) or None


def _gathered(items: Mapping[Any, tuple[Any, Any]], depth: int) -> Tree | None:
    found = {name: holding_defaults(kind, item, depth + 1) for name, (kind, item) in items.items()}
    return {name: within for name, within in found.items() if within is not None} or None


def _plain(declared: Any) -> Any:
    """Return a type without its annotations, and without None where that is all it may be instead."""
    while True:
        origin, of = get_origin(declared), get_args(declared)
        if origin is Annotated:
            declared = of[0]
        elif origin in (Union, types.UnionType):
            others = [one for one in of if one is not types.NoneType]
            if len(others) != 1:
                return Any
            declared = others[0]
        else:
            return declared


@lru_cache(maxsize=512)
def _fields(kind: type) -> Mapping[str, _Field]:
    """Return type and default of each field of a class of models, or of a dataclass."""
    if issubclass(kind, BaseModel):
        if issubclass(kind, RootModel):
            return {}
        return {
            name: _Field(field.annotation, _default(field.default, field.default_factory))
            for name, field in kind.model_fields.items()
        }
    if not dataclasses.is_dataclass(kind):
        return {}
    try:
        hints = get_type_hints(kind)
    except Exception:  # noqa: BLE001  names that exist for type checkers only
        hints = {}
    return {
        field.name: _Field(hints.get(field.name, Any), _default(field.default, field.default_factory))
        for field in dataclasses.fields(kind)
    }


def _default(default: Any, factory: Any) -> Any:
    if factory in _EMPTY:
        return factory()
    missing = default is PydanticUndefined or default is dataclasses.MISSING
    return _NONE if missing or hasattr(default, "default_factory") else default
