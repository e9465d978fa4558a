"""However much graphs save, the connections to the server stay as many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint

from ledger import Actor, Ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.application.edge import Edge
from ledger.stores.postgres.store import PostgresStore

PUTS = 1_000
THREADS = 8
READERS = 3


def connections(url: str) -> int:
    """Count the connections to a database, but for the one that asks."""
    with psycopg.connect(url) as connection:
        counted = connection.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and application_name = 'intent-ledger'"
        ).fetchone()
        assert counted is not None
        return int(counted[0])


def save(saver: LedgerSaver, thread: int, count: int) -> None:
    config: Any = {"configurable": {"thread_id": f"t{thread}", "checkpoint_ns": ""}}
    for number in range(count):
        checkpoint = create_checkpoint(empty_checkpoint(), None, number)
        checkpoint["channel_values"] = {"x": number}
        config = saver.put(config, checkpoint, {"source": "loop", "step": number}, {"x": number})
        saver.put_writes(config, [("x", number)], "task")


@pytest.mark.slow
def test_a_thousand_checkpoints_open_no_connection_each(fresh_database: str) -> None:
    store = PostgresStore(fresh_database, max_readers=READERS)
    with (
        Ledger(Edge(store, "default", Actor("service:tests"))) as ledger,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        saver = LedgerSaver(ledger)
        list(pool.map(lambda thread: save(saver, thread, PUTS // THREADS), range(THREADS)))
        # One more appends, and two write beside the appends.
        assert connections(fresh_database) <= READERS + 3
        assert sum(1 for _ in saver.list(None)) == PUTS
