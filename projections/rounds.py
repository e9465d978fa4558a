"""Rounds: each of several projections handles a page, then the next, until there is nothing to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Event
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.errors import LedgerError, StoreBusy, StoreUnavailable
from projections.work import Work

log = logging.getLogger("ledger")

WAIT_SECONDS = 0.2
"""How long a runner waits before it looks whether it was told to stop, or may take over."""


class Progress(NamedTuple):
    """How far a projection has come."""

    projection: str
    events: int
    """Handled, of the tenant."""
    known: int
    """How many there were when the runner began, or more."""


class Rounds:
    """Lets projections take turns.

    Args:
        edge: the ledger.
        works: the projections.
        done: tells of one whether it needs no further turn; None: they go on until `stop`.
    """

    def __init__(self, edge: Edge, works: Sequence[Work], done: Callable[[Work], bool] | None) -> None:
        self._edge = edge
        self._works = works
        self._done = done

    def run(self, stop: Event, progress: Callable[[Progress], None] | None) -> bool:
        """Take turns until `stop` is set or all are done, then let all go; return whether all are done.

        Raises:
            LedgerError: what one of them cannot go on for: at once where none is left, else at the end.
            StoreUnavailable, StoreBusy: the store is away or busy, and this was not to run until `stop`.
        """
        tell = None if progress is None else _Teller(self._edge, progress)
        done = False
        try:
            while not done and not stop.is_set():
                done = self._round(stop, tell)
        except StoreUnavailable as error:
            if self._done is not None or error.data.get("reason") != "closed":
                raise
        finally:
            for work in self._works:
                work.close()
        self._raise()
        return done

    def _round(self, stop: Event, tell: _Teller | None) -> bool:
        """Let each projection handle a page; return whether that was all."""
        busy = False
        for work in self._works:
            try:
                busy = work.step() or busy
            except (StoreUnavailable, StoreBusy) as error:
                if self._done is not None or not error.retryable:
                    raise
                log.warning("the projection %s waits: %s", work.model.projection, error)
                stop.wait(WAIT_SECONDS)
            if tell is not None and work.is_working:
                tell.told(work)
        if all(work.error is not None for work in self._works):
            return True
        if busy:
            return False
        if self._done is not None and all(map(self._done, self._works)):
            return True
        self._wait(stop)
        return False

    def _wait(self, stop: Event) -> None:
        positions = [work.position for work in self._works if work.is_working]
        if not positions:
            stop.wait(WAIT_SECONDS)
            return
        try:
            self._edge.store.wait(min(positions), WAIT_SECONDS)
        except StoreBusy as error:
            log.warning("projections wait: %s", error)
            stop.wait(WAIT_SECONDS)

    def _raise(self) -> None:
        for work in self._works:
            error: LedgerError | None = work.error
            if error is None and self._done is not None:
                error = work.stopped()
            if error is not None:
                raise error


class _Teller:
    """Tells somebody who watches how far each projection is."""

    def __init__(self, edge: Edge, progress: Callable[[Progress], None]) -> None:
        self._edge = edge
        self._progress = progress
        self._known: dict[str, int] = {}

    def told(self, work: Work) -> None:
        name = work.model.projection
        if name not in self._known:
            left = self._edge.store.read_models().behind(self._edge.tenant, work.position)
            self._known[name] = work.events + left.events
        self._progress(Progress(name, work.events, max(self._known[name], work.events)))
