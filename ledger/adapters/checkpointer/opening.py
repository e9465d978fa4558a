"""Where a `Checkpointer` keeps its states: from an address, or in a ledger that is open."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.checkpointer.backend import Backend, Cache
from ledger.adapters.checkpointer.codec import DataCodec
from ledger.adapters.checkpointer.engine import Engine
from ledger.adapters.checkpointer.folder import Folder
from ledger.adapters.checkpointer.in_files import FileBackend
from ledger.adapters.checkpointer.in_ledger import LedgerBackend
from ledger.adapters.checkpointer.options import Options
from ledger.adapters.checkpointer.redis_cache import RedisCache
from ledger.adapters.threads import Threads
from ledger.canonical import invalid
from ledger.stores.stamps import Clock, new_id, system_clock

FILES = "files:"

Goal = Callable[[str], str]


class Surroundings(NamedTuple):
    """Who saves, and what the back end touches of the world."""

    actor: Actor | None = None
    custodian: Actor | None = None
    goal: Goal | None = None
    clock: Clock | None = None
    ids: Callable[[], str] | None = None
    busy_seconds: float = 10.0


def open_engine(
    where: str | Path | Ledger, options: Options, cache: str | Cache | None, around: Surroundings
) -> Engine:
    """Open the place where checkpoints are kept, and keep them as the options say.

    Raises:
        InvalidInput: it is none, or what it needs is not installed.
        StoreUnavailable: it cannot be opened.
    """
    codec = DataCodec(options.format)
    backend = open_backend(where, codec, cache, around)
    try:
        return Engine(backend, codec, options)
    except BaseException:
        backend.close()
        raise


def open_backend(
    where: str | Path | Ledger, codec: DataCodec, cache: str | Cache | None, around: Surroundings
) -> Backend:
    """Open the place where checkpoints are kept.

    Raises:
        InvalidInput: it is none, or what it needs is not installed.
        StoreUnavailable: it cannot be opened.
    """
    near = RedisCache(cache) if isinstance(cache, str) else cache
    if isinstance(where, Ledger):
        if around.clock is not None or around.ids is not None:
            raise invalid("clock", "a ledger that is open has its own clock and ids")
        return _in_ledger(where, codec, near, around, owned=False)
    clock, ids = around.clock or system_clock, around.ids or new_id
    if isinstance(where, str) and where.startswith(FILES):
        for given in ("actor", "custodian", "goal"):
            if getattr(around, given) is not None:
                raise invalid(given, "files keep no record of who did what for which goal: save in a ledger")
        name = where.removeprefix(FILES)
        if not name.strip():
            raise invalid("where", f"name the folder: {FILES}PATH")
        folder = Folder(Path(name), busy_seconds=around.busy_seconds, wait=time.sleep)
        return FileBackend(folder, codec, near, clock=clock, ids=ids)
    ledger = open_ledger(where, clock=clock, ids=ids, busy_seconds=around.busy_seconds)
    return _in_ledger(ledger, codec, near, around, owned=True)


def _in_ledger(
    ledger: Ledger, codec: DataCodec, cache: Cache | None, around: Surroundings, *, owned: bool
) -> LedgerBackend:
    threads = Threads(ledger, actor=around.actor, goal=around.goal)
    return LedgerBackend(ledger, threads, codec, cache, custodian=around.custodian, owned=owned)
