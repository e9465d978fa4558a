"""What a PostgreSQL ledger says of itself to a verification: damage, guards, names, and what is not shown.

It asks through the store's own readers, one statement after another, so that it works behind a pooler and for
a role that may only read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg.sql import Identifier

from ledger.integrity.reader import Content, Kept
from ledger.stores.postgres.guards import altered, hiding
from ledger.stores.postgres.pool import Pool
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import statements

MOST = 100
"""Events at impossible places that are named of each kind."""
_PAGE = 1000
_DAMAGED = frozenset({"XX001", "XX002"})
"""Data corrupted, index corrupted."""
_CHECKS = {
    "r": ("verify_heapam", "SELECT msg FROM {}.verify_heapam($1::oid::regclass)"),
    "i": ("bt_index_check", "SELECT {}.bt_index_check($1::oid::regclass, true)"),
}


class PostgresStorage:
    """See `ledger.integrity.reader.Storage`.

    Global positions are made of transaction ids, so a hole among them is no loss.
    """

    dense = False

    def __init__(self, readers: Pool, schema: str) -> None:
        self._readers = readers
        self._schema = schema
        self._statements = statements(schema, "storage")

    def damage(self) -> Iterator[str]:
        """Name events at places that no transaction had, and what `amcheck` finds, where it is installed."""
        epochs = self._ask("epochs")
        if len(epochs) != 1:
            yield f"the epoch, on which the global order rests, has {len(epochs)} rows instead of one"
        elif not epochs[0][0]:
            for gid, tenant, run, position in self._ask("impossible", MOST):
                yield (
                    f"no transaction can have stored an event at the global position {gid} yet: position "
                    f"{position} of {run!r}, tenant {tenant!r}; it was moved there, or the epoch was lowered"
                )
        yield from self._checked()

    def unguarded(self) -> Iterable[str]:
        """List triggers, policies, indexes and constraints that are not as the migrations make them."""
        return self._readers.use(lambda session: altered(session, *self._expected(session)))

    def unseen(self, tenant: str) -> Iterator[str]:
        """Say what row-level security, or an epoch of another server, keeps from being looked at."""
        active, _, open_ = self._ask("sight", self._schema, tenant)[0]
        if active and not open_:
            yield f"the tenant {tenant!r} is not open to this role"
        if active:
            for what in self._readers.use(lambda session: hiding(session, *self._expected(session))):
                yield f"{what}, so that events may be hidden from this role"
        epochs = self._ask("epochs")
        if len(epochs) == 1 and epochs[0][0]:
            above = len(self._ask("impossible", MOST))
            if above:
                number = f"{MOST} or more" if above >= MOST else str(above)
                yield (
                    "the ledger came from another server, and nobody has opened it to append since: the "
                    f"global order does not show {number} events yet"
                )

    def sees_every_tenant(self) -> bool:
        """Tell whether the events of every tenant are shown."""
        active, every, _ = self._ask("sight", self._schema, "")[0]
        return every or not active

    def kept(self) -> Iterator[Kept]:
        """Name snapshots, heads and contents of all tenants, a page at a time."""
        for what, first in (("snapshot", ""), ("head", ""), ("content", b"")):
            after: Sequence[Any] = ("", first)
            while found := self._ask(f"kept_{what}s", *after, _PAGE):
                yield from (Kept(what, *names) for names in found)
                after = found[-1]

    def contents(self, tenant: str, digests: Iterable[bytes]) -> Iterator[Content]:
        """Read every row of content that has one of some digests."""
        return map(Content._make, self._ask("contents", tenant, list(digests)))

    def _ask(self, name: str, *values: object) -> list[Any]:
        return self._readers.use(lambda session: self._run(session, name, *values))

    def _run(self, session: Session, name: str, *values: object) -> list[Any]:
        return session.connection.execute(self._statements[name], values, binary=True).fetchall()

    def _expected(self, session: Session) -> tuple[dict[str, str], int, str]:
        version: int = session.fetch("schema_version")[0][0]
        return statements(self._schema, "inspection"), version, self._schema

    # --- amcheck -------------------------------------------------------------------------------

    def _checked(self) -> Iterator[str]:
        places = {name: place for place, name in self._ask("checkers")}
        for oid, name, kind in self._ask("relations", self._schema):
            function, text = _CHECKS[kind]
            if function in places:
                query = text.format(Identifier(places[function]).as_string())
                for what in self._readers.use(partial(_found, query, oid)):
                    yield f"{name}: {what}"


def _found(query: str, relation: int, session: Session) -> list[str]:
    """Let `amcheck` look at one table or index, however long that takes."""
    session.command(b"BEGIN READ ONLY")
    try:
        session.command(b"SET LOCAL statement_timeout = 0")
        return [str(what) for (what,) in session.connection.execute(query, (relation,)) if what]
    except psycopg.Error as error:
        if error.sqlstate not in _DAMAGED:
            raise
        return [str(error)]
    finally:
        session.roll_back()
