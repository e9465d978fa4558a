"""How values of a class become data and values again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from enum import Enum
from types import MemberDescriptorType
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter
from pydantic.dataclasses import is_pydantic_dataclass

from ledger.adapters.langgraph.attributes import beside, refuse_lost, set_each, shape_of
from ledger.adapters.langgraph.models import by_name, message, model
from ledger.canonical import invalid

MARK = 0xC1
"""First byte of a value that is of a registered type itself."""

_new = object.__new__


class Kind(NamedTuple):
    """A class whose values may stand in a state."""

    name: str
    """What is stored of the class; it is looked up in a table and never imported."""
    cls: type
    take: Callable[[Any], Any]
    """Turns a value into data."""
    build: Callable[[Any], Any]
    """Turns what `take` gave into a value; it may raise anything."""

    @property
    def mark(self) -> bytes:
        """What stands in front of the data of a value: a byte that MessagePack never uses, and the name."""
        name = self.name.encode()
        return bytes((MARK, len(name))) + name


def kind_of(cls: type, name: str | None = None) -> Kind:
    """Derive how values of a class are stored: a pydantic model, a dataclass, a named tuple or an enum.

    Raises:
        InvalidInput: it is none of them, or its values could not be read.
    """
    name = checked_name(cls, name)
    why = _obstacle(cls)
    if why is not None:
        raise invalid(
            "types", f"{name} {why}: say how its values become data with `register(cls, take=…, build=…)`"
        )
    take, build = _derived(cls)
    return Kind(name, cls, take, build)


def is_derivable(cls: type) -> bool:
    """Tell whether it is known how values of a class become data."""
    return _obstacle(cls) is None


def checked_name(cls: type, name: str | None) -> str:
    """Return the name under which values of a class are stored.

    Raises:
        InvalidInput: the one that is given is none.
    """
    name = name_of(cls) if name is None else name
    if not isinstance(name, str) or not name or len(name.encode("utf-8", "replace")) > 255:
        raise invalid("types", f"a type is stored under a name of up to 255 bytes, not {name!r:.50}")
    return name


def name_of(cls: type) -> str:
    """Return the name under which values of a class are stored, unless it is given another."""
    return f"{cls.__module__}.{cls.__qualname__}"


def message_kind(cls: type[BaseModel]) -> Kind:
    """Derive how messages and documents are stored."""
    return Kind(name_of(cls), cls, *message(cls))


Derived = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _obstacle(cls: type) -> str | None:
    """Say why it is not known how values of a class become data; None: it is known."""
    if issubclass(cls, Enum):
        return None
    if _is_named_tuple(cls):
        make: Callable[[Any], Any] = tuple.__new__
    elif issubclass(cls, BaseModel) or dataclasses.is_dataclass(cls):
        make = _new
    else:
        return "is no pydantic model, dataclass, named tuple or enum"
    try:
        make(cls)
    except TypeError:
        # Nothing is of an abstract class itself.
        if not inspect.isabstract(cls):
            return "is a list, a dictionary, an exception or the like besides, which its fields do not tell"
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            found = inspect.getattr_static(cls, field.name, None)
            if hasattr(type(found), "__set__") and not isinstance(found, MemberDescriptorType):
                return f"computes its field {field.name!r}"
    return None


def _derived(cls: Any) -> Derived:
    if issubclass(cls, BaseModel):
        return model(cls)
    if issubclass(cls, Enum):
        return _enum(cls)
    return _named_tuple(cls) if _is_named_tuple(cls) else _dataclass(cls)


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _dataclass(cls: Any) -> Derived:
    names = [field.name for field in dataclasses.fields(cls)]
    shape = shape_of({field.name: str(field.type) for field in dataclasses.fields(cls)})
    given_at_first = {field.name for field in dataclasses.fields(cls) if field.init}
    more_of, known = beside(cls, names), frozenset(names)

    def take(value: Any) -> Any:
        return [shape, {name: getattr(value, name) for name in names}, more_of(value)]

    def build(data: Any) -> Any:
        written, given, more = data
        if written == shape and given.keys() == known:
            value = _new(cls)
        else:
            refuse_lost(given.keys() - known)
            value = _constructed(cls, {name: one for name, one in given.items() if name in given_at_first})
            given = {name: one for name, one in given.items() if name not in given_at_first}
        set_each(value, given)
        # What was computed when it was made, and set since, is as it was.
        set_each(value, more)
        return value

    return take, build


def _constructed(cls: Any, given: dict[str, Any]) -> Any:
    if is_pydantic_dataclass(cls):
        return TypeAdapter(cls).validate_python(given, **by_name(cls.__pydantic_fields__))
    return cls(**given)


def _named_tuple(cls: Any) -> Derived:
    """Its class may make its values of other arguments than its fields: it is not asked."""
    more_of, fields = beside(cls, cls._fields), frozenset(cls._fields)
    defaults = getattr(cls, "_field_defaults", {})

    def take(value: Any) -> Any:
        return [dict(zip(cls._fields, value, strict=True)), more_of(value)]

    def build(data: Any) -> Any:
        given, more = data
        refuse_lost(given.keys() - fields)
        given = {**defaults, **given}
        value = tuple.__new__(cls, [given[name] for name in cls._fields])
        set_each(value, more)
        return value

    return take, build


def _enum(cls: type[Enum]) -> Derived:
    """Store a member by its name; a combination of flags, which has none, by its value."""

    def take(value: Any) -> Any:
        return value.name if value.name in cls.__members__ else [value.value]

    def build(data: Any) -> Any:
        return cls[data] if isinstance(data, str) else cls(*data)

    return take, build
