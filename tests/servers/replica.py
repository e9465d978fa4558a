"""A streaming replica of a cluster: whether it has caught up, and holding it back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.servers.cluster import Cluster
from tests.servers.waiting import until


def catch_up(primary: Cluster, replica: Cluster) -> None:
    """Wait until the replica shows all that is now committed on its primary."""
    with psycopg.connect(primary.url(), autocommit=True) as ahead:
        # What was written and not committed reaches the disk, and the replica, with the next commit.
        ahead.execute("SELECT pg_logical_emit_message(true, 'tests', 'catch up')")
        row = ahead.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
    target = row[0] if row is not None else None
    with psycopg.connect(replica.url(), autocommit=True) as behind:
        until(
            lambda: (
                behind.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", [target]).fetchone()
                == (True,)
            ),
            f"the replica shows what the primary had written by {target}",
        )


@contextmanager
def held_back(replica: Cluster) -> Iterator[None]:
    """Let the replica stand still, as one that lags; it goes on afterwards."""
    with psycopg.connect(replica.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        until(
            lambda: connection.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",),
            "the replica pauses",
        )
        try:
            yield
        finally:
            connection.execute("SELECT pg_wal_replay_resume()")
