"""A ledger set up as in production: its roles, a login that migrates, and logins that only write or read."""

from __future__ import annotations

import secrets
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from ledger.stores.postgres.address import parse
from ledger.stores.postgres.roles import Roles, establish
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from tests.servers.cluster import Cluster


@dataclass(frozen=True)
class Secured:
    """A database with a ledger whose tables nobody who logs in owns."""

    cluster: Cluster
    url: str
    """As a superuser, whom nothing stops but the triggers."""
    migrator: str
    """As a login that may migrate: a member of the owner."""
    roles: Roles

    def login(self, *memberships: str, tenant: str | None = None) -> str:
        """Create a login with the rights of some roles, and open a tenant to it; return its URL."""
        name = f"login_{secrets.token_hex(6)}"
        url = _create_login(self.cluster, self.url, name, "")
        with psycopg.connect(self.url, autocommit=True) as connection:
            for role in memberships:
                connection.execute(SQL("GRANT {} TO {}").format(Identifier(role), Identifier(name)))
            if tenant is not None:
                insert = f"INSERT INTO {DEFAULT_SCHEMA}.members VALUES (%s::regrole, %s)"
                connection.execute(insert, [name, tenant])
        return url

    def writer(self) -> str:
        """Return the URL of a login that reads and appends for every tenant."""
        return self.login(self.roles.writer, self.roles.every_tenant)

    def reader(self) -> str:
        """Return the URL of a login that reads for every tenant."""
        return self.login(self.roles.reader, self.roles.every_tenant)


def secured(cluster: Cluster) -> Secured:
    """Set up a ledger with roles in a fresh database of a cluster."""
    # Roles belong to the whole cluster, which other tests share.
    prefix = f"ledger_{secrets.token_hex(6)}"
    url = cluster.fresh_database()
    migrator = _create_login(cluster, url, f"{prefix}_migrator", "CREATEROLE")
    with psycopg.connect(url, autocommit=True) as connection:
        grant = SQL("GRANT CREATE ON DATABASE {} TO {}")
        connection.execute(grant.format(Identifier(_database(url)), Identifier(f"{prefix}_migrator")))
    PostgresStore(migrator).close()
    roles = Roles.named(prefix)
    with closing(Server(parse(migrator).parameters).unchecked()) as session:
        assert establish(session, DEFAULT_SCHEMA, roles) == list(roles)
    return Secured(cluster, url, migrator, roles)


def _create_login(cluster: Cluster, url: str, name: str, options: str) -> str:
    password = secrets.token_urlsafe()
    create = SQL("CREATE ROLE {} LOGIN {} PASSWORD {}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(create.format(Identifier(name), SQL(options), Literal(password)))
    return cluster.url(_database(url), user=name, password=password)


def _database(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
