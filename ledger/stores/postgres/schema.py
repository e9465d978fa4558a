"""The schema of a PostgreSQL ledger: which one a database has, and how it gets this program's."""

from __future__ import annotations

from psycopg.sql import Identifier

from ledger.errors import SchemaMismatch
from ledger.stores.postgres.errors import unavailable
from ledger.stores.postgres.roles import established, grant
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import in_schema
from ledger.stores.scripts import migrations

LOCK = 0x1ED6E5
"""Held by who migrates, together with a number made of the schema's name."""


def supported_version() -> int:
    """Return the newest schema this program knows."""
    return migrations("postgres")[-1].version


def recognise(session: Session, schema: str, where: str) -> int:
    """Return the schema version of a database, 0 where the ledger has no tables in it yet.

    Raises:
        SchemaMismatch: a newer program has migrated it.
        StoreUnavailable: a table of the ledger's name is somebody else's.
    """
    # The catalogue may be read by whoever may connect, also where the schema itself may not be used.
    found = session.connection.execute(
        "SELECT relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace AS place "
        "ON place.oid = relnamespace WHERE nspname = $1 AND relname = ANY ($2)",
        (schema, ["ledger_migrations", "events"]),
    ).fetchall()
    tables = {name for (name,) in found}
    if "ledger_migrations" not in tables:
        if tables:
            advice = f"another program keeps a table `events` in the schema {schema!r}: name another schema"
            raise unavailable(where, "not_a_ledger", advice)
        return 0
    version: int = session.fetch("schema_version")[0][0]
    supported = supported_version()
    if version > supported:
        raise SchemaMismatch(
            f"{where} has schema {version}, this program knows up to {supported}: upgrade intent-ledger",
            found=version,
            supported=supported,
        )
    return version


def migrate(session: Session, schema: str, where: str) -> None:
    """Bring a database to this program's schema, in one transaction; do nothing where it has it.

    Programs that start at once do it one after the other.

    Raises:
        SchemaMismatch, StoreUnavailable: as `recognise`.
        psycopg.Error: this role may not create what is missing.
    """
    if recognise(session, schema, where) == supported_version():
        return
    session.command(b"BEGIN")
    try:
        session.connection.execute(
            "SELECT pg_advisory_xact_lock($1::bigint::integer, hashtext($2))", (LOCK, schema)
        )
        # Asked again: another process may have been here since.
        present = recognise(session, schema, where)
        if present == 0 and not _exists(session, schema):
            session.command(in_schema("CREATE SCHEMA {schema}", schema).encode())
        roles = established(session, schema)
        if roles is not None:
            # What is made from here on is the owner's, whoever migrates.
            session.command(f"SET LOCAL ROLE {Identifier(roles.owner).as_string()}".encode())
        for step in migrations("postgres")[present:]:
            session.command(in_schema(step.script, schema).encode())
            session.connection.execute(
                in_schema("INSERT INTO {schema}.ledger_migrations VALUES ($1, $2)", schema),
                (step.version, step.name),
            )
        if roles is not None:
            grant(session, schema, roles)
        session.command(b"COMMIT")
    finally:
        session.roll_back()


def _exists(session: Session, schema: str) -> bool:
    query = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1"
    return session.connection.execute(query, (schema,)).fetchone() is not None
