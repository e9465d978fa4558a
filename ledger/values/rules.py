"""What of a constraint a machine can check."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints, model_validator

from ledger.values.base import Value
from ledger.values.ids import Id
from ledger.values.numbers import Flag
from ledger.values.payloads import CanonicalJson


class Operator(StrEnum):
    """How a predicate compares the argument it points at with its value."""

    EQUAL = "eq"
    NOT_EQUAL = "ne"
    LESS = "lt"
    AT_MOST = "le"
    GREATER = "gt"
    AT_LEAST = "ge"
    ONE_OF = "in"
    NONE_OF = "not_in"
    STARTS_WITH = "starts_with"
    PRESENT = "present"
    ABSENT = "absent"


# By the first character of the canonical text of what to compare with.
_SHAPES: dict[Operator, str] = {
    Operator.LESS: '"-0123456789',
    Operator.AT_MOST: '"-0123456789',
    Operator.GREATER: '"-0123456789',
    Operator.AT_LEAST: '"-0123456789',
    Operator.ONE_OF: "[",
    Operator.NONE_OF: "[",
    Operator.STARTS_WITH: '"',
}
_SHAPE_NAMES = {'"-0123456789': "a number or text", "[": "a list", '"': "text"}


class Predicate(Value):
    """One condition on the arguments of an act."""

    operator: Operator
    path: Annotated[str, StringConstraints(strict=True, pattern=r"^(/.*)?$", max_length=500)]
    """JSON Pointer into the arguments (RFC 6901), e.g. `/payment/amount`."""
    value: CanonicalJson | None = None
    """What to compare with, as canonical JSON; None for `present` and `absent`."""

    @model_validator(mode="after")
    def _complete(self) -> Predicate:
        bare = self.operator in (Operator.PRESENT, Operator.ABSENT)
        if bare != (self.value is None):
            raise ValueError(f"'{self.operator}' takes {'no value' if bare else 'a value'}")
        shape = _SHAPES.get(self.operator)
        if shape is not None and self.value is not None and self.value[0] not in shape:
            raise ValueError(f"'{self.operator}' takes {_SHAPE_NAMES[shape]}")
        return self


class Rule(Value):
    """What of a constraint a machine can check, before an act and from its arguments alone."""

    allow: tuple[Id, ...] | None = None
    """Only these tools; None: any."""
    deny: tuple[Id, ...] = ()
    """Never these tools, whatever `tools` and `when` say."""
    needs_approval: Flag = False
    """A person must approve each act the rule applies to."""
    require: tuple[Predicate, ...] = ()
    """Conditions the arguments must all meet."""
    resources: tuple[Id, ...] | None = None
    """Only acts on these resources, as the tool declares them; None: any."""
    tenants: tuple[Id, ...] | None = None
    """Only acts of runs of these tenants; None: any."""
    tools: tuple[Id, ...] = ()
    """The rule applies to these tools; empty: to all."""
    when: tuple[Predicate, ...] = ()
    """The rule applies to acts whose arguments meet all of these, and to those of which that cannot be told.
    Only `deny` binds others too."""
