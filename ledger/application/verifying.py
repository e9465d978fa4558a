"""Verifying a ledger: the pure verifier, pointed at what a ledger is stored in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from ledger.application.ledger import Ledger, edge_of
from ledger.application.unfinished import count_left_over
from ledger.errors import LedgerError, NotFound, RunNotFound
from ledger.integrity.verify import Progress, Report, Storage
from ledger.integrity.verify import verify as verify_streams
from ledger.run.sources import PREFIX
from ledger.stores.base import FullStore
from ledger.stores.sqlite_inspection import SQLiteStorage

SOURCE = "source:"
"""What a source stream is asked for with: `source:policy:refunds`."""


def verify(
    ledger: Ledger, run: str | None = None, *, progress: Callable[[Progress], None] | None = None
) -> Report:
    """Compare what is stored of a run, or of all runs and sources of the tenant, with what was written.

    Reads pages and holds no lock, so that appends go on meanwhile; what they add is not looked at.

    Args:
        ledger: the ledger to verify.
        run: one run, or one source as `source:ID`; None: every run and source stream, and the global order.
            A run that has such an id comes first.
        progress: called after each page.

    Raises:
        NotFound: of the run (RunNotFound) or source nothing is there, not even a trace.
        StoreError: the store could not be read, so there is no verdict.
    """
    with _storage(ledger.store) as storage:

        def look(streams: list[str] | None) -> Report:
            return verify_streams(
                ledger.store, ledger.tenant, streams=streams, storage=storage, progress=progress
            )

        if run is None:
            return replace(look(None), unfinished_blobs=_unfinished(ledger))
        try:
            return look([run])
        except RunNotFound:
            if run.startswith((SOURCE, PREFIX)):
                source = run.removeprefix("$").removeprefix(SOURCE)
                try:
                    return look([PREFIX + source])
                except RunNotFound:
                    raise NotFound(f"no source {source!r} was opened", source=source) from None
            if PREFIX + run in ledger.store.source_heads(ledger.tenant):
                raise RunNotFound(
                    f"no run {run!r} was opened; a source has that id: ask for {SOURCE}{run}", run=run
                ) from None
            raise


def _unfinished(ledger: Ledger) -> int:
    """Count contents that events say were dropped; one that was altered is a finding, and says nothing."""
    edge = edge_of(ledger)
    try:
        return sum(contents for contents, _ in count_left_over(edge, edge.now()).values())
    except LedgerError as error:
        if error.retryable:
            raise
        return 0


def _storage(store: FullStore) -> AbstractContextManager[Storage | None]:
    about = store.describe()
    if about["store"] == "sqlite":
        return SQLiteStorage(Path(str(about["path"])))
    if about["store"] == "postgresql":
        # Its driver need not be installed where another store is used.
        from ledger.stores.postgres.store import PostgresStore

        if isinstance(store, PostgresStore):
            return nullcontext(store.storage())
    return nullcontext()
