"""Every pydantic model that stands in a record or a command, found by walking the annotations."""

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ledger.commands import COMMAND_CLASSES
from ledger.events import EVENT_CLASSES
from ledger.record import TermsMark
from ledger.values import Actor


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _inside(argument)


def _walk(*kinds: type[BaseModel]) -> dict[type[BaseModel], None]:
    found: dict[type[BaseModel], None] = {}
    left = list(kinds)
    while left:
        kind = left.pop()
        if kind not in found:
            found[kind] = None
            for field in kind.model_fields.values():
                left.extend(_inside(field.annotation))
    return found


STORED: list[type[BaseModel]] = sorted(
    _walk(*EVENT_CLASSES, Actor, TermsMark), key=lambda kind: kind.__name__
)
"""Models whose bytes are part of a record."""

MODELS: list[type[BaseModel]] = sorted(
    {**_walk(*COMMAND_CLASSES), **dict.fromkeys(STORED)}, key=lambda kind: kind.__name__
)
"""Models of records and commands."""
