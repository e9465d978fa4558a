"""Ledgers whose people are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Actor, Ledger, open_ledger
from tests.adapters.notifying.hooks import Hook, hooked
from tests.stores.place import address

AGENT = Actor("agent:shop", session="s-1")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:", actor=AGENT) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a ledger of its own that several processes can open."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else address("postgres", tmp_path)


@pytest.fixture
def kept(url: str) -> Iterator[Ledger]:
    with open_ledger(url, actor=AGENT) as opened:
        yield opened


@pytest.fixture
def hook() -> Iterator[Hook]:
    with hooked() as found:
        yield found
