"""What a saver knows of the types that may stand in the states of its graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any, Self

from ledger.adapters.langgraph.asynchronous import AwaitedSaver
from ledger.adapters.langgraph.checkpoints import Checkpoints
from ledger.adapters.langgraph.codec import GraphCodec
from ledger.adapters.langgraph.schemas import Graph
from ledger.adapters.langgraph.serde import Serde
from ledger.adapters.langgraph.types import KnownTypes, Types
from ledger.adapters.threads import Threads


class TypedSaver(AwaitedSaver):
    """Writes and reads data, and the types that it is told of."""

    threads: Threads

    @property
    def codec(self) -> GraphCodec:
        """What writes and reads the values of this saver's graphs."""
        return self._codec

    def register(
        self,
        cls: type | Graph,
        name: str | None = None,
        *,
        take: Callable[[Any], Any] | None = None,
        build: Callable[[Any], Any] | None = None,
    ) -> None:
        """Let values of a class stand in the state, and those of the classes that its fields are of.

        Register before graphs are compiled: a strict one takes a table of its own along.

        Args:
            cls: a pydantic model, a dataclass, a named tuple or an enum, or a typed dictionary of such; with
                `take` and `build` any class. Or a graph, compiled or about to be: all classes in its schemas
                and in those of the graphs that are its nodes; what has a name keeps it.
            name: what is stored of the class, so that it is found again after it was moved; None: its module
                and name.
            take: turns a value into data.
            build: turns what `take` gave into a value.

        Raises:
            InvalidInput: it is none of them, or the name is another class's.
        """
        self._types.register(cls, name, take=take, build=build)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return a saver that knows the classes of a graph's schema, too.

        A graph that is compiled calls it where LangGraph is strict: `LANGGRAPH_STRICT_MSGPACK=true`.
        """
        types = self._types.with_schema(extra_allowlist)
        if types is self._types:
            return self
        other = copy.copy(self)
        other._know(types)
        return other

    def _begin(self, types: Types) -> None:
        """Know what is given, beside what is known anyway.

        Raises:
            InvalidInput: a class cannot be stored, or its name is another class's.
        """
        self._know(KnownTypes())
        named = types.items() if isinstance(types, Mapping) else ((None, cls) for cls in types)
        for name, cls in named:
            self.register(cls, name)

    def _know(self, types: KnownTypes) -> None:
        self._types = types
        self._codec = GraphCodec(types)
        self._checkpoints = Checkpoints(self.threads, self._codec)
        self.serde = Serde(self._codec)
