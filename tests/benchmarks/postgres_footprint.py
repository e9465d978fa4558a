"""What a ledger takes on PostgreSQL: bytes on disk beside the bytes of its records."""

from __future__ import annotations

from contextlib import closing

from tests.benchmarks import raw_postgres as raw
from tests.benchmarks.crowd import tasks
from tests.benchmarks.measure import Result

_RUNS, _EVENTS = 64, 200
_SIZES = b"""
SELECT sum(pg_total_relation_size(oid))::bigint,
    sum(pg_total_relation_size(oid)) FILTER (WHERE relname = 'events')::bigint,
    (SELECT sum(length(record)) FROM intent_ledger.events)::bigint
FROM pg_class
WHERE relnamespace = 'intent_ledger'::regnamespace AND relkind = 'r'
"""


def measure(url: str) -> list[Result]:
    """Measure what runs that are written to at the same time leave behind, with nothing tidied up."""
    with tasks(url) as loop:
        loop.time(loop.steps("run", _RUNS), _EVENTS)
    with closing(raw.connect(url)) as connection:
        found = connection.execute(_SIZES).fetchone()
    assert found is not None
    everything, events, records = found
    ratio = everything / records
    return [
        Result(
            "bytes on disk with indexes / bytes of records",
            ratio,
            ratio,
            ratio,
            "<= 1.6",
            f"{_RUNS * _EVENTS:,} events, all tables; events alone {events / records:.2f}",
        )
    ]
