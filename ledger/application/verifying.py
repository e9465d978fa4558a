"""Verifying a ledger: the pure verifier, pointed at what a ledger is stored in."""

from __future__ import annotations

from collections.abc import Callable

from ledger.application.ledger import Ledger
from ledger.integrity.verify import Progress, Report
from ledger.integrity.verify import verify as verify_streams


def verify(
    ledger: Ledger, run: str | None = None, *, progress: Callable[[Progress], None] | None = None
) -> Report:
    """Compare what is stored of a run, or of all runs and sources of the tenant, with what was written.

    Reads pages and holds no lock, so that appends go on meanwhile; what they add is not looked at.

    Args:
        ledger: the ledger to verify.
        run: one run; None: every run and source stream.
        progress: called after each page.

    Raises:
        RunNotFound: of the run nothing is there, not even a trace.
        StoreError: the store could not be read, so there is no verdict.
    """
    streams = None if run is None else [run]
    return verify_streams(ledger.store, ledger.tenant, streams=streams, progress=progress)
