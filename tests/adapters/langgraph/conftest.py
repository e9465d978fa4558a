"""A saver on each kind of store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.places import KINDS, new_thread, saver_of


@pytest.fixture(scope="module", params=KINDS)
def saver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerSaver]:
    """Return a saver that the tests of a module share."""
    with saver_of(request.param, tmp_path_factory.mktemp("ledger")) as saver:
        yield saver


@pytest.fixture(scope="module")
def memory_saver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerSaver]:
    """Return a saver in memory that the tests of a module share."""
    with saver_of("memory", tmp_path_factory.mktemp("ledger")) as saver:
        yield saver


@pytest.fixture
def thread() -> str:
    """Name a thread of the test's own."""
    return new_thread()
