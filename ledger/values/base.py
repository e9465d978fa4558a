"""The base of every value: frozen, closed, and quick to copy inside the fold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ledger.values.faults import explain


class Value(BaseModel):
    """A frozen value; unknown fields are refused. One that is built and malformed is InvalidInput.

    Fields are declared in alphabetical order, which makes pydantic's output canonical JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    if not TYPE_CHECKING:

        def __init__(self, /, **fields):
            # As in pydantic's own, which would be a further call.
            try:
                self.__pydantic_validator__.validate_python(fields, self_instance=self)
            except ValidationError as error:
                raise explain(error, known=type(self).model_fields) from None

        # Data take no detour through here: pydantic collects the faults of all that is inside.
        __init__.__pydantic_base_init__ = True

    def with_fields(self, changes: Mapping[str, Any]) -> Self:
        """Copy the value with some fields replaced by values that were checked already."""
        fields = self.__dict__.copy()
        fields.update(changes)
        return _filled(type(self), fields, self.__pydantic_fields_set__)

    @classmethod
    def unchecked(cls, fields: dict[str, Any]) -> Self:
        """Build a value from all its fields, in their order, each of them checked already.

        The fold makes such values by the thousand out of events, which were checked when they were read.
        """
        return _filled(cls, fields, _all_fields(cls))


def _filled(kind: type[_V], fields: dict[str, Any], given: set[str]) -> _V:
    # What pydantic's own model_copy and model_construct end in, without what they do for other models.
    new = _new(kind)
    _set_fields(new, fields)
    _set_given(new, given)
    _set_extra(new, None)
    _set_private(new, None)
    return new


@cache
def _all_fields(kind: type[Value]) -> set[str]:
    # Shared by the values of a class: frozen ones never add to it, and copies take a copy.
    return set(kind.__pydantic_fields__)


_V = TypeVar("_V", bound=Value)
_new = object.__new__
# The slots of every model, set without looking each one up by its name: a third of the time less.
_SLOTS = vars(BaseModel)
_set_fields = _SLOTS["__dict__"].__set__
_set_given = _SLOTS["__pydantic_fields_set__"].__set__
_set_extra = _SLOTS["__pydantic_extra__"].__set__
_set_private = _SLOTS["__pydantic_private__"].__set__
