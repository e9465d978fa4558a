"""Look at a PostgreSQL ledger without changing it: the server, its settings, the guards, who may do what."""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

import psycopg

from ledger.stores.postgres.address import check_schema, parse
from ledger.stores.postgres.errors import DRIVER_ERRORS, translate, unavailable
from ledger.stores.postgres.guards import altered
from ledger.stores.postgres.holders import described
from ledger.stores.postgres.refusals import unreachable
from ledger.stores.postgres.replicas import Replica, look_at
from ledger.stores.postgres.schema import recognise, supported_version
from ledger.stores.postgres.server import Server, connect_to
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import DEFAULT_SCHEMA, statements

SETTINGS = (
    "fsync",
    "full_page_writes",
    "synchronous_commit",
    "zero_damaged_pages",
    "ignore_checksum_failure",
    "data_checksums",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "lock_timeout",
    "statement_timeout",
    "idle_in_transaction_session_timeout",
    "synchronous_standby_names",
)
"""What is read of the server's settings; as a session of this role gets them that asks for nothing."""

_LOCK_TIMEOUT = b"SET LOCAL lock_timeout = '2s'"


class Rights(NamedTuple):
    """What the role that asked may do."""

    role: str
    superuser: bool
    sees_sessions: bool
    """It is shown what other roles' sessions do."""
    reads: bool
    appends: bool
    owns: bool
    """It may alter the tables."""
    owner: str
    owner_logs_in: bool


class Tenants(NamedTuple):
    """What row-level security shows the role that asked."""

    secured: bool
    """It holds for this role."""
    open: int
    every: bool
    left_behind: int
    """Tenants open to roles that are no more; 0 where only the owner could tell."""


class Inspection(NamedTuple):
    """What a PostgreSQL ledger looks like from outside."""

    where: str
    schema: int
    """0: no ledger is in it."""
    supported: int
    version: int
    release: str
    encoding: str
    in_recovery: bool
    pooled: bool
    """The address says that sessions are a pooler's and keep nothing."""
    settings: dict[str, str]
    altered: tuple[str, ...]
    rights: Rights
    tenants: Tenants
    epoch_is_behind: bool
    holders: tuple[dict[str, Any], ...]
    """Transactions that have held followers back for a while, or whose age is hidden from this role."""
    blockers: tuple[dict[str, Any], ...]
    """Transactions that have locked the tables against appends for a while, or whose age is hidden."""
    idle: tuple[dict[str, Any], ...]
    """Transactions of this database that were left open for a while and hold no id."""
    oldest_database: int
    """Transactions since the oldest database of the server was frozen."""
    replica: Replica | None
    """The one that the address names for reading."""


def server_of(url: str) -> Server:
    """Return the server that an address names.

    Raises:
        InvalidInput: it is malformed.
    """
    address = parse(url)
    schema = check_schema(address.options.get("schema", DEFAULT_SCHEMA))
    return Server(
        address.parameters, schema, prepares=address.options.get("prepare_threshold", 0) is not None
    )


def replica_of(url: str, server: Server) -> Server | None:
    """Return the replica that an address names for reading; None: none.

    Raises:
        InvalidInput: it is malformed.
    """
    beside = parse(url).options.get("replica_url")
    return None if beside is None else server.beside(parse(beside).parameters)


def schema_of(url: str) -> int:
    """Return the schema version of a PostgreSQL ledger, 0 where there is none.

    Raises:
        StoreUnavailable: the server cannot be reached.
        SchemaMismatch: a newer program has migrated it.
    """
    server = server_of(url)
    try:
        with closing(_plainly(server)) as session:
            return recognise(session, server.schema, server.where)
    except DRIVER_ERRORS as error:
        raise translate(error, server.where) from error


def inspect(url: str, *, held_seconds: float = 30.0) -> Inspection:
    """Look at a database that holds a ledger; transactions count as held back after so many seconds.

    Raises:
        StoreUnavailable: the server cannot be reached; `empty`: no ledger is in this schema; `incomplete`:
            tables of it are missing; `no_privilege`: this role may not look at it.
        SchemaMismatch: a newer program has migrated it.
        StoreBusy: somebody keeps everybody from its tables; `holders` names who has done so for as long.
    """
    server = server_of(url)
    replica = replica_of(url, server)
    blockers: list[dict[str, Any]] = []
    try:
        with closing(_plainly(server)) as session:
            queries = statements(server.schema, "inspection")
            found = session.connection.execute(queries["blockers"], (server.schema, held_seconds))
            blockers.extend(map(described, found))
            return _inspect(server, replica, session, held_seconds, tuple(blockers))
    except DRIVER_ERRORS as error:
        raise translate(error, server.where, blockers) from error


def _inspect(
    server: Server,
    replica: Server | None,
    session: Session,
    held_seconds: float,
    blockers: tuple[dict[str, Any], ...],
) -> Inspection:
    queries = statements(server.schema, "inspection")

    def ask(name: str, *values: object) -> list[Any]:
        return session.connection.execute(queries[name], values).fetchall()

    version, release, encoding, in_recovery, role, superuser, sees_sessions = ask("facts")[0]
    found = recognise(session, server.schema, server.where)
    if found == 0:
        raise unavailable(server.where, "empty", "there is no ledger in this schema")
    settings = dict(ask("settings", list(SETTINGS)))
    # From here on tables are opened, if only to write out what guards them.
    session.command(b"BEGIN READ ONLY")
    session.command(_LOCK_TIMEOUT)
    changed = altered(session, queries, found, server.schema)
    missing = [what for what in changed if what.startswith("table ") and ":" not in what]
    if missing:
        advice = f"of this ledger are missing: {', '.join(missing)}: restore a backup"
        raise unavailable(server.where, "incomplete", advice)
    rights = Rights(role, superuser, sees_sessions, *ask("rights", server.schema)[0])
    if not rights.reads:
        raise unavailable(server.where, "no_privilege", f"the role {role} may not read this ledger")
    return Inspection(
        where=server.where,
        schema=found,
        supported=supported_version(),
        version=version,
        release=release,
        encoding=encoding,
        in_recovery=in_recovery,
        pooled=not server.prepares,
        settings=settings,
        altered=changed,
        rights=rights,
        tenants=Tenants._make([*ask("tenants", server.schema)[0], *ask("left_behind")[0]]),
        epoch_is_behind=ask("epoch_is_behind")[0][0],
        holders=tuple(map(described, ask("transactions", held_seconds))),
        blockers=blockers,
        idle=tuple(map(described, ask("idle", held_seconds))),
        oldest_database=ask("oldest_database")[0][0],
        replica=None if replica is None or in_recovery else look_at(replica, session),
    )


def _plainly(server: Server) -> Session:
    """Connect without settings of ours, so as to see what others get."""
    try:
        connection = connect_to(server.parameters)
    except psycopg.Error as error:
        raise unreachable(server.where, error) from error
    connection.prepare_threshold = None
    return Session(connection, server.statements, prepares=False)
