"""Checkpoints of graphs on PostgreSQL: our saver beside LangGraph's own, in one database."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, closing

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from ledger import open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.benchmarks import raw_postgres as raw
from tests.benchmarks.checkpoints import Both, awaited, bytes_on_disk, entered, growing, small
from tests.benchmarks.measure import Result
from tests.benchmarks.workload import ACTOR

_SIZES = b"""
SELECT sum(size) FILTER (WHERE namespace = 'intent_ledger')::bigint,
    sum(size) FILTER (WHERE is_theirs)::bigint
FROM (
    SELECT pg_total_relation_size(oid) AS size, relnamespace::regnamespace::text AS namespace,
        relname LIKE 'checkpoint%' AS is_theirs
    FROM pg_class
    WHERE relkind = 'r'
) AS tables
"""


def measure(url: str) -> list[Result]:
    """Measure on PostgreSQL; theirs is opened as it opens by default."""
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(url, actor=ACTOR))
        theirs = stack.enter_context(PostgresSaver.from_conn_string(url))
        theirs.setup()
        both = Both(LedgerSaver(ledger), theirs)
        results = growing(both)
        with closing(raw.connect(url)) as connection:
            found = connection.execute(_SIZES).fetchone()
        assert found is not None
        results.append(bytes_on_disk(*found))
        results += small(both)
        runner = stack.enter_context(asyncio.Runner())
        saver = stack.enter_context(entered(runner, AsyncPostgresSaver.from_conn_string(url)))
        return [*results, *awaited(runner, LedgerSaver(ledger), saver)]
