"""The classes that stand in the schema of a graph's state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel
from typing_extensions import is_typeddict

from ledger.adapters.langgraph.kinds import is_derivable


def classes_in(schema: Any) -> Iterator[type]:
    """Yield the classes in a schema of which it is known how their values become data, each once.

    Args:
        schema: a typed dictionary, a model, a dataclass, or whatever else may annotate a field.
    """
    seen: set[Any] = set()
    left = [schema]
    while left:
        one = left.pop()
        try:
            if one in seen:
                continue
            seen.add(one)
        except TypeError:  # what cannot be hashed is a value, e.g. among those of a literal
            continue
        left += get_args(one)
        if isinstance(one, type):
            left += _fields(one)
            if is_derivable(one):
                yield one


def _fields(cls: type) -> list[Any]:
    if issubclass(cls, BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    if not (is_typeddict(cls) or dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls, include_extras=True).values())
    except (NameError, TypeError):
        # They name what is not there, or only for a type checker.
        return [one for one in getattr(cls, "__annotations__", {}).values() if not isinstance(one, str)]
