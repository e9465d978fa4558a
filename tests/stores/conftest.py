"""The stores that the suite runs on.

A new one is an entry in `KINDS`, and in `DURABLE` if it outlives its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest

from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.sqlite import SQLiteStore
from tests.servers import cluster
from tests.stores.awaited import Awaited
from tests.stores.place import database_for
from tests.stores.pooled import pooled


def postgres(kind: str, folder: Path) -> PostgresStore:
    """Open a store in a schema of the shared server that belongs to a folder."""
    return PostgresStore(database_for(cluster.shared(kind), folder), schema=schema_of(folder))


def schema_of(folder: Path) -> str:
    """Name the schema that belongs to a folder."""
    return f"suite_{sha256(str(folder).encode()).hexdigest()[:16]}"


def awaited(store: FullStore) -> FullStore:
    """Let appends come from an event loop."""
    return cast(FullStore, Awaited(store))


KINDS: dict[str, Callable[[Path], FullStore]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "ledger.db"),
    **{kind: partial(postgres, kind) for kind in cluster.kinds()},
    "pgbouncer": lambda folder: pooled(schema_of(folder)),
    "sqlite, awaited": lambda folder: awaited(SQLiteStore(folder / "ledger.db")),
    "postgres, awaited": lambda folder: awaited(postgres("postgres", folder)),
}

DURABLE = tuple(kind for kind in KINDS if kind != "memory")


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FullStore]:
    """Return an empty store of each kind."""
    with closing(KINDS[request.param](tmp_path)) as store:
        yield store


@pytest.fixture(params=DURABLE)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], FullStore]]:
    """Return a function that opens the same store again and again, of each kind that lasts."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(KINDS[request.param](tmp_path)))
