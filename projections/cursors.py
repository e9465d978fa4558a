"""Where a projection stands, and what is wrong with where it stands."""

from __future__ import annotations

from ledger.application.edge import Edge
from ledger.stores.builds import Parked
from ledger.stores.read_models import Cursor, Mark, Model, Reached
from projections.errors import ProjectionAhead, ProjectionChanged, ProjectionStopped
from projections.history import is_lost
from projections.ways_on import is_altered, when_parked, when_stopped


def stop_error(cursor: Cursor) -> ProjectionStopped | None:
    """Return the error of a projection that a record has stopped."""
    stop = cursor.reached.stop
    if stop is None:
        return None
    way_out = when_stopped(cursor.projection, stop.error)
    return ProjectionStopped(
        f"the projection {cursor.projection} {cursor.build} stopped before {stop.run!r} position "
        f"{stop.position} (global position {stop.gid}): {stop.error}; {way_out}",
        projection=cursor.projection,
        version=cursor.version,
        gid=stop.gid,
        run=stop.run,
        position=stop.position,
        error=stop.error,
        altered=is_altered(stop.error),
    )


def parked_error(cursor: Cursor, parked: Parked) -> ProjectionStopped:
    """Build the error of a question about a stream that was set aside."""
    way_out = when_parked(cursor.projection, parked.error)
    return ProjectionStopped(
        f"the projection {cursor.projection} {cursor.build} has set aside {parked.run!r} from position "
        f"{parked.position} on (global position {parked.gid}): {parked.error}; {way_out}",
        projection=cursor.projection,
        version=cursor.version,
        gid=parked.gid,
        run=parked.run,
        position=parked.position,
        error=parked.error,
        altered=is_altered(parked.error),
    )


def ahead(cursor: Cursor) -> ProjectionAhead:
    """Build the error of a cursor that stands at a record that is not there."""
    mark = cursor.reached.mark
    assert mark is not None
    model = Model(cursor.projection, cursor.version, (), cursor.slot)
    return ProjectionAhead(
        f"{named(model)} has handled {mark.run!r} position {mark.position} at global position {mark.gid}, "
        f"which is not in this ledger: it was restored from a backup, or the cursor is another ledger's; "
        f"{again(model)}",
        projection=cursor.projection,
        version=cursor.version,
        gid=mark.gid,
        run=mark.run,
        position=mark.position,
    )


def check_mark(edge: Edge, cursor: Cursor) -> None:
    """Make sure that the record a projection handled last is in this ledger.

    Raises:
        ProjectionAhead: it is not.
    """
    if is_ahead(edge, cursor):
        raise ahead(cursor)


def is_ahead(edge: Edge, cursor: Cursor) -> bool:
    """Tell whether the record a projection handled last is not in this ledger."""
    return edge.store.read_models().look(cursor.tenant, lambda look: is_lost(look, cursor))


def is_seen(edge: Edge, reached: Reached) -> bool:
    """Tell whether the far end of what was read, past records of other tenants, is still what it was."""
    return reached.seen_hash is not None and hash_at(edge, reached.seen, reached.mark) == reached.seen_hash


def hash_at(edge: Edge, gid: int, known: Mark | None) -> bytes | None:
    """Return the hash of the record at a global position, whosever it is; None where none is shown.

    `known` is a record whose hash need not be looked up.
    """
    if known is not None and known.gid == gid:
        return known.hash
    rows = edge.store.tail(after=gid - 1, limit=1)
    return rows[0].hash if rows and rows[0].gid == gid else None


def changed(model: Model, what: str) -> ProjectionChanged:
    """Build the error of a projection whose tables are not what they were."""
    return ProjectionChanged(f"{named(model)} {what}", projection=model.projection, version=model.version)


def named(model: Model) -> str:
    """Name a projection in a sentence."""
    return f"the projection {model.projection} {model.build}"


def again(model: Model) -> str:
    """Say how it is made anew."""
    return f"make it anew: intent-ledger project rebuild {model.projection}"
