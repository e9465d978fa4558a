"""What is data: what comes back equal, and of equal types, in the format that it is written in.

Anything else is refused with its path. Dates, decimals and UUIDs are refused too, rather than written in some
form of ours: another program that reads the state would not know of it. Tuples are refused because they would
come back as lists.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import socket
import threading
from collections.abc import Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import PurePath
from types import ModuleType
from typing import Any, Final, Literal
from uuid import UUID

from ledger.canonical import invalid

Format = Literal["json", "msgpack"]

DEPTH: Final = 64
"""Levels that nest in a state."""

_JSON_BITS: Final = 8192
"""Python refuses to read integers of more than 4300 digits; these have fewer, and other readers may balk."""
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1

_LOCKS = (
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Condition,
    threading.Event,
    threading.Semaphore,
    asyncio.Condition,
    asyncio.Event,
    asyncio.Lock,
    asyncio.Semaphore,
)
_WRITTEN_OTHERWISE: Final[tuple[tuple[type, str], ...]] = (
    (Enum, "an enum member is not data: give its value"),
    (date, "a date is not data: write it, e.g. by isoformat()"),
    (time, "a time is not data: write it, e.g. by isoformat()"),
    (timedelta, "a span of time is not data: give its seconds"),
    (Decimal, "a Decimal is not data: write it as a text"),
    (UUID, "a UUID is not data: write it as a text"),
    (PurePath, "a path is not data: write it as a text"),
    (tuple, "a tuple would come back as a list: give a list"),
    (Set, "a set is not data: give a sorted list"),
    (bytearray, "a bytearray would come back as bytes: give bytes"),
    (memoryview, "a memoryview would come back as bytes: give bytes"),
)


def check_data(value: Any, path: str, format: Format) -> None:
    """Make sure that a value comes back as it is.

    Raises:
        InvalidInput: it would not, or is no data; `path` says where.
    """
    _Checking(format).check(value, path, ())


class _Checking:
    def __init__(self, format: Format) -> None:
        self.format = format

    def check(self, value: Any, path: str, around: tuple[int, ...]) -> None:
        kind = type(value)
        if kind is str:
            _text(value, path)
        elif kind is dict or kind is list:
            if id(value) in around:
                raise invalid(path, "this stands inside itself: a cycle is not data")
            if len(around) == DEPTH:
                raise invalid(path, f"more than {DEPTH} levels nest here")
            inside = (*around, id(value))
            if kind is list:
                for number, element in enumerate(value):
                    self.check(element, f"{path}[{number}]", inside)
            else:
                self._members(value, path, inside)
        elif kind is int:
            self._integer(value, path)
        elif kind is float:
            if not isfinite(value):
                raise invalid(path, f"{value} is not data: it equals nothing, or has no JSON")
        elif kind is bytes:
            if self.format == "json":
                raise invalid(path, "JSON has no bytes: save as MessagePack, or write them as a text")
        elif value is not None and kind is not bool:
            raise invalid(path, fault_of(value))

    def _members(self, value: dict[Any, Any], path: str, inside: tuple[int, ...]) -> None:
        for key, member in value.items():
            if type(key) is not str:
                raise invalid(path, f"a key is a text, not {_type_name(key)}")
            _text(key, path)
            self.check(member, f"{path}.{key}", inside)

    def _integer(self, value: int, path: str) -> None:
        if self.format == "msgpack" and not _LOWEST <= value <= _HIGHEST:
            raise invalid(path, "MessagePack has no integers beyond 64 bits: write it as a text")
        if value.bit_length() > _JSON_BITS:
            raise invalid(path, f"an integer of more than {_JSON_BITS} bits: write it as a text")


def fault_of(value: object) -> str:
    """Say what something is that is not data. Nothing of its content is shown."""
    for kind, fault in _WRITTEN_OTHERWISE:
        if isinstance(value, kind):
            return fault
    return f"{_what(value)} is not data"


def _what(value: object) -> str:
    if isinstance(value, type):
        return "a class"
    if isinstance(value, ModuleType):
        return "a module"
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "a generator"
    if inspect.isawaitable(value):
        return "a coroutine"
    if inspect.isroutine(value):
        return "a function"
    if isinstance(value, _LOCKS):
        return "a lock"
    if isinstance(value, threading.Thread):
        return "a thread"
    if isinstance(value, socket.socket):
        return "a socket"
    if isinstance(value, io.IOBase):
        return "an open file"
    if isinstance(value, str | int | float | bytes | dict | list):
        # It would come back as the plain type: an own class is refused like every other object.
        return f"an object of {_type_name(value)}, which would come back as another type,"
    return f"an object of {_type_name(value)}"


def _type_name(value: object) -> str:
    kind = type(value)
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def _text(text: str, path: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid(path, "half of a surrogate pair is no text") from None
