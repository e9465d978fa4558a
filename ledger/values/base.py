"""The base of every value: frozen, closed, and quick to copy inside the fold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value; unknown fields are refused.

    Fields are declared in alphabetical order, which makes pydantic's output canonical JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
        return _filled(cls, fields, set(fields))


def _filled(kind: type[_V], fields: dict[str, Any], given: set[str]) -> _V:
    # What pydantic's own model_copy and model_construct end in, without what they do for other models.
    new = kind.__new__(kind)
    _set(new, "__dict__", fields)
    _set(new, "__pydantic_fields_set__", given)
    _set(new, "__pydantic_extra__", None)
    _set(new, "__pydantic_private__", None)
    return new


_V = TypeVar("_V", bound=Value)
_set = object.__setattr__
