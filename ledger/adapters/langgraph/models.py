"""How pydantic models become data and values again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from ledger.adapters.langgraph.attributes import beside, refuse_lost, set_each, shape_of

_new = object.__new__
_SLOTS = vars(BaseModel)
_set_fields = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__

Take = Callable[[Any], Any]
Build = Callable[[Any], Any]


class Parts(NamedTuple):
    """What is written of a model."""

    shape: str
    given: dict[str, Any]
    """Its fields, by their names in the class."""
    extra: dict[str, Any] | None
    private: dict[str, Any] | None
    unset: list[str]
    """Fields that were not given when it was made."""
    beside: dict[str, Any]
    """Attributes that are none of these."""


def model(cls: type[BaseModel]) -> tuple[Take, Build]:
    """Models that were written by the class as it is now are as they were; others are validated."""
    fields = frozenset(cls.model_fields)
    shape = shape_of(
        {name: repr(field.annotation) for name, field in cls.model_fields.items()}
        | dict.fromkeys(sorted(cls.__private_attributes__), "private")
        | {"": str(_allows_extra(cls))}
    )
    build_known, more_of = _builder(cls), beside(cls, fields)

    def take(value: Any) -> Any:
        given = {name: one for name, one in value.__dict__.items() if name in fields}
        unset = sorted(fields - value.__pydantic_fields_set__)
        extra, private = value.__pydantic_extra__, value.__pydantic_private__
        return list(Parts(shape, given, extra, private, unset, more_of(value)))

    def build(data: Any) -> Any:
        parts = Parts(*data)
        if parts.shape == shape and parts.given.keys() <= fields:
            value = build_known(parts.given, parts.extra, parts.private, parts.unset)
        else:
            value = validated(cls, parts.given, parts.extra, parts.private, parts.unset)
        set_each(value, parts.beside)
        return value

    return take, build


def message(cls: type[BaseModel]) -> tuple[Take, Build]:
    """Messages and documents are written by their fields alone, for there are many of them.

    They are built without being validated where the fields are those that the class has.
    """
    in_order = tuple(cls.model_fields)
    fields = frozenset(in_order)
    general_take, general_build = model(cls)
    build_known, given = _builder(cls), set(in_order)
    is_plain = _allows_extra(cls) and not cls.__private_attributes__

    def take(value: Any) -> Any:
        known = value.__dict__
        # Names in their order are compared quicker than sets, and a long history is written again and again.
        if tuple(known) == in_order and not value.__pydantic_extra__ and not value.__pydantic_private__:
            return known
        parts = Parts(*general_take(value))
        # Which fields were given is not kept of a message: its fields alone tell what is written.
        return list(parts._replace(unset=sorted(fields - parts.given.keys())))

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
            return build_known(data, None, None) if data.keys() == fields else validated(cls, data)
        return general_build(data)

    return take, build


def validated(
    cls: type[BaseModel],
    given: Mapping[str, Any],
    extra: Mapping[str, Any] | None = None,
    private: Mapping[str, Any] | None = None,
    unset: Iterable[str] = (),
) -> Any:
    """Build a model by the rules of its class, which has changed since it was written.

    Raises:
        ValueError: the class takes it no more, or part of it.
    """
    told = {**given, **(extra or {})}
    if not _allows_extra(cls):
        refuse_lost(told.keys() - cls.model_fields.keys())
    refuse_lost((private or {}).keys() - cls.__private_attributes__.keys())
    data = told["root"] if issubclass(cls, RootModel) else told
    value = cls.model_validate(data, **by_name(cls.model_fields))
    value.__pydantic_fields_set__.difference_update(unset)
    if private:
        assert value.__pydantic_private__ is not None
        value.__pydantic_private__.update(private)
    return value


def by_name(fields: Mapping[str, FieldInfo]) -> dict[str, Any]:
    """Return options of validation with which fields go by the names that they have in the class."""
    aliased = any(field.alias is not None or field.validation_alias is not None for field in fields.values())
    return {"by_alias": False, "by_name": True} if aliased else {}


def _allows_extra(cls: type[BaseModel]) -> bool:
    return cls.model_config.get("extra") == "allow"


def _builder(cls: type[BaseModel]) -> Callable[..., Any]:
    fields = frozenset(cls.model_fields)
    no_extra = not _allows_extra(cls)
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
