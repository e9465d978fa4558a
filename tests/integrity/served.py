"""A ledger on PostgreSQL that a test meddles with as a superuser and verifies as a login that only reads."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier

from ledger.integrity.verify import Report, verify
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from tests.servers.cluster import Cluster
from tests.servers.waiting import until
from tests.stores.secured import Secured, secured

TENANT = "default"
_TABLES = ("events", "heads", "snapshots", "blobs", "epoch")


def audited(store: PostgresStore, **options: Any) -> Report:
    """Verify the ledger in a store, with what it says of itself."""
    return verify(store, TENANT, storage=store.storage(), **options)


@dataclass(frozen=True)
class Served:
    """A database of its own with a ledger, its roles, and logins."""

    place: Secured
    auditor: str
    """URL of a login that reads for every tenant, and may do nothing else."""

    def look(self, url: str | None = None, **options: Any) -> Report:
        """Verify as the auditor, or as who the URL names."""
        with closing(PostgresStore(self.auditor if url is None else url, create=False)) as store:
            return audited(store, **options)

    @property
    def database(self) -> str:
        """Return the name of the database."""
        return urlsplit(self.place.url).path.removeprefix("/")

    def meddle(self, statement: str, *values: object) -> int:
        """Run a statement with every trigger off for that while; return how many rows it touched."""
        with self.connected() as connection:
            for table in _TABLES:
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
            touched = connection.execute(statement.replace("?", "%s").encode(), values or None).rowcount
            named = "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
            for table, trigger in connection.execute(named).fetchall():
                connection.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {trigger}".encode())
        return touched

    def run(self, *statements: str) -> None:
        """Run statements as a superuser, who is stopped by triggers alone."""
        for statement in statements:
            with self.connected() as connection:
                connection.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.connected() as connection:
            return connection.execute(query.encode()).fetchall()

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """Connect as a superuser who sees the ledger's tables first."""
        with psycopg.connect(self.place.url) as connection:
            connection.execute(f"SET search_path = {DEFAULT_SCHEMA}")
            yield connection


def template(cluster: Cluster, write: Callable[[str], None]) -> Secured:
    """Write a ledger that can be copied."""
    place = secured(cluster)
    write(place.url)
    with closing(PostgresStore(place.url)) as store:
        # Others use this server too: what they have open keeps the last events from the order for a moment.
        until(lambda: store.end() == store.end(newest=True), "followers are shown all events")
    return place


@contextmanager
def copied(place: Secured) -> Iterator[Served]:
    """Copy a ledger into a database that is gone afterwards."""
    name, cluster = Identifier(f"copy_{uuid.uuid4().hex}"), place.cluster
    origin = Identifier(urlsplit(place.url).path.removeprefix("/"))
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(name, origin))
        try:
            copy = replace(place, url=cluster.url(name.as_string().strip('"')))
            yield Served(copy, copy.reader())
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(name))
