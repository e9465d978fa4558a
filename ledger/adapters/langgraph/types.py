"""The types that may stand in the state of a graph: a closed table, from names to classes."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core import messages as m
from langchain_core.documents import Document
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import GetOp, Item
from langgraph.types import (
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
    TimeoutPolicy,
)
from pydantic import BaseModel
from typing_extensions import is_typeddict

from ledger.adapters.langgraph.images import PLAIN
from ledger.adapters.langgraph.kinds import Kind, checked_name, is_derivable, kind_of, message_kind, name_of
from ledger.adapters.langgraph.schemas import Graph, classes_in, is_graph
from ledger.canonical import invalid

Types = Iterable[type | Graph] | Mapping[str, type]
"""Classes and graphs, or classes by the name under which their values are stored."""


class KnownTypes:
    """A table of kinds. It grows by what is registered, never by what is read."""

    def __init__(self) -> None:
        self._by_class: dict[type, Kind] = dict(_BUILTIN)
        self._by_name: dict[str, Kind] = {kind.name: kind for kind in _BUILTIN.values()}
        self._awaited: set[tuple[str, str]] = set()
        self.written: dict[type, tuple[bytes, Callable[[Any], Any]]] = {
            cls: (kind.mark, kind.take) for cls, kind in _BUILTIN.items()
        }
        """What is written of a value of a class: its mark, and its data."""
        self.plain = set(PLAIN)
        """Types that are written as they are."""
        self.messages = set(_MESSAGES)
        """Classes whose values are written by their fields alone, where they have nothing else."""
        self.read = {kind.mark: kind.build for kind in self._by_name.values()}
        """What builds a value from its data, by its mark."""

    def register(
        self,
        cls: type | Graph,
        name: str | None = None,
        *,
        take: Callable[[Any], Any] | None = None,
        build: Callable[[Any], Any] | None = None,
    ) -> None:
        """Let values of a class stand in states, and those of the classes that its fields are of.

        Args:
            cls: a pydantic model, a dataclass, a named tuple or an enum, or a typed dictionary of such; with
                `take` and `build` any class; or a graph, for all classes in its schemas.
            name: under which they are stored; None: the module and the name of the class.
            take: turns a value into data.
            build: turns what `take` gave into a value.

        Raises:
            InvalidInput: it is not known how they become data, or the name is another class's.
        """
        if is_graph(cls):
            self._add_schemas(cls, (name, take, build))
            return
        if not isinstance(cls, type):
            raise invalid("types", f"a class or a graph is registered, not {cls!r:.50}")
        if (take is None) != (build is None):
            raise invalid("types", "`take` and `build` are given together")
        if take is not None and build is not None:
            self._add(Kind(checked_name(cls, name), cls, take, build))
            return
        found = [one for one in classes_in(cls) if one is not cls and self.of(one) is None]
        if name is not None or not is_typeddict(cls):
            self._add(kind_of(cls, name))
        for one in found:
            self._add(kind_of(one))

    def _add_schemas(self, graph: Any, of_a_class: tuple[Any, ...]) -> None:
        if any(one is not None for one in of_a_class):
            raise invalid("types", "`name`, `take` and `build` are of one class, and a graph has many")
        for one in [one for one in classes_in(graph) if self.of(one) is None]:
            self._add(kind_of(one))

    def _add(self, kind: Kind) -> None:
        cls = kind.cls
        known = self._by_name.get(kind.name)
        if known is not None and (known.cls.__module__, known.cls.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise invalid("types", f"{kind.name!r} is the name of {known.cls!r} already")
        self._by_name[kind.name] = kind
        self._by_class[cls] = kind
        self.written[cls] = kind.mark, kind.take
        self.messages.discard(cls)
        self.plain.discard(cls)
        self.read[kind.mark] = kind.build

    def with_schema(self, names: Iterable[tuple[str, ...]]) -> KnownTypes:
        """Return a table that has the classes of a graph's schema too, or this one where it has them.

        A schema names its classes by module and name. What is not at the top of a module that was imported
        is registered once a value of it is written.
        """
        wanted = {(one[0], one[-1]) for one in names if len(one) > 1}
        wanted -= {(cls.__module__, cls.__name__) for cls in self._by_class} | self._awaited
        if not wanted:
            return self
        table = KnownTypes.__new__(KnownTypes)
        table._by_class = dict(self._by_class)
        table._by_name = dict(self._by_name)
        table._awaited = self._awaited | wanted
        table.messages, table.plain = set(self.messages), set(self.plain)
        table.written, table.read = dict(self.written), dict(self.read)
        for module, name in wanted:
            cls = getattr(sys.modules.get(module), name, None)
            if isinstance(cls, type) and is_derivable(cls):
                table.register(cls)
        return table

    def of(self, cls: type) -> Kind | None:
        """Return the kind of a class; None: its values may not stand in states."""
        kind = self._by_class.get(cls)
        if kind is None and (cls.__module__, cls.__name__) in self._awaited and is_derivable(cls):
            self.register(cls)
            return self._by_class[cls]
        return kind

    def named(self, name: str) -> Kind | None:
        """Return the kind that is stored under a name; None: there is none."""
        return self._by_name.get(name)


def _isoformat(value: datetime | time) -> list[Any]:
    return [value.replace(tzinfo=None).isoformat(), value.tzinfo, value.fold]


def _from_isoformat(cls: Any) -> Callable[[Any], Any]:
    def build(data: Any) -> Any:
        text, tzinfo, fold = data
        return cls.fromisoformat(text).replace(tzinfo=tzinfo, fold=fold)

    return build


def _timezone(value: timezone) -> list[Any]:
    return list(value.__getinitargs__())  # type: ignore[attr-defined]


def _zone(value: ZoneInfo) -> str:
    if value.key is None:
        raise ValueError("the time zone has no key, by which it could be found again")
    return value.key


def _send(value: Send) -> list[Any]:
    return [value.node, value.arg, value.timeout]


def _sent(data: Any) -> Send:
    node, arg, timeout = data
    return Send(node, arg) if timeout is None else Send(node, arg, timeout=timeout)


def _item(value: Item) -> dict[str, Any]:
    return {name: getattr(value, name) for name in Item.__slots__}


def _plain() -> list[Kind]:
    """List what Python has. Sets are not here: the order of their elements is none of their own."""
    kinds = [
        Kind("datetime", datetime, _isoformat, _from_isoformat(datetime)),
        Kind("time", time, _isoformat, _from_isoformat(time)),
        Kind("date", date, date.isoformat, date.fromisoformat),
        Kind("timedelta", timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda d: timedelta(*d)),
        Kind("timezone", timezone, _timezone, lambda d: timezone(*d)),
        Kind("zoneinfo", ZoneInfo, _zone, ZoneInfo),
        Kind("decimal", Decimal, str, Decimal),
        Kind("uuid", UUID, lambda v: v.bytes, lambda d: UUID(bytes=d)),
        Kind("bytearray", bytearray, bytes, bytearray),
        Kind("complex", complex, lambda v: [v.real, v.imag], lambda d: complex(*d)),
        Kind("deque", deque, lambda v: [v.maxlen, list(v)], lambda d: deque(d[1], d[0])),
        Kind("ordereddict", OrderedDict, lambda v: list(map(list, v.items())), OrderedDict),
        Kind("pattern", re.Pattern, lambda v: [v.pattern, v.flags], lambda d: re.compile(*d)),
    ]
    as_text: list[type[Any]] = [
        IPv4Address,
        IPv4Interface,
        IPv4Network,
        IPv6Address,
        IPv6Interface,
        IPv6Network,
    ]
    as_text += [PurePosixPath, PureWindowsPath]
    kinds += [Kind(cls.__name__.lower(), cls, str, cls) for cls in as_text]
    # A path of another system cannot be made here; it is read as one of this.
    here, elsewhere = (WindowsPath, PosixPath) if sys.platform == "win32" else (PosixPath, WindowsPath)
    return [Kind("path", elsewhere, str, Path), *kinds, Kind("path", here, str, Path)]


_MESSAGES: tuple[type[BaseModel], ...] = (
    m.AIMessage,
    m.AIMessageChunk,
    m.ChatMessage,
    m.ChatMessageChunk,
    m.FunctionMessage,
    m.FunctionMessageChunk,
    m.HumanMessage,
    m.HumanMessageChunk,
    m.RemoveMessage,
    m.SystemMessage,
    m.SystemMessageChunk,
    m.ToolMessage,
    m.ToolMessageChunk,
    Document,
)


def _of_libraries() -> list[Kind]:
    return [
        *map(message_kind, _MESSAGES),
        *map(
            kind_of,
            (
                _DeltaSnapshot,
                Command,
                GetOp,
                Interrupt,
                Overwrite,
                PregelTask,
                StateSnapshot,
                TimeoutPolicy,
            ),
        ),
        Kind(name_of(Send), Send, _send, _sent),
        Kind(name_of(Item), Item, _item, lambda data: Item(**data)),
    ]


_BUILTIN: dict[type, Kind] = {kind.cls: kind for kind in (*_plain(), *_of_libraries())}
