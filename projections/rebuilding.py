"""Making a projection anew beside the one that is read, and going back.

    with open_ledger("ledger.db") as ledger:
        rebuild(ledger, [Runs()])

The build that is served goes on being followed and asked until the new one has caught up and takes its place,
in one transaction. What was served before stays: `serve_previous` goes back to it, `drop` deletes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.canonical import invalid
from ledger.stores.builds import Build
from ledger.stores.read_models import Cursor, Model, Table
from projections.base import Projection
from projections.crew import Crew
from projections.cursors import changed, check_mark, is_ahead, stop_error
from projections.errors import NoPreviousBuild
from projections.handling import Hands, Here, stored_rows
from projections.reading import PAGE_BYTES, Reader
from projections.rounds import Progress, Rounds
from projections.runner import LEASE_SECONDS, manner_of
from projections.serving import find_cursor, find_served, is_of, slot_of
from projections.work import Work

PAGE = 2_000
"""Records of a page, where nothing else was asked for: nobody waits for them, as for those of a follower."""


def rebuild(  # noqa: PLR0913 - each is a choice of its own
    ledger: Ledger,
    projections: Sequence[Projection],
    *,
    fresh: bool = False,
    workers: int = 1,
    url: str | None = None,
    page: int = PAGE,
    page_bytes: int = PAGE_BYTES,
    lease_seconds: float = LEASE_SECONDS,
    holder: str | None = None,
    park: bool = False,
    stop: Event | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> bool:
    """Make projections anew, each beside what is served of it, and serve it when it has caught up.

    Returns whether they are served; False: `stop` was set before.

    One that was interrupted goes on where it was. One that was never built is built; a newer version is made
    beside an older one. Of two that do this at once one works, and the other waits for it.

    Args:
        ledger: whose records are read.
        projections: which, in the version of this program.
        fresh: begin anew what was interrupted.
        workers: in how many processes records are handled, apart from this one that reads and stores; 1: in
            this one. Only projections that are `by_run` are handled so, and such as another process can be
            sent. A program that uses them has its own beginnings behind `if __name__ == "__main__"`.
        url: where the workers open the ledger; needed with more than one.
        page: most records that are handled and stored together.
        page_bytes: most bytes of records in a page, apart from the first.
        lease_seconds: after which time without a sign of life another may take over.
        holder: what this is called, as no other at work is.
        park: set streams aside also where the projection would stop.
        stop: ends it early; it can be taken up again.
        progress: told how far they are.

    Raises:
        ProjectionStopped: a record cannot be handled; what is served stays. After the fix it goes on.
        ProjectionChanged: its tables are not those of this version.
        InvalidInput: a number is out of range, no projection is given or one twice, or there is no `url`.
        StoreUnavailable, StoreBusy: the store is away; or its tables cannot be made by this login.
    """
    manner = manner_of(holder, page, page_bytes, lease_seconds, park=park)
    if not projections or len({one.name for one in projections}) < len(projections):
        raise invalid("projections", "give at least one, and none twice")
    if workers < 1 or (workers > 1 and url is None):
        raise invalid("workers", "a number above 0 is needed, and above 1 where they open the ledger")
    edge = edge_of(ledger)
    reader = Reader(edge)
    with _hands(edge, reader, projections, workers, url) as hands:
        works = [
            Work(
                one, edge, reader, manner, build=_target(edge, one.model, fresh=fresh), hands=hands[one.name]
            )
            for one in projections
        ]
        return Rounds(edge, works, Work.is_served).run(stop or Event(), progress)


def serve_previous(ledger: Ledger, projection: Projection) -> Build:
    """Serve again what was served before, in one transaction, and return it; it catches up when it is run.

    What was served until then can be served again in the same way.

    Raises:
        NoPreviousBuild: nothing was served before, or it was dropped since.
        ProjectionAhead: it comes from another history.
        ProjectionStopped: it stands at a record that it cannot handle.
        LeaseLost: somebody dropped it in this moment, and nothing was changed.
    """
    edge = edge_of(ledger)
    models = edge.store.read_models()
    served = find_served(models.served(edge.tenant), projection.model)
    cursors = models.cursors(edge.tenant)
    before = None if served is None else served.previous
    found = None if before is None else find_cursor(cursors, projection.model, before)
    if before is None or found is None:
        model = projection.model
        raise NoPreviousBuild(
            f"there is no build of {model.projection} that was read before: a rebuild leaves one",
            projection=model.projection,
            version=model.version,
        )
    check_mark(edge, found)
    stopped = stop_error(found)
    if stopped is not None:
        raise stopped
    now = edge.now() if edge.has_own_clock else None
    models.serve(edge.tenant, _model(found), even_behind=True, now=now)
    return before


def drop(ledger: Ledger, projection: Projection) -> list[Build]:
    """Delete the builds of a projection that are neither served nor to be, and return them.

    Rows go a bounded number at a time; no event is touched. There is no way back to what was dropped.

    Raises:
        ProjectionChanged: one was made by a program that did not note its tables.
    """
    edge = edge_of(ledger)
    models = edge.store.read_models()
    served = find_served(models.served(edge.tenant), projection.model)
    kept = set() if served is None else {served.build, served.next}
    dropped = []
    for cursor in models.cursors(edge.tenant):
        if is_of(cursor, projection.model) and cursor.build not in kept:
            model = _model(cursor)
            if cursor.build == projection.model._replace(slot=cursor.slot).build:
                model = projection.model._replace(slot=cursor.slot)
            if not model.tables:
                raise changed(
                    model, "did not note which tables it has: run it once more before it is dropped"
                )
            models.forget(edge.tenant, model)
            dropped.append(cursor.build)
    return dropped


def _target(edge: Edge, model: Model, *, fresh: bool) -> Build:
    """Choose the build that is to be made, and make room for it."""
    models = edge.store.read_models()
    cursors = models.cursors(edge.tenant)
    served = find_served(models.served(edge.tenant), model)

    def cursor_of(slot: int) -> Cursor | None:
        return find_cursor(cursors, model._replace(slot=slot))

    def goes_on(found: Cursor | None) -> bool:
        return found is None or not (
            fresh or found.is_going or found.shape != model.shape or is_ahead(edge, found)
        )

    if served is None:
        chosen = model._replace(slot=slot_of(model, served, cursors))
    else:
        free = [slot for slot in (0, 1) if model._replace(slot=slot).build != served.build]
        first = find_cursor(cursors, model, served.build) if len(free) == 1 else None
        if first is not None and not first.reached.built and goes_on(first):
            # The first of all was never whole: there is nothing to read meanwhile.
            return first.build
        after = served.next
        if after is not None and after.version == model.version:
            free = [after.slot]
        empty = [slot for slot in free if cursor_of(slot) is None]
        others = [slot for slot in free if served.previous != model._replace(slot=slot).build]
        chosen = model._replace(slot=(empty or others or free)[0])
        if after == chosen.build and goes_on(cursor_of(chosen.slot)):
            return chosen.build
    if cursor_of(chosen.slot) is not None and (served is not None or not goes_on(cursor_of(chosen.slot))):
        models.forget(edge.tenant, chosen)
    return chosen.build


def _model(cursor: Cursor) -> Model:
    """Return what a cursor stands for, as far as is needed to delete or to serve it."""
    tables = tuple(Table(name, (), ()) for name in cursor.tables)
    return Model(cursor.projection, cursor.version, tables, cursor.slot)


@contextmanager
def _hands(
    edge: Edge, reader: Reader, projections: Sequence[Projection], workers: int, url: str | None
) -> Iterator[dict[str, Hands]]:
    """Lend who handles the records of each projection."""
    hands: dict[str, Hands] = {one.name: Here(one, stored_rows(edge), reader.decode) for one in projections}
    shared = [one for one in projections if one.by_run]
    if workers == 1 or url is None or not shared:
        yield hands
        return
    crew = Crew(url, edge.tenant, shared, workers)
    try:
        for one in shared:
            hands[one.name] = crew.share(Here(one, stored_rows(edge), reader.decode))
        yield hands
    finally:
        crew.close()
