"""Opening a ledger from an address."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

from ledger.application.edge import Clock, Edge, local_actor, new_id, system_clock
from ledger.application.ledger import Ledger
from ledger.canonical import invalid
from ledger.stores.base import FullStore
from ledger.values import Actor, check_id

log = logging.getLogger("ledger")

MEMORY = ":memory:"


def open_ledger(
    url: str | Path,
    *,
    tenant: str = "default",
    actor: Actor | None = None,
    clock: Clock = system_clock,
    ids: Callable[[], str] = new_id,
    busy_seconds: float = 10.0,
    create: bool = True,
    unsafe: bool = False,
) -> Ledger:
    """Open a ledger, creating its tables where there are none.

    Args:
        url: a file path (SQLite; it is created, its folder is not), or `:memory:` (lost with the process).
        tenant: whose runs and sources to see.
        actor: who writes where a call names nobody; None: `service:<login>@<host>`, unauthenticated.
        clock: returns the present moment in UTC.
        ids: returns a fresh event id.
        busy_seconds: how long to wait for another process that writes.
        create: make the file where there is none; without it that is StoreUnavailable, reason `missing`.
        unsafe: accept a database that could lose what was acknowledged.

    Raises:
        InvalidInput: the address or the tenant is malformed.
        SchemaMismatch: the database was written by a newer version.
        UnsafeStore: the database could lose what was acknowledged.
        StoreUnavailable: it cannot be opened.
    """
    try:
        check_id(tenant)
    except ValueError as error:
        raise invalid("tenant", str(error)) from None
    store = open_store(url, busy_seconds=busy_seconds, create=create, unsafe=unsafe)
    return Ledger(Edge(store, tenant, actor or local_actor(), clock, ids))


def open_store(
    url: str | Path, *, busy_seconds: float = 10.0, create: bool = True, unsafe: bool = False
) -> FullStore:
    """Open the store behind an address; see `open_ledger`."""
    path = file_of(url)
    if path is None:
        from ledger.stores.memory import MemoryStore

        log.warning("a :memory: ledger forgets everything when the process ends")
        return MemoryStore()
    from ledger.stores.sqlite import SQLiteStore

    return SQLiteStore(path, busy_seconds=busy_seconds, create=create, unsafe=unsafe)


def file_of(url: str | Path) -> Path | None:
    """Return the SQLite file an address names; None: it names memory.

    Raises:
        InvalidInput: it names neither.
    """
    address = str(url)
    if address == MEMORY:
        return None
    scheme = re.match(r"([a-z][a-z0-9+]*):/", address)
    if scheme is not None:
        if scheme[1] != "sqlite":
            raise invalid("url", f"{scheme[1]} is not supported; give a file path (SQLite) or {MEMORY}")
        address = re.sub(r"^sqlite:/(//)?", "", address)
    if not address.strip():
        raise invalid("url", "an address is a file path (SQLite) or :memory:")
    return Path(address)
