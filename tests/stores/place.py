"""Where a test keeps a ledger on PostgreSQL, and how it works there past the store."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import psycopg

from tests.servers import cluster

Rows = list[tuple[object, ...]]


def address(kind: str, folder: Path) -> str:
    """Return the address of a ledger that belongs to a folder, in a schema of the shared server.

    It is known in this process, and in those forked from it, alone: pass it on to others.
    """
    name = sha256(str(folder).encode()).hexdigest()[:16]
    return f"{database_for(cluster.shared(kind), folder)}?schema=place_{name}"


@cache
def database_for(server: cluster.Cluster, folder: Path) -> str:
    """Return the URL of the database in which the schemas that belong to a folder are."""
    return server.roomy_database()


def database(url: str) -> str:
    """Return the address without the store's own options."""
    return url.partition("?")[0]


def schema_of(url: str) -> str:
    """Return the schema that an address names."""
    return url.partition("?schema=")[2].partition("&")[0]


def administer(url: str, *statements: str) -> Rows:
    """Run statements past the store, `{s}` standing for its schema; return the rows of the last one."""
    found: Rows = []
    with psycopg.connect(database(url), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.replace("{s}", schema_of(url)).encode())
            found = cursor.fetchall() if cursor.description else []
    return found


def end_sessions(url: str) -> None:
    """End all sessions of stores that have last used this schema, and wait until they are gone."""
    administer(
        url,
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE application_name = 'intent-ledger' AND query LIKE '%{s}%' AND pid <> pg_backend_pid()",
    )
