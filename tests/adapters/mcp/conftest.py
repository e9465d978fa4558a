"""Ledgers to serve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Ledger, open_ledger
from tests.adapters.cli.ledgers import make


@pytest.fixture
def anyio_backend() -> str:
    """Return the event loop that the server is run in."""
    return "asyncio"


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Return an empty ledger in memory."""
    with open_ledger(":memory:") as opened:
        yield opened


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger with one of everything, to be read."""
    path = tmp_path_factory.mktemp("good") / "ledger.db"
    make(path)
    return path
