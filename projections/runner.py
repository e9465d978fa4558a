"""Running projections: catch up page by page, then follow live, each on its own.

    with open_ledger("ledger.db") as ledger:
        Runner(ledger, [Goals(), Runs()]).run(until_current=True)

Any number of runners may run the same projections, in one process or many. Of each projection one works, and
the others stand by until it lets go, or is not heard of for `lease_seconds`.

Of each projection a runner follows the build that is served of its version. A newer version is made beside
the one that is served, and takes its place once it has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event

from ledger.application.edge import worker_name
from ledger.application.ledger import Ledger, edge_of
from ledger.canonical import invalid
from projections.background import in_background
from projections.base import Projection
from projections.reading import PAGE, PAGE_BYTES, Reader
from projections.rounds import Progress, Rounds
from projections.work import Manner, Work

__all__ = ["LEASE_SECONDS", "Progress", "Runner", "manner_of"]

LEASE_SECONDS = 30.0


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
        park: set a stream aside at a record that cannot be handled, also where the projection would stop.

    Raises:
        InvalidInput: a projection stands twice or declares no tables, a number is out of range, or streams of
            a projection that is not `by_run` would be set aside.
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
        park: bool = False,
    ) -> None:
        manner = manner_of(holder, page, page_bytes, lease_seconds, park=park)
        self._edge = edge_of(ledger)
        reader = Reader(self._edge)
        self._works = [Work(one, self._edge, reader, manner) for one in projections]
        places = {(work.model.projection, work.model.version) for work in self._works}
        if not self._works or len(places) < len(self._works):
            raise invalid("projections", "give at least one, and none twice")

    def run(
        self,
        *,
        until_current: bool = False,
        stop: Event | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> bool:
        """Handle records until `stop` is set; with `until_current`, until all that is shown now is handled.

        Returns whether it came to its end, and was not stopped before.

        A record that cannot be handled stops its projection, whose rows are kept up to the record before, or
        sets its stream aside; the others go on. A projection that stopped so is tried again by each runner
        that begins.

        Closing the ledger ends it too. While the store is away or busy it waits; with `until_current` it
        raises instead.

        Raises:
            ProjectionStopped: with `until_current`, a projection stands at a record it cannot handle.
            ProjectionAhead: the record that was handled last is not in this ledger.
            ProjectionChanged: its tables are not those of this version, or gone.
            StoreUnavailable: its tables cannot be made by this login; `reason` is `no_privilege`.

        The last three are raised at once where no projection is left to run, else at the end.
        """
        done: Callable[[Work], bool] | None = None
        if until_current:
            target = self._edge.store.end()

            def done(work: Work) -> bool:
                return work.is_done(target)

        return Rounds(self._edge, self._works, done).run(stop or Event(), progress)

    @contextmanager
    def in_background(self) -> Iterator[Runner]:
        """Run in a thread as long as the block lasts; at its end raise what ended the run before."""
        with in_background(lambda stop: self.run(stop=stop), "projections"):
            yield self


def manner_of(
    holder: str | None, page: int, page_bytes: int, lease_seconds: float, *, park: bool = False
) -> Manner:
    """Check how a runner is to work; one without a name gets one.

    Raises:
        InvalidInput: a number is out of range.
    """
    for name, value in (("page", page), ("page_bytes", page_bytes), ("lease_seconds", lease_seconds)):
        if not value > 0:
            raise invalid(name, "a number above 0 is needed")
    return Manner(holder or worker_name(), page, page_bytes, lease_seconds, park)
