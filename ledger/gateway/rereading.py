"""Reading arguments from JSON again: what is written must be what a tool is called with.

The key, the record, the rules and whoever approves an act know its arguments as they are written. What is
written as something else would be another act than the one that they know, and another one again where it is
sent anew.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from ledger.canonical import Json, canonical_text, invalid
from ledger.gateway.defaults import same
from ledger.values import explain, untag_secrets
from ledger.values.secrets import TAG

_NAMES: dict[str, Any] = {"by_alias": True, "by_name": True}
"""Fields are written by their names, so they are read by these, too, where pydantic can: from 2.11 on."""
if "by_name" not in inspect.signature(TypeAdapter.validate_python).parameters:
    _NAMES = {}

_HINT = (
    "what is recorded would not be what the tool is called with: a validator must leave alone what it made, "
    "and what hides, rounds or leaves out belongs to results, not to arguments"
)
_ALIAS = "; where a field has an alias, give it its own name, or let its class populate_by_name"


def read_again(adapter: TypeAdapter[Any], json: Json) -> Any:
    """Read a value from the JSON that it was written as, tags for references included.

    Raises:
        ValidationError: it is none of the type.
        InvalidInput: a tag in it is malformed.
    """
    try:
        return adapter.validate_python(untag_secrets(json), **_NAMES)
    except ValidationError:
        text = canonical_text(json)
        if f'"{TAG}":' in text:
            raise
        # What is strict takes a date, or a number with decimals, as text from JSON only.
        return adapter.validate_json(text, **_NAMES)


def check_reads_back(adapter: TypeAdapter[Any], value: Any, json: Json, path: str) -> None:
    """Make sure that the JSON that a value was written as is read as an equal value.

    Raises:
        InvalidInput: it is not; `path` says where.
    """
    try:
        again = read_again(adapter, json)
    except ValidationError as error:
        canonical_text(json, path=path)
        fault = explain(error, root=path)
        reason = f"it cannot be read again from what is written of it ({fault.reason}): {_HINT}{_ALIAS}"
        raise invalid(fault.path, reason) from None
    where = differs(value, again, path)
    if where is not None:
        canonical_text(json, path=path)
        raise invalid(where, f"it is another once it is read again from what is written of it: {_HINT}")


def differs(one: Any, other: Any, path: str) -> str | None:
    """Find where two values differ first, in all that their classes hold; None: nowhere."""
    kind = type(one)
    if isinstance(one, dict) and isinstance(other, dict):
        return path if one.keys() != other.keys() else _in_members(one, other, path)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return path
        for index, item in enumerate(one):
            found = differs(item, other[index], f"{path}[{index}]")
            if found is not None:
                return found
        return None
    if isinstance(one, BaseModel):
        if kind is not type(other) or not same(one.__pydantic_private__, other.__pydantic_private__):
            return path
        more, others = one.__pydantic_extra__ or {}, other.__pydantic_extra__ or {}
        if more.keys() != others.keys():
            return path
        named = {name: one.__dict__.get(name) for name in kind.model_fields}
        found = _in_members(named, {name: other.__dict__.get(name) for name in named}, path)
        return found or _in_members(more, others, path)
    if is_dataclass(kind) and kind is type(other):
        names = [field.name for field in fields(kind)]
        return _in_members(
            {name: getattr(one, name, None) for name in names},
            {name: getattr(other, name, None) for name in names},
            path,
        )
    return None if same(one, other) else path


def _in_members(one: dict[Any, Any], other: dict[Any, Any], path: str) -> str | None:
    for name, item in one.items():
        found = differs(item, other[name], f"{path}.{name}")
        if found is not None:
            return found
    return None


def changed_from(recorded: Json, full: Json, path: str = "args") -> str | None:
    """Find where complete JSON says something else than what was recorded, which may leave out defaults."""
    if isinstance(recorded, dict) and isinstance(full, dict):
        for name, item in recorded.items():
            where = f"{path}.{name}"
            found = changed_from(item, full[name], where) if name in full else where
            if found is not None:
                return found
        return None
    if isinstance(recorded, list) and isinstance(full, list) and len(recorded) == len(full):
        for index, item in enumerate(recorded):
            found = changed_from(item, full[index], f"{path}[{index}]")
            if found is not None:
                return found
        return None
    return None if same(recorded, full) else path
