"""Which store an address names."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from ledger.canonical import invalid
from ledger.stores.base import FullStore

log = logging.getLogger("ledger")

MEMORY = ":memory:"


def open_store(
    url: str | Path, *, busy_seconds: float = 10.0, create: bool = True, unsafe: bool = False
) -> FullStore:
    """Open the store behind an address: a file path (SQLite), or `:memory:`.

    Raises:
        InvalidInput: the address names neither.
        SchemaMismatch, UnsafeStore, StoreUnavailable: see `ledger.open_ledger`.
    """
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
    if not isinstance(url, str | Path):
        raise invalid("url", f"an address is a file path (SQLite) or {MEMORY}, not {url!r:.50}")
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
