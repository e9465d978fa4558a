"""Where the ledgers of these tests lie: in a file, and on a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.outside.outside import Outside
from tests.stores.place import address


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path | str:
    """Return the address of a ledger that the tests of a file share, each with runs of its own."""
    folder = tmp_path_factory.mktemp("effects")
    return folder / "ledger.db" if request.param == "sqlite" else address("postgres", folder)


@pytest.fixture
def outside(request: pytest.FixtureRequest) -> Callable[[str], Outside]:
    """Return a function that gives the outside of a name, with an empty record."""

    def named(name: str) -> Outside:
        server: Outside = request.getfixturevalue(name)
        return server

    return named
