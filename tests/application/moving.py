"""What the tests of moving and dropping run in processes of their own, to kill them."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ledger import Actor, Ledger
from ledger.application import adding_runs, importing_runs
from ledger.application.edge import Edge
from ledger.application.expiring import expire
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from ledger.stores.postgres.session import Session
from ledger.stores.sqlite import SQLiteStore
from tests.stores.faults import Hooks

BATCH = 3


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _dying(place: Path | str, when: str, commits: int) -> FullStore:
    """Open a store whose process ends before or after a commit of its own, with nothing cleaned up."""
    left = [commits]

    def noticed(at: str, statement: str) -> None:
        if statement == "COMMIT" and left[0] and at == when:
            left[0] -= 1
            if not left[0]:
                _die()

    if isinstance(place, Path):
        hooks = Hooks(
            before=lambda statement: noticed("before", statement),
            after=lambda statement: noticed("after", statement),
        )
        return SQLiteStore(place, busy_seconds=60, connect=hooks.connect())
    command = Session.command

    def commanded(self: Any, text: bytes) -> None:
        noticed("before", text.decode())
        command(self, text)
        noticed("after", text.decode())

    store = open_store(place)
    Session.command = commanded  # type: ignore[method-assign]
    return store


def import_and_die(place: Path | str, file: Path, when: str, commits: int, reports: Connection) -> None:
    """Import a file, and die around the n-th commit."""
    adding_runs.BATCH = BATCH
    ledger = Ledger(Edge(_dying(place, when, commits), "default", Actor("service:tests")))
    with file.open("rb") as opened:
        importing_runs.import_runs(ledger, opened)


def expire_and_die(place: Path | str, reports: Connection) -> None:
    """Expire all messages, and die between the event and the deletion."""
    store = open_store(place)
    kept: Any = store
    drop = kept.drop_blobs

    def dying(tenant: str, places: Any, **options: Any) -> Any:
        if places:
            _die()
        return drop(tenant, places, **options)

    kept.drop_blobs = dying
    ledger = Ledger(Edge(store, "default", Actor("service:tests")))
    expire(ledger, classes=["message"], by="human:kim", reason="old")
