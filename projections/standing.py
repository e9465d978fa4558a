"""How projections stand: how far behind, who works on them, what stopped them; and waiting for one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.record import parse
from ledger.stores.read_models import Cursor, Stop
from ledger.stores.wakeup import Wakeup
from ledger.values.times import read_time
from projections.base import Projection
from projections.cursors import check_mark, cursor_of, stop_error
from projections.errors import ProjectionAhead

State = Literal["new", "building", "active", "stopped", "ahead"]
"""`new`: never begun. `building`: it has not caught up yet. `active`: it once had. `stopped`: at a record
that it cannot handle. `ahead`: what it handled last is not in this ledger."""

_POLL_SECONDS = 0.05


class Standing(NamedTuple):
    """How one version of one projection stands with the records of a tenant."""

    projection: str
    version: int
    state: State
    position: int
    """Global position up to which everything is handled."""
    events: int
    """Records of the tenant that were handled."""
    at: datetime | None
    """Time of the last of them."""
    lag_events: int
    """Records of the tenant that wait, shown to followers or not."""
    lag_seconds: float
    """How long the first of them has been waiting; 0.0: none waits."""
    stopped: Stop | None
    holder: str | None
    """Who works on it, or did until its lease ended."""
    held_until: datetime | None
    updated_at: datetime | None


def status(ledger: Ledger, projections: Iterable[Projection] = ()) -> list[Standing]:
    """Tell how projections stand: those that were ever begun, and those that are named here."""
    edge = edge_of(ledger)
    found = {(cursor.projection, cursor.version): cursor for cursor in _cursors(edge)}
    names = {(one.model.projection, one.model.version) for one in projections} | found.keys()
    return [_standing(edge, name, version, found.get((name, version))) for name, version in sorted(names)]


def wait_for(ledger: Ledger, projection: Projection, position: int | None = None, *, timeout: float) -> bool:
    """Wait until a projection has handled everything up to a global position; return whether it has.

    For reading what one has just written. A runner has to be at work somewhere; nothing is run here.

    Args:
        ledger: the tenant's.
        projection: which one, in which version.
        position: `global_position` of a record; None: of the last record that is stored now.
        timeout: seconds.

    Raises:
        ProjectionStopped: it stands at a record before that which it cannot handle.
        ProjectionAhead: the record it handled last is not in this ledger.
    """
    edge = edge_of(ledger)
    target = edge.store.end(newest=True) if position is None else position
    model = projection.model

    def arrived() -> bool:
        cursor = cursor_of(edge, model)
        if cursor is None:
            return target <= 0
        check_mark(edge, cursor)
        if cursor.reached.position >= target:
            return True
        stopped = stop_error(cursor)
        if stopped is not None:
            raise stopped
        return False

    return Wakeup(_POLL_SECONDS).wait(arrived, timeout)


def resume_projection(ledger: Ledger, projection: Projection) -> None:
    """Let a projection that stopped at a record try it again, under the runners that are at work.

    One that begins tries it in any case.
    """
    edge = edge_of(ledger)
    edge.store.read_models().resume(edge.tenant, projection.model)


def forget(ledger: Ledger, projection: Projection) -> None:
    """Delete what a projection keeps of the tenant, and its cursor, so that it is begun anew.

    Its rows are gone until it has caught up again.
    """
    edge = edge_of(ledger)
    edge.store.read_models().forget(edge.tenant, projection.model)


def _cursors(edge: Edge) -> list[Cursor]:
    return edge.store.read_models().cursors(edge.tenant)


def _standing(edge: Edge, name: str, version: int, cursor: Cursor | None) -> Standing:
    after = 0 if cursor is None else cursor.reached.gid
    behind = edge.store.read_models().behind(edge.tenant, after)
    seconds = 0.0
    if behind.first is not None:
        waits_since = read_time(parse(behind.first)["at"])
        seconds = max((edge.now() - waits_since).total_seconds(), 0.0)
    if cursor is None:
        return Standing(name, version, "new", 0, 0, None, behind.events, seconds, None, None, None, None)
    reached = cursor.reached
    return Standing(
        name,
        version,
        _state(edge, cursor),
        reached.position,
        reached.events,
        reached.at,
        behind.events,
        seconds,
        reached.stop,
        cursor.holder,
        cursor.until,
        cursor.updated_at,
    )


def _state(edge: Edge, cursor: Cursor) -> State:
    try:
        check_mark(edge, cursor)
    except ProjectionAhead:
        return "ahead"
    if cursor.reached.stop is not None:
        return "stopped"
    return "active" if cursor.reached.built else "building"
