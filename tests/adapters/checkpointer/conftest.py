"""Places where checkpoints are kept: in ledgers and in files, each plain and behind a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.adapters.checkpointer import Checkpointer, RedisCache
from ledger.application.edge import Edge
from ledger.stores.memory import MemoryStore
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.sqlite import SQLiteStore
from ledger.testing import Clock
from tests.servers.cluster import shared
from tests.servers.redis import RedisServer

BACKENDS = ("memory", "sqlite", "postgres", "files")
KINDS = (*BACKENDS, *(f"{kind}, cached" for kind in BACKENDS))

_numbers = count(1)


@dataclass
class Place:
    """Where checkpoints are kept."""

    kind: str
    folder: Path
    ledger: Ledger | None
    """None: in files."""
    redis: RedisServer | None
    stack: ExitStack
    clock: Clock

    def __call__(self, **options: Any) -> Checkpointer:
        """Open it, as a program does that was started anew: it remembers nothing."""
        if self.redis is not None and "cache" not in options:
            options["cache"] = RedisCache(self.redis.url, patience_seconds=5.0)
        if self.ledger is None:
            options = {"clock": self.clock, **options}
            return self.stack.enter_context(Checkpointer.open(f"files:{self.folder}", **options))
        edge = Edge(self.ledger.store, "default", self.ledger.actor, self.clock)
        return self.stack.enter_context(Checkpointer.open(Ledger(edge), **options))


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Return a Redis that the tests of a file share; who kills it starts it again."""
    with closing(RedisServer(tmp_path_factory.mktemp("redis"))) as server:
        yield server


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Place]]:
    """Return a function that gives the place of a kind, which the tests of a file share."""
    known: dict[str, Place] = {}
    ledgers: dict[str, Ledger | None] = {}
    clock = Clock()
    folder = tmp_path_factory.mktemp("checkpoints")
    with ExitStack() as stack:

        def ledger_of(backend: str) -> Ledger | None:
            if backend == "files":
                return None
            if backend == "postgres":
                store: Any = PostgresStore(shared("postgres").fresh_database())
            else:
                store = MemoryStore() if backend == "memory" else SQLiteStore(folder / "ledger.db")
            return stack.enter_context(Ledger(Edge(store, "default", Actor("service:tests"), clock)))

        def place(kind: str) -> Place:
            backend, _, cached = kind.partition(", ")
            if kind not in known:
                if backend not in ledgers:
                    ledgers[backend] = ledger_of(backend)
                server = request.getfixturevalue("redis_server") if cached else None
                known[kind] = Place(kind, folder / "files", ledgers[backend], server, stack, clock)
            return known[kind]

        yield place


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, places: Callable[[str], Place]) -> Place:
    """Return a place of each kind."""
    return places(request.param)


@pytest.fixture
def thread() -> str:
    """Return a conversation that no other test has."""
    return f"chat/{next(_numbers)}"
