"""What values hold beside their fields, and what tells classes apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from types import MemberDescriptorType
from typing import Any

from pydantic import BaseModel

_MADE_AGAIN = frozenset({"__orig_class__"})
"""What a generic class notes of how it was called."""


def beside(cls: type, fields: Collection[str]) -> Callable[[Any], dict[str, Any]]:
    """Return what tells the attributes that a value has beside its fields, e.g. those of `__post_init__`.

    What a `cached_property` keeps is not among them: it is computed again where it is asked for.
    """
    bases = [base for base in cls.__mro__ if base is not BaseModel]
    skipped = {*fields, *_MADE_AGAIN}
    slots: dict[str, MemberDescriptorType] = {}
    for base in bases:
        for name, one in vars(base).items():
            if isinstance(one, cached_property):
                skipped.add(name)
            elif isinstance(one, MemberDescriptorType) and name not in fields:
                slots.setdefault(name, one)

    def look(value: Any) -> dict[str, Any]:
        found = {
            name: one for name, one in getattr(value, "__dict__", _NOTHING).items() if name not in skipped
        }
        for name, slot in slots.items():
            try:
                found[name] = slot.__get__(value)
            except AttributeError:
                continue  # nothing was put there
        return found

    return look


_NOTHING: Mapping[str, Any] = {}
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def set_each(value: Any, attributes: Mapping[str, Any]) -> None:
    """Set attributes, of what is frozen too."""
    for name, one in attributes.items():
        object.__setattr__(value, name, one)


def refuse_lost(names: Collection[str]) -> None:
    """Refuse to leave out what was written: a class that takes it no more would lose it silently.

    Raises:
        ValueError: there are such names.
    """
    if names:
        raise ValueError(f"it has no place for {', '.join(map(repr, sorted(names)))}, which was written")


def shape_of(fields: Mapping[str, str]) -> str:
    """Tell classes apart whose values cannot be taken for each other's.

    A function in an annotation, such as one by which a list grows, lies elsewhere in each process.
    """
    text = "\n".join(f"{name}: {_ADDRESS.sub('', annotation)}" for name, annotation in fields.items())
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
