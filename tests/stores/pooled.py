"""A store as it runs in production: behind pgbouncer in transaction mode, as a login that may only append."""

from __future__ import annotations

import os
import secrets
from contextlib import closing
from functools import cache
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from ledger.stores.postgres.address import parse
from ledger.stores.postgres.roles import Roles, establish
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.store import PostgresStore
from tests.servers import session
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Cluster, shared


def pooled(schema: str) -> PostgresStore:
    """Open a store in a schema of the shared server, through the pooler."""
    cluster = shared()
    server = Server(parse(cluster.url()).parameters, schema)
    server.prepare(create=True)
    with closing(server.unchecked()) as connection:
        establish(connection, schema, _roles())
    return PostgresStore(_way_in(cluster), schema=schema, prepare_threshold=None)


def _roles() -> Roles:
    """Return the roles of all these stores: of one worker process, since two cannot create them at once."""
    return Roles.named(f"pooled_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}")


@cache
def _way_in(cluster: Cluster) -> str:
    """Start the pooler and create a login; return its URL."""
    roles = _roles()
    name, password = f"{roles.writer}_login", secrets.token_urlsafe()
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        create = SQL("CREATE ROLE {} LOGIN PASSWORD {}")
        connection.execute(create.format(Identifier(name), Literal(password)))
        for role in (roles.writer, roles.every_tenant):
            connection.execute(SQL("GRANT {} TO {}").format(Identifier(role), Identifier(name)))
    folder = Path(session.current()) / f"pooler-{roles.writer}"
    bouncer = Bouncer(folder, cluster, {name: password}, size=20)
    session.before_leaving(bouncer.close)
    return bouncer.url(cluster.url(user=name, password=password))
