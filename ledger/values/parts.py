"""Parts that events and commands share."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from ledger.values.base import Value
from ledger.values.ids import Id, Ref, Text
from ledger.values.numbers import Count
from ledger.values.rules import Rule


class Step(Value):
    """One step of a plan."""

    description: Text | None = None
    name: Id
    rests_on: tuple[Ref, ...] = ()
    tool: Id | None = None


class ErrorSaid(Value):
    """What went wrong, in the words of who said so."""

    message: Annotated[str, StringConstraints(strict=True, max_length=65_536)]
    type: Id


class Branch(Value):
    """One of several paths that run side by side."""

    name: Id
    node: Id
    round: Count = 0


class SavedName(Value):
    """Names a saved state of a program: its id, and the line that it is on."""

    id: Id
    line: Id | None = None


class Published(Value):
    """A constraint as its source publishes it."""

    id: Id
    rule: Rule | None = None
    text: Text
