"""Where the savers of these tests keep what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver


class Places:
    """One ledger of each kind, opened by the first who asks; each test has a thread of its own there."""

    def __init__(self, urls: dict[str, Callable[[], str]]) -> None:
        self._urls = urls
        self._ledgers: dict[str, Ledger] = {}
        self._open = ExitStack()

    def ledger(self, place: str) -> Ledger:
        if place not in self._ledgers:
            self._ledgers[place] = self._open.enter_context(open_ledger(self._urls[place]()))
        return self._ledgers[place]

    def saver(self, place: str, types: tuple[type, ...] = ()) -> LedgerSaver:
        return LedgerSaver(self.ledger(place), types=types)

    def close(self) -> None:
        self._open.close()


@pytest.fixture(scope="module")
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    def database() -> str:
        cluster: Any = request.getfixturevalue("postgres")
        return str(cluster.fresh_database())

    opened = Places(
        {
            "memory": lambda: ":memory:",
            "sqlite": lambda: str(tmp_path_factory.mktemp("graphs") / "runs.db"),
            "postgres": database,
        }
    )
    yield opened
    opened.close()
