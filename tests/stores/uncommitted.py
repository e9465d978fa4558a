"""What a PostgreSQL store has not committed yet: appends of every shape in transactions kept open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256

import psycopg

from ledger.stores.base import Append, Blob, Guard
from ledger.stores.postgres.plans import plan_locks
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from tests.servers.waiting import until
from tests.stores.builder import Spec, one, part
from tests.stores.place import administer, database

LARGE_BYTES = 16 * 1024
"""A record that fills a statement, where a test makes statements as small as that."""


@contextmanager
def held_open(store: PostgresStore, *batch: Append) -> Iterator[Session]:
    """Store a batch as a writer does, in a transaction that is not committed yet."""
    writer = store._writer
    with closing(store._server.writer()) as session:
        session.command(b"BEGIN")
        if batch[0].streams[0].is_source:
            assert writer._lock_heads(session, batch[0])
            writer._move(session, batch[0])
        else:
            locks = plan_locks(store._server.schema, batch, 30)
            if locks is not None:
                session.run(*locks)
            assert all(writer._insert(session, batch))
        yield session


def until_waited_for(url: str, holder: Session) -> None:
    """Return as soon as somebody waits for the transaction that is open."""
    pid = holder.connection.info.backend_pid
    query = f"SELECT 1 FROM pg_locks WHERE NOT granted AND {pid} = ANY (pg_blocking_pids(pid))"
    until(lambda: administer(url, query), "somebody waits for the transaction that is open")


def shapes(name: str) -> dict[str, list[Append]]:
    """Return batches of every shape there is a statement for, to streams of one name.

    The guarded one relies on the source, which stands first.
    """
    claim = sha256(name.encode()).digest()
    text = {"text": "x" * LARGE_BYTES}
    large = [Spec(f"{name}.large-{number}", text) for number in range(3)]
    content = Blob(claim, "result", b"content")
    return {
        "source": [one(part(f"$source:{name}", f"{name}.published"))],
        "one": [one(part(f"{name}-one", f"{name}.one"))],
        "keyed": [one(part(f"{name}-keyed", Spec(f"{name}.keyed", claim=claim)))],
        "several": [one(part(f"{name}-several", f"{name}.several-1", f"{name}.several-2"))],
        "guarded": [one(part(f"{name}-guarded", f"{name}.guarded"), guards=[Guard(f"$source:{name}", 1)])],
        "batch": [one(part(f"{name}-batch-{number}", f"{name}.batch-{number}")) for number in range(3)],
        "large": [one(part(f"{name}-large", *large))],
        "content": [one(part(f"{name}-content", f"{name}.content"), blobs=[content])],
    }


def advance(url: str, count: int) -> None:
    """Use up transaction ids."""
    with psycopg.connect(database(url), autocommit=True) as connection:
        for _ in range(count):
            connection.execute("SELECT pg_current_xact_id()")
