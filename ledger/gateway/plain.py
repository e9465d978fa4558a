"""Values as their types write them: as JSON, and complete, or not at all.

What a type leaves out of the JSON, or writes in an order of chance, would give two acts that differ one key,
or one act two keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from operator import is_
from typing import Any
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr, TypeAdapter
from pydantic_core import to_jsonable_python

from ledger.canonical import MAX_DEPTH, Json, invalid
from ledger.gateway.defaults import Tree
from ledger.values import SecretRef
from ledger.values.secrets import TAG, Lookup, tag_secrets

_COMMON = (BaseModel, Decimal, Enum, UUID, date, time, timedelta)
_PLAIN = (str, int, float, bool, type(None))


def written(adapter: TypeAdapter[Any], value: Any, without: Tree | None = None) -> Json:
    """Write a value as JSON, with the tag for each reference to a secret; some fields are left out.

    Raises:
        ValueError: something in it cannot be written.
    """
    found: Json = adapter.dump_python(value, mode="json", warnings=False, fallback=_tagged, exclude=without)
    return found


def written_in_full(adapter: TypeAdapter[Any], value: Any) -> Json:
    """Write a value as JSON, where it is of a subclass with all fields of that.

    Raises:
        ValueError: something in it cannot be written.
    """
    declared = written(adapter, value)
    complete = _complete(adapter, value)
    return declared if _left_out(complete, declared, "") is None else complete


def checked_in_full(adapter: TypeAdapter[Any], value: Any, path: str, without: Tree | None = None) -> Json:
    """Write an argument as JSON; fields that hold their defaults may be left out.

    Raises:
        InvalidInput: it is of a subclass whose further fields would be left out, or holds a set, a hidden
            secret, or what could be taken for a reference to one; `path` says where.
        ValueError: something in it cannot be written.
    """
    declared = written(adapter, value, without)
    if is_plain(value):
        return declared
    _check(adapter.dump_python(value, warnings=False, serialize_as_any=True, exclude=without), path, 1)
    left_out = _left_out(_complete(adapter, value, without), declared, path)
    if left_out is not None:
        raise invalid(
            left_out, "its declared type has no such field, so the key would not tell it; widen the type"
        )
    return declared


def is_plain(value: Any) -> bool:
    """Tell whether a value is as JSON has it, and holds no other."""
    return type(value) in _PLAIN


def _complete(adapter: TypeAdapter[Any], value: Any, without: Tree | None = None) -> Json:
    found: Json = adapter.dump_python(
        value, mode="json", warnings=False, fallback=_tagged, serialize_as_any=True, exclude=without
    )
    return found


def _tagged(value: Any) -> Any:
    if type(value) is SecretRef:
        return tag_secrets(value)
    raise ValueError(f"{type(value).__name__} is not JSON")


def _check(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise invalid(path, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if TAG in value:
            raise invalid(path, f"an object with the key {TAG!r} could be taken for a reference to a secret")
        for name, item in value.items():
            _check(item, f"{path}.{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check(item, f"{path}[{index}]", depth + 1)
    elif isinstance(value, set | frozenset):
        raise invalid(path, "a set has no order, so the key would be another each time; take a list")
    elif isinstance(value, SecretStr | SecretBytes):
        raise invalid(
            path, "it is written without its value, which the key has to tell: give SecretRef(name)"
        )


def _left_out(complete: Json, declared: Json, path: str) -> str | None:
    """Find the first field that is missing in what was written by the declared type."""
    if isinstance(complete, dict) and isinstance(declared, dict):
        for name, item in complete.items():
            where = f"{path}.{name}"
            found = _left_out(item, declared[name], where) if name in declared else where
            if found is not None:
                return found
    elif isinstance(complete, list) and isinstance(declared, list) and len(complete) == len(declared):
        for index, pair in enumerate(zip(complete, declared, strict=True)):
            found = _left_out(*pair, f"{path}[{index}]")
            if found is not None:
                return found
    return None


def bound(value: Any, lookup: Lookup) -> Any:
    """Return a value with its references bound to a lookup, those in models and dataclasses too."""
    if type(value) is SecretRef:
        return value.bound_to(lookup)
    if isinstance(value, dict):
        changed = _changed(value, lookup)
        return {**value, **changed} if changed else value
    if isinstance(value, list | tuple):
        items = [bound(item, lookup) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, BaseModel):
        changed = _changed(value.__dict__, lookup)
        return value.model_copy(update=changed) if changed else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = _changed({field.name: getattr(value, field.name) for field in fields(value)}, lookup)
        if changed:
            value = copy(value)
            for name, item in changed.items():
                object.__setattr__(value, name, item)
    return value


def references(value: Any) -> Iterator[SecretRef]:
    """Yield the references to secrets in a value, those in models and dataclasses too."""
    for item in _each(value, 0):
        if type(item) is SecretRef:
            yield item


def hides(value: Any) -> bool:
    """Tell whether a value holds a secret that pydantic does not write."""
    return any(isinstance(item, SecretStr | SecretBytes) for item in _each(value, 0))


def _each(value: Any, depth: int) -> Iterator[Any]:
    """Yield a value, and all that is in it."""
    yield value
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list | tuple):
        items = value
    elif isinstance(value, BaseModel):
        items = value.__dict__.values()
    elif is_dataclass(value) and not isinstance(value, type):
        items = [getattr(value, field.name, None) for field in fields(value)]
    if depth < MAX_DEPTH:
        for item in items:
            yield from _each(item, depth + 1)


def told(value: Any, depth: int = 0) -> Any:
    """Write what is of a common type as JSON, within lists and objects too; all else is left as it is."""
    if type(value) in _PLAIN or depth > MAX_DEPTH:
        return value
    if isinstance(value, list | tuple):
        items = [told(item, depth + 1) for item in value]
        same = type(value) is list and all(map(is_, items, value))
        return value if same else items
    if type(value) is dict:
        members = {name: told(item, depth + 1) for name, item in value.items()}
        return value if all(members[name] is value[name] for name in value) else members
    if isinstance(value, _COMMON) or (is_dataclass(value) and not isinstance(value, type)):
        try:
            return to_jsonable_python(value)
        except ValueError:
            return value
    return value


def own(value: Any) -> Any:
    """Return a copy of what can be changed in a value, so that whoever is given it changes nobody else's."""
    if type(value) in _PLAIN or type(value) is SecretRef:
        return value
    if type(value) is dict:
        return {name: own(item) for name, item in value.items()}
    if type(value) is list:
        return [own(item) for item in value]
    if type(value) is tuple:
        return tuple(own(item) for item in value)
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001  what cannot be copied is given as it is
        return value


def _changed(items: Mapping[Any, Any], lookup: Lookup) -> dict[Any, Any]:
    new = {name: bound(item, lookup) for name, item in items.items()}
    return {name: item for name, item in new.items() if item is not items[name]}
