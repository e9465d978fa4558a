"""Whether what a cursor says is so in this ledger: another log may have been restored under it.

A cursor names the record of its tenant that was handled last, and up to where there is no other of it. Both
are looked at before they are believed, as of the moment that rows are read.
"""

from __future__ import annotations

from ledger.application.edge import Edge
from ledger.stores.looking import Records
from ledger.stores.read_models import Cursor, Model, Reached
from projections.serving import find_cursor


def is_lost(records: Records, cursor: Cursor) -> bool:
    """Tell whether the record a projection handled last is not in this ledger."""
    mark = cursor.reached.mark
    if mark is None:
        return False
    found = records.read(mark.run, after=mark.position - 1, limit=1)
    place = mark.gid, mark.position, mark.hash
    return not found or (found[0].gid, found[0].position, found[0].hash) != place


def counted(records: Records, cursor: Cursor) -> Cursor:
    """Return a cursor as far as it counts: past records of others only where they are what they were.

    Where they are not, the tenant may have records among those that are there now.
    """
    reached = cursor.reached
    if reached.seen <= reached.gid or _is_seen(records, reached):
        return cursor
    return cursor._replace(reached=reached._replace(seen=reached.gid, seen_hash=None))


def find_counted(edge: Edge, model: Model) -> Cursor | None:
    """Find the cursor of a build, as far as it counts now; None: it was never begun."""

    def find(records: Records, found: Cursor | None) -> Cursor | None:
        return None if found is None else counted(records, found)

    models = edge.store.read_models()
    return models.look(edge.tenant, lambda look: find(look, find_cursor(look.cursors(), model)))


def _is_seen(records: Records, reached: Reached) -> bool:
    """Tell whether the tenant has no record between the one that was handled last and where it has seen."""
    rows = records.tail(after=reached.seen - 1, limit=1, everyone=True)
    if reached.seen_hash is not None and rows and rows[0].gid == reached.seen:
        return rows[0].hash == reached.seen_hash
    # A login that is shown its own tenant alone: what the cursor says is looked up, which takes longer.
    if reached.seen > records.end():
        return False
    mine = records.tail(after=reached.gid, limit=1)
    return not mine or mine[0].gid > reached.seen
