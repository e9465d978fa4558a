"""How projections stand: how far behind, who works on them, what stopped them; and waiting for one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.record import parse
from ledger.stores.builds import Build, Parked, Served
from ledger.stores.read_models import Cursor, Look, Model, Stop
from ledger.stores.wakeup import Wakeup
from ledger.values.times import read_time
from projections.base import Projection
from projections.cursors import ahead, stop_error
from projections.history import counted, is_lost
from projections.serving import find_cursor, find_served, followed, slot_of

State = Literal["new", "building", "active", "stopped", "ahead", "going"]
"""`new`: never begun. `building`: it has not caught up yet. `active`: it once had. `stopped`: at a record
that it cannot handle. `ahead`: what it handled last is not in this ledger. `going`: its rows are being
deleted, or that was interrupted."""

Part = Literal["served", "next", "previous"]
"""`served`: questions read it. `next`: they will, once it has caught up. `previous`: they did before."""

_POLL_SECONDS = 0.05


class Standing(NamedTuple):
    """How one build of one projection stands with the records of a tenant."""

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
    slot: int = 0
    part: Part | None = None
    """None: nobody reads it, nor is to."""
    parked: tuple[Parked, ...] = ()
    """Streams that were set aside, by name."""


def status(ledger: Ledger, projections: Iterable[Projection] = ()) -> list[Standing]:
    """Tell how projections stand: all builds that were ever begun, and those that are named here."""
    edge = edge_of(ledger)
    found, served = edge.store.read_models().look(edge.tenant, _found)
    begun = {(projection, version) for projection, version, _ in found}
    named = {(one.model.projection, one.model.version) for one in projections}
    places = found.keys() | {(*place, 0) for place in named - begun}
    return [
        _standing(edge, Model(name, version, (), slot), found.get((name, version, slot)), served)
        for name, version, slot in sorted(places)
    ]


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

    def find(look: Look) -> Cursor | None:
        # Asked each time: another build may have taken the place of the one that was read.
        cursors = look.cursors()
        slot = slot_of(model, find_served(look.served(), model), cursors)
        cursor = find_cursor(cursors, model._replace(slot=slot))
        if cursor is not None and is_lost(look, cursor):
            raise ahead(cursor)
        return None if cursor is None else counted(look, cursor)

    def arrived() -> bool:
        cursor = edge.store.read_models().look(edge.tenant, find)
        if cursor is None:
            return target <= 0
        if cursor.reached.position >= target:
            return True
        stopped = stop_error(cursor)
        if stopped is not None:
            raise stopped
        return False

    return Wakeup(_POLL_SECONDS).wait(arrived, timeout)


def served_model(ledger: Ledger, projection: Projection) -> Model:
    """Return the build of a projection that is read now, for `ledger.store.read_models()`.

    It may be another a moment later: within `look` ask for what is served, and use that build for all.
    """
    return followed(edge_of(ledger), projection.model)


def resume_projection(ledger: Ledger, projection: Projection) -> bool:
    """Let a projection that stopped at a record try it again, under the runners that are at work.

    One that begins tries it in any case. Streams that were set aside are handled again from the record where
    they were, once a runner is at work. Returns whether anything had stopped, or was set aside.
    """
    edge = edge_of(ledger)
    models = edge.store.read_models()
    found = False
    for cursor in models.cursors(edge.tenant):
        if (cursor.projection, cursor.version) == (projection.model.projection, projection.model.version):
            model = projection.model._replace(slot=cursor.slot)
            found = found or cursor.reached.stop is not None or bool(models.parked(edge.tenant, model))
            models.resume(edge.tenant, model)
    return found


def forget(ledger: Ledger, projection: Projection) -> None:
    """Delete what a projection keeps of the tenant in its version, and its cursors, so that it is begun anew.

    Its rows are gone until it has caught up again. To make it anew while its rows are read, rebuild it.
    """
    edge = edge_of(ledger)
    for slot in (0, 1):
        edge.store.read_models().forget(edge.tenant, projection.model._replace(slot=slot))


_Place = tuple[str, int, int]
"""Projection, version and slot."""


class _Found(NamedTuple):
    """A cursor as far as it counts."""

    cursor: Cursor
    is_lost: bool


def _found(look: Look) -> tuple[dict[_Place, _Found], list[Served]]:
    """Find all that was begun, and what is served."""
    found = {
        (one.projection, one.version, one.slot): _Found(counted(look, one), is_lost(look, one))
        for one in look.cursors()
    }
    return found, look.served()


def _standing(edge: Edge, model: Model, found: _Found | None, all_served: Iterable[Served]) -> Standing:
    models = edge.store.read_models()
    cursor = None if found is None else found.cursor
    behind = models.behind(edge.tenant, 0 if cursor is None else cursor.reached.gid)
    seconds = 0.0
    if behind.first is not None:
        waits_since = read_time(parse(behind.first)["at"])
        seconds = max((edge.now() - waits_since).total_seconds(), 0.0)
    one = Standing(
        model.projection, model.version, "new", 0, 0, None, behind.events, seconds, None, None, None, None
    )
    if found is None or cursor is None:
        return one
    reached = cursor.reached
    return one._replace(
        state=_state(found),
        position=reached.position,
        events=reached.events,
        at=reached.at,
        stopped=reached.stop,
        holder=cursor.holder,
        held_until=cursor.until,
        updated_at=cursor.updated_at,
        slot=cursor.slot,
        part=_part(find_served(all_served, model), cursor.build),
        parked=tuple(models.parked(edge.tenant, model)),
    )


def _part(served: Served | None, build: Build) -> Part | None:
    if served is None:
        return None
    parts: dict[Build | None, Part] = {
        served.previous: "previous",
        served.next: "next",
        served.build: "served",
    }
    return parts.get(build)


def _state(found: _Found) -> State:
    cursor = found.cursor
    if cursor.is_going:
        return "going"
    if found.is_lost:
        return "ahead"
    if cursor.reached.stop is not None:
        return "stopped"
    return "active" if cursor.reached.built else "building"
