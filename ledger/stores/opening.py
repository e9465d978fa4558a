"""Which store an address names."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ledger.canonical import invalid
from ledger.stores.base import FullStore

if TYPE_CHECKING:
    from ledger.stores.postgres.store import PostgresStore

log = logging.getLogger("ledger")

MEMORY = ":memory:"
ADDRESSES = f"an address is a file path (SQLite), postgresql://… or {MEMORY}"

_OF_A_SERVER = re.compile(
    r"postgres(ql)?:|\s*(host|hostaddr|port|dbname|user|password|service|sslmode)\s*=", re.IGNORECASE
)
"""Beginnings of what would otherwise become a file of that name."""

_OF_MEMORY = re.compile(
    r"\s*(sqlite3?:/*|(file:|sqlite3?:)?[:/]*\s*memory\s*:?/*(\?.*)?|[a-z0-9]+:.*[?&]mode=memory\b.*)\s*",
    re.IGNORECASE | re.DOTALL,
)
"""What others write for memory: it would become a file of that name. `memory` alone may well be one."""


def open_store(
    url: str | Path,
    *,
    busy_seconds: float = 10.0,
    create: bool = True,
    unsafe: bool = False,
    tenant: str | None = None,
) -> FullStore:
    """Open the store behind an address: a file path (SQLite), `postgresql://…`, or `:memory:`.

    With `tenant`, a server that keeps that tenant from this login refuses to open; a file is open to whoever
    may read it.

    Raises:
        InvalidInput: the address names none of them, or PostgreSQL's driver is not installed.
        SchemaMismatch, UnsafeStore, StoreUnavailable: see `ledger.open_ledger`.
    """
    if is_postgres(url):
        return _postgres_store()(
            str(url), busy_seconds=busy_seconds, create=create, unsafe=unsafe, tenant=tenant
        )
    path = file_of(url)
    if path is None:
        from ledger.stores.memory import MemoryStore

        log.warning("a :memory: ledger forgets everything when the process ends")
        return MemoryStore()
    from ledger.stores.sqlite import SQLiteStore

    return SQLiteStore(path, busy_seconds=busy_seconds, create=create, unsafe=unsafe)


def is_postgres(url: str | Path) -> bool:
    """Tell whether an address names a PostgreSQL database."""
    return isinstance(url, str) and re.match(r"postgres(ql)?://", url, re.IGNORECASE) is not None


def file_of(url: str | Path) -> Path | None:
    """Return the SQLite file an address names; None: it names memory.

    Raises:
        InvalidInput: it names neither.
    """
    if not isinstance(url, str | Path):
        raise invalid("url", f"{ADDRESSES}, not {url!r:.50}")
    if is_postgres(url):
        raise invalid("url", "this names a PostgreSQL database; only a file is looked at here")
    address = str(url)
    if address == MEMORY:
        return None
    if isinstance(url, str) and ":" in address and _OF_MEMORY.fullmatch(address):
        raise invalid("url", f"memory is written {MEMORY} here (or ./ before the name of a file)")
    if isinstance(url, str) and _OF_A_SERVER.match(address):
        raise invalid(
            "url",
            "this looks like a server: write it as postgresql://user@host:port/database (or ./ before the "
            "name of a file)",
        )
    # Of one letter is a drive.
    scheme = re.match(r"(file(?=:)|[a-z][a-z0-9+]+(?=:/))", address, re.IGNORECASE)
    if scheme is not None:
        if scheme[1].lower() != "sqlite":
            raise invalid("url", f"{scheme[1]} is not supported; {ADDRESSES}")
        address = re.sub(r"^sqlite:/(//)?", "", address, flags=re.IGNORECASE)
    if not address.strip():
        raise invalid("url", ADDRESSES)
    return Path(address)


def check_driver() -> None:
    """Make sure that PostgreSQL can be spoken to.

    Raises:
        InvalidInput: its driver is not installed.
    """
    _postgres_store()


def _postgres_store() -> type[PostgresStore]:
    try:
        from ledger.stores.postgres.store import PostgresStore
    except ImportError as error:
        advice = "PostgreSQL needs its driver: pip install '.[postgres]' in a checkout"
        raise invalid("url", f"{advice} ({error})") from error
    return PostgresStore
