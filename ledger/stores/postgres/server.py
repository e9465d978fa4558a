"""One PostgreSQL database: connections that keep what they acknowledge, or a refusal that says why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import psycopg
from psycopg.errors import InsufficientPrivilege

from ledger.errors import SchemaMismatch, UnsafeStore
from ledger.stores.postgres.errors import DRIVER_ERRORS, translate, unavailable, words
from ledger.stores.postgres.refusals import unreachable
from ledger.stores.postgres.schema import migrate, recognise, supported_version
from ledger.stores.postgres.session import ADAPTERS, Session
from ledger.stores.postgres.template import DEFAULT_SCHEMA, statements

Connect = Callable[[Mapping[str, Any]], psycopg.Connection[Any]]
"""Open a connection by libpq's parameters."""

Origin = tuple[int, int]
"""The identifier of a server and the number of a database in it; its replicas have the same."""

OLDEST_VERSION = 140_000


class Facts(NamedTuple):
    """What the server and a session say of themselves."""

    version: int
    encoding: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    in_recovery: bool


@dataclass(frozen=True)
class Server:
    """Where the ledger is, and how to connect to it."""

    parameters: Mapping[str, Any] = field(repr=False)
    """As libpq takes them; they may hold a password."""
    schema: str = DEFAULT_SCHEMA
    unsafe: bool = False
    """Use it also where an acknowledged append could be lost."""
    busy_seconds: float = 10.0
    """How long to wait for a lock that somebody holds, and for a server that is away."""
    prepares: bool = True
    """Sessions are this store's own: they keep prepared statements and settings. False behind a pooler."""
    connector: Connect | None = None
    tenant: str | None = None
    """Who uses it reads and appends for this tenant alone; None: for whichever are open to the role."""
    statements: Mapping[str, str] = field(init=False, repr=False)
    where: str = field(init=False)
    """The address without what is secret."""

    def __post_init__(self) -> None:
        made = statements(self.schema)
        object.__setattr__(self, "statements", made if self.prepares else _for_this_server_alone(made))
        given = self.parameters
        host = given.get("host") or given.get("hostaddr") or "local"
        place = f"postgresql://{host}:{given.get('port') or 5432}/{given.get('dbname') or ''}"
        object.__setattr__(self, "where", f"{place} schema {self.schema}")

    def beside(self, parameters: Mapping[str, Any]) -> Server:
        """Return another server that has the same database; who connects, and to which one, is as here."""
        own = {name: value for name, value in self.parameters.items() if name not in _PLACE}
        return replace(self, parameters={**own, **parameters})

    def prepare(self, *, create: bool) -> None:
        """Create or migrate the tables, and refuse what cannot be a ledger, leaving it as it was.

        Raises:
            StoreUnavailable: it cannot be reached or used; `reason` says why.
            SchemaMismatch: a newer program has migrated it.
            UnsafeStore: an acknowledged append could be lost there.
        """
        session = self.unchecked()
        try:
            self._check(session, writes=True)
            found = recognise(session, self.schema, self.where)
            if found == 0 and not create:
                raise unavailable(self.where, "missing", "there is no ledger in this schema")
            if found < supported_version():
                self._migrate(session, found)
            self.enter(session)
        except DRIVER_ERRORS as error:
            raise translate(error, self.where) from error
        finally:
            session.close()

    def _migrate(self, session: Session, found: int) -> None:
        try:
            migrate(session, self.schema, self.where)
        except InsufficientPrivilege as error:
            if found:
                raise SchemaMismatch(
                    f"{self.where} has schema {found}, this program needs {supported_version()}: stop older "
                    "programs, then let the owner of the schema run intent-ledger migrate",
                    found=found,
                    supported=supported_version(),
                ) from error
            advice = "this role may not create the schema: let its owner run intent-ledger migrate, or grant "
            raise unavailable(
                self.where, "no_privilege", f"{advice}CREATE on the database ({words(error)})"
            ) from error

    def writer(self) -> Session:
        """Open a connection whose commits are on the server's disk when they return."""
        return self._checked(writes=True)

    def reader(self) -> Session:
        """Open a connection for reading."""
        return self._checked(writes=False)

    def replica(self, origin: Origin) -> Session:
        """Open a connection for reading to a replica of a database.

        Raises:
            StoreUnavailable: `not_a_replica`, as one that was promoted, or one of another database.
        """
        return self._checked(writes=False, origin=origin)

    def _checked(self, *, writes: bool, origin: Origin | None = None) -> Session:
        session = self.unchecked()
        whole = False
        try:
            facts = self._check(session, writes=writes)
            if origin is not None:
                # Before entering, which may write where it is no replica.
                self._check_replica(session, facts, origin)
            self.enter(session)
            whole = True
        except DRIVER_ERRORS as error:
            raise translate(error, self.where) from error
        finally:
            if not whole:
                session.close()
        return session

    def unchecked(self) -> Session:
        """Open a connection whatever it keeps, to set the ledger up."""
        connect = self.connector or connect_to
        parameters = {**_DEFAULTS, **self.parameters, "client_encoding": "utf8"}
        if self.prepares:
            parameters["options"] = " ".join([str(self.parameters.get("options") or ""), self._options()])
        try:
            connection = connect(parameters)
        except psycopg.Error as error:
            raise unreachable(self.where, error) from error
        connection.prepare_threshold = 0 if self.prepares else None
        return Session(connection, self.statements, prepares=self.prepares)

    def _options(self) -> str:
        """Return the settings of a session; what a role or a database sets otherwise is overruled."""
        busy = int(self.busy_seconds * 1000)
        settings = {
            "default_transaction_isolation": "read\\ committed",
            "default_transaction_read_only": "off",
            # Nobody's functions or operators are taken for the server's own.
            "search_path": "pg_catalog",
            # A plan that is right for all values, as all statements here are made for; the other kind is
            # chosen by statistics, and has turned a read of the next page into a scan of everything.
            "plan_cache_mode": "force_generic_plan",
            "jit": "off",
            # Each statement finds its rows by index, one by one. Its plan is made when the tables are empty,
            # where reading all of them looks cheap, and is kept while they grow.
            "enable_seqscan": "off",
            "enable_bitmapscan": "off",
            "enable_hashjoin": "off",
            "enable_mergejoin": "off",
            "lock_timeout": str(max(busy, 1)),
            "statement_timeout": str(max(6 * busy, 60_000)),
            # A process that is stopped in the middle must not hold followers back for ever.
            "idle_in_transaction_session_timeout": str(max(3 * busy, 30_000)),
            "tcp_keepalives_idle": "30",
            "tcp_keepalives_interval": "10",
            "tcp_keepalives_count": "3",
        }
        return " ".join(f"-c {name}={value}" for name, value in settings.items())

    def _check(self, session: Session, *, writes: bool) -> Facts:
        facts = Facts._make(session.fetch("server")[0])
        if facts.version < OLDEST_VERSION:
            found = f"this is PostgreSQL {facts.version // 10_000}, the ledger needs 14 or newer"
            raise unavailable(self.where, "too_old", found)
        if facts.encoding != "UTF8":
            advice = f"the database has the encoding {facts.encoding}: create one with UTF8"
            raise unavailable(self.where, "encoding", advice)
        if not writes:
            return facts
        if facts.in_recovery:
            raise unavailable(self.where, "read_only", "this is a replica: connect to the primary")
        if facts.synchronous_commit == "off" and self.prepares and not self.unsafe:
            session.connection.execute("SET synchronous_commit = on")
            facts = facts._replace(synchronous_commit="on")
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            if getattr(facts, setting) == "off" and not self.unsafe:
                raise UnsafeStore(
                    f"{self.where}: {setting} is off, so an acknowledged append could be lost: turn it on "
                    "(a program may open it with unsafe=True; commands only read there)",
                    reason=setting,
                    where=self.where,
                )
        return facts

    def _check_replica(self, session: Session, facts: Facts, origin: Origin) -> None:
        if not facts.in_recovery:
            raise unavailable(self.where, "not_a_replica", "this server is no replica, or none any more")
        if session.fetch("identity")[0] != origin:
            advice = "this is a replica, but not of the database that the address names"
            raise unavailable(self.where, "not_a_replica", advice)

    def enter(self, session: Session) -> None:
        """Keep the global order rising where the ledger came from another server, if this role may.

        Raises:
            StoreUnavailable: the tenant, or any, is not open to this role: it would seem empty to it.
        """
        admitted, behind = session.fetch("standing", self.schema, self.tenant)[0]
        if not admitted:
            what = "no tenant is" if self.tenant is None else f"the tenant {self.tenant!r} is not"
            advice = (
                f"{what} open to this role: add a row to {self.schema}.members, "
                "or make it a member of a role that has one"
            )
            raise unavailable(self.where, "no_tenant", advice)
        if behind:
            session.fetch("raise_epoch")


def connect_to(parameters: Mapping[str, Any]) -> psycopg.Connection[Any]:
    """Open a connection in autocommit mode."""
    return psycopg.connect(
        autocommit=True, cursor_factory=psycopg.RawCursor, context=ADAPTERS, **dict(parameters)
    )


def _for_this_server_alone(made: Mapping[str, str]) -> dict[str, str]:
    """Let appends store nothing on a server that the epoch was not made for."""
    anywhere, here = (f"({made[name]})" for name in ("epoch", "epoch_here"))
    return {
        name: text.replace(anywhere, here) if name.startswith("append_") else text
        for name, text in made.items()
    }


_PLACE = ("host", "hostaddr", "port")

_DEFAULTS: Mapping[str, Any] = {
    "application_name": "intent-ledger",
    "connect_timeout": 10,
    # A network that swallows packets is noticed in half a minute, not in two hours.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
