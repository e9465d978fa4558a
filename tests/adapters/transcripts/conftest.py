"""Ledgers to import into."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Actor, Ledger, open_ledger


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    url = ":memory:" if request.param == "memory" else tmp_path / "ledger.db"
    with open_ledger(url, actor=Actor("service:importer")) as ledger:
        yield ledger
