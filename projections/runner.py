"""Running projections: catch up page by page, then follow live, each on its own.

    with open_ledger("ledger.db") as ledger:
        Runner(ledger, [Goals(), Runs()]).run(until_current=True)

Any number of runners may run the same projections, in one process or many. Of each projection one works, and
the others stand by until it lets go, or is not heard of for `lease_seconds`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple

from ledger.application.edge import Edge, worker_name
from ledger.application.ledger import Ledger, edge_of
from ledger.canonical import invalid
from ledger.errors import LedgerError, StoreBusy, StoreUnavailable
from projections.base import Projection
from projections.reading import PAGE, PAGE_BYTES, PageSize, Reader
from projections.work import Work

log = logging.getLogger("ledger")

WAIT_SECONDS = 0.2
"""How long a runner waits before it looks whether it was told to stop, or may take over."""

LEASE_SECONDS = 30.0


class Progress(NamedTuple):
    """How far a projection has come."""

    projection: str
    events: int
    """Handled, of the tenant."""
    known: int
    """How many there were when the runner began, or more."""


class Runner:
    """Runs projections of one tenant.

    Args:
        ledger: whose records are read; the rows stand beside them.
        projections: each with a name and version of its own.
        page: most records that are handled and stored together.
        page_bytes: most bytes of records in a page, apart from the first.
        lease_seconds: after which time without a sign of life another runner takes over. A page has to be
            handled in less.
        holder: what this runner is called, as no other at work is; None: by machine, process and a random
            part.

    Raises:
        InvalidInput: a projection stands twice or declares no tables, or a number is out of range.
    """

    def __init__(
        self,
        ledger: Ledger,
        projections: Iterable[Projection],
        *,
        page: int = PAGE,
        page_bytes: int = PAGE_BYTES,
        lease_seconds: float = LEASE_SECONDS,
        holder: str | None = None,
    ) -> None:
        for name, value in (("page", page), ("page_bytes", page_bytes), ("lease_seconds", lease_seconds)):
            if not value > 0:
                raise invalid(name, "a number above 0 is needed")
        self._edge = edge_of(ledger)
        self._reader = Reader(self._edge)
        name = holder or worker_name()
        self._works = [
            Work(one, self._edge, self._reader, name, PageSize(page, page_bytes), lease_seconds)
            for one in projections
        ]
        places = {(work.model.projection, work.model.version) for work in self._works}
        if not self._works or len(places) < len(self._works):
            raise invalid("projections", "give at least one, and none twice")

    def run(
        self,
        *,
        until_current: bool = False,
        stop: Event | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Handle records until `stop` is set; with `until_current`, until all that is shown now is handled.

        A record that cannot be handled stops its projection, whose rows are kept up to the record before;
        the others go on. A projection that stopped so is tried again by each runner that begins.

        Closing the ledger ends it too. While the store is away or busy it waits; with `until_current` it
        raises instead.

        Raises:
            ProjectionStopped: with `until_current`, a projection stands at a record it cannot handle.
            ProjectionAhead: the record that was handled last is not in this ledger.
            ProjectionChanged: its tables are not those of this version, or gone.
            StoreUnavailable: its tables cannot be made by this login; `reason` is `no_privilege`.

        The last three are raised at once where no projection is left to run, else at the end.
        """
        stop = stop or Event()
        target = self._edge.store.end() if until_current else None
        tell = None if progress is None else _Teller(self._edge, progress)
        try:
            while not stop.is_set() and not self._round(target, stop, tell):
                pass
        except StoreUnavailable as error:
            if until_current or error.data.get("reason") != "closed":
                raise
        finally:
            for work in self._works:
                work.close()
        self._raise(until_current=until_current)

    @contextmanager
    def in_background(self) -> Iterator[Runner]:
        """Run in a thread as long as the block lasts; at its end raise what ended the run before."""
        stop, raised = Event(), list[BaseException]()

        def follow() -> None:
            try:
                self.run(stop=stop)
            except BaseException as error:  # noqa: BLE001 - it belongs to who opened the block
                raised.append(error)

        thread = Thread(target=follow, name="projections", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()
        if raised:
            raise raised[0]

    def _round(self, target: int | None, stop: Event, tell: _Teller | None) -> bool:
        """Let each projection handle a page; return whether that was all."""
        busy = False
        for work in self._works:
            try:
                busy = work.step() or busy
            except (StoreUnavailable, StoreBusy) as error:
                if target is not None or not error.retryable:
                    raise
                log.warning("the projection %s waits: %s", work.model.projection, error)
                stop.wait(WAIT_SECONDS)
            if tell is not None and work.is_working:
                tell.told(work)
        if all(work.error is not None for work in self._works):
            return True
        if busy:
            return False
        if target is not None and all(work.is_done(target) for work in self._works):
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

    def _raise(self, *, until_current: bool) -> None:
        for work in self._works:
            error: LedgerError | None = work.error
            if error is None and until_current:
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
