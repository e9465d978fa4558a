"""How values of a class become data and values again."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel

from ledger.canonical import invalid

MARK = 0xC1
"""First byte of a value that is of a registered type itself."""

_new = object.__new__
_set = object.__setattr__
_SLOTS = vars(BaseModel)
_set_fields = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__


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
        InvalidInput: it is none of them.
    """
    name = checked_name(cls, name)
    derived = _derived(cls)
    if derived is None:
        raise invalid(
            "types",
            f"{name} is no pydantic model, dataclass, named tuple or enum: "
            "say how its values become data with `register(cls, take=…, build=…)`",
        )
    take, build = derived
    return Kind(name, cls, take, build)


def is_derivable(cls: type) -> bool:
    """Tell whether it is known how values of a class become data."""
    return _derived(cls) is not None


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
    """Derive how messages and documents are stored: by their fields alone, for there are many of them.

    They are built without being validated where the fields are those that the class has.
    """
    in_order = tuple(cls.model_fields)
    fields = frozenset(in_order)
    general_take, general_build = _model(cls)
    build_known, given = _builder(cls), set(in_order)
    is_plain = cls.model_config.get("extra") == "allow" and not cls.__private_attributes__

    def take(value: Any) -> Any:
        known = value.__dict__
        # Names in their order are compared quicker than sets, and a long history is written again and again.
        if tuple(known) == in_order and not value.__pydantic_extra__ and not value.__pydantic_private__:
            return known
        shape, kept, extra, private, _ = general_take(value)
        # Which fields were given is not kept of a message: its fields alone tell what is written.
        return [shape, kept, extra, private, sorted(fields - kept.keys())]

    def build(data: Any) -> Any:
        if is_plain and type(data) is dict and data.keys() == fields:
            # As below, in one go: a long history is read message by message.
            value = _new(cls)
            _set_fields(value, data)
            _set_given(value, given.copy())
            _set_extra(value, {})
            _set_private(value, None)
            return value
        if type(data) is dict:
            return build_known(data, None, None) if data.keys() == fields else cls.model_validate(data)
        return general_build(data)

    return Kind(name_of(cls), cls, take, build)


Derived = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _derived(cls: type) -> Derived | None:
    if issubclass(cls, BaseModel):
        return _model(cls)
    if issubclass(cls, Enum):
        return _enum(cls)
    if dataclasses.is_dataclass(cls):
        return _dataclass(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple(cls)
    return None


def _model(cls: type[BaseModel]) -> Derived:
    """Models that were written by the class as it is now are as they were; others are validated."""
    fields = frozenset(cls.model_fields)
    shape = _shape({name: repr(field.annotation) for name, field in cls.model_fields.items()})
    build_known = _builder(cls)

    def take(value: Any) -> Any:
        given = {name: one for name, one in value.__dict__.items() if name in fields}
        unset = sorted(fields - value.__pydantic_fields_set__)
        return [shape, given, value.__pydantic_extra__, value.__pydantic_private__, unset]

    def build(data: Any) -> Any:
        written, given, extra, private, unset = data
        if written == shape and given.keys() <= fields:
            return build_known(given, extra, private, unset)
        return cls.model_validate({**given, **(extra or {})})

    return take, build


def _builder(cls: type[BaseModel]) -> Callable[..., Any]:
    fields = frozenset(cls.model_fields)
    no_extra: bool = cls.model_config.get("extra") != "allow"
    has_private = bool(cls.__private_attributes__)

    def build(
        given: dict[str, Any],
        extra: dict[str, Any] | None,
        private: dict[str, Any] | None,
        unset: list[str] | None = None,
    ) -> Any:
        value = _new(cls)
        _set_fields(value, given)
        known = set(fields.difference(unset) if unset else fields)
        _set_given(value, known.union(extra) if extra else known)
        _set_extra(value, None if no_extra else (extra or {}))
        _set_private(value, (private or {}) if has_private else None)
        return value

    return build


def _dataclass(cls: type) -> Derived:
    names = [field.name for field in dataclasses.fields(cls)]
    shape = _shape({field.name: str(field.type) for field in dataclasses.fields(cls)})
    init = {field.name for field in dataclasses.fields(cls) if field.init}

    def take(value: Any) -> Any:
        return [shape, {name: getattr(value, name) for name in names}]

    def build(data: Any) -> Any:
        written, given = data
        if written != shape:
            return cls(**{name: one for name, one in given.items() if name in init})
        value: Any = _new(cls)
        for name, one in given.items():
            _set(value, name, one)
        return value

    return take, build


def _named_tuple(cls: Any) -> Derived:
    def take(value: Any) -> Any:
        return dict(zip(cls._fields, value, strict=True))

    def build(data: Any) -> Any:
        return cls(**data)

    return take, build


def _enum(cls: type[Enum]) -> Derived:
    """Store a member by its name; a combination of flags, which has none, by its value."""

    def take(value: Any) -> Any:
        return value.name if value.name in cls.__members__ else [value.value]

    def build(data: Any) -> Any:
        return cls[data] if isinstance(data, str) else cls(*data)

    return take, build


def _shape(fields: Mapping[str, str]) -> str:
    """Tell classes apart whose values cannot be taken for each other's."""
    text = "\n".join(f"{name}: {annotation}" for name, annotation in fields.items())
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]
