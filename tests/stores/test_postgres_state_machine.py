"""Whatever is done in whatever order: PostgreSQL behaves as memory does, and as the model of both."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import initialize, rule

from ledger.stores.memory import MemoryStore
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import shared
from tests.stores.builder import assert_whole
from tests.stores.numbered import Numbered
from tests.stores.place import administer
from tests.stores.test_state_machine import Model, Stores

pytestmark = pytest.mark.slow


class PostgresStores(Stores):
    """The same rules, with PostgreSQL in the place of SQLite."""

    @initialize()
    def open(self) -> None:
        self.url = f"{shared().url()}?schema=machine_{uuid.uuid4().hex[:12]}"
        self.model = Model()
        self.numbered: Any = Numbered(PostgresStore(self.url))
        self.stores = [MemoryStore(), self.numbered]
        self.count = 0

    @rule()
    def reopen(self) -> None:
        self.numbered.store.close()
        self.numbered.store = PostgresStore(self.url, create=False)

    def teardown(self) -> None:
        if hasattr(self, "url"):
            for store in self.stores:
                assert_whole(store)
                store.close()
            administer(self.url, "DROP SCHEMA {s} CASCADE")


TestPostgresStores = PostgresStores.TestCase
TestPostgresStores.settings = settings(max_examples=25, stateful_step_count=40)
