"""A peer on PostgreSQL: the application recorder of `eventsourcing`, as that library opens it by default.

Its writers take turns at a lock of the table, so that its followers miss nothing either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from uuid import UUID

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict


@contextmanager
def recorder(url: str, *, connections: int) -> Iterator[PostgresApplicationRecorder]:
    """Open its recorder on a table of its own, with so many connections."""
    place = conninfo_to_dict(url)
    with PostgresDatastore(
        str(place["dbname"]),
        str(place["host"]),
        str(place["port"]),
        str(place["user"]),
        str(place["password"]),
        pool_size=connections,
        connect_timeout=60,
    ) as datastore:
        opened = PostgresApplicationRecorder(datastore, events_table_name="peer_events")
        opened.create_table()
        yield opened


def writer(recorder: PostgresApplicationRecorder, number: int, state: bytes) -> Callable[[], object]:
    """Return a step that stores an event of these bytes behind the ones before, in a stream of its own."""
    stream, versions = UUID(int=number), count(1)
    return lambda: recorder.insert_events([StoredEvent(stream, next(versions), "cursor.moved", state)])
