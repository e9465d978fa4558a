"""The stores that the suite runs on.

A new one is an entry in `KINDS`, and in `DURABLE` if it outlives its process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.sqlite import SQLiteStore

KINDS: dict[str, Callable[[Path], FullStore]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SQLiteStore(folder / "ledger.db"),
}

DURABLE = ("sqlite",)


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
