"""Which build of a projection is read, followed and made: that of this program, in which slot."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.application.edge import Edge
from ledger.stores.builds import Build, Served
from ledger.stores.read_models import Cursor, Model


def slot_of(model: Model, served: Served | None, cursors: Iterable[Cursor]) -> int:
    """Choose the slot of a version that is to be followed: what is served before what is next, and so on."""
    if served is not None:
        for build in (served.build, served.next, served.previous):
            if build is not None and build.version == model.version:
                return build.slot
    mine = [cursor for cursor in cursors if is_of(cursor, model) and cursor.version == model.version]
    best = max(mine, key=lambda cursor: (cursor.reached.built, cursor.reached.events), default=None)
    return 0 if best is None else best.slot


def followed(edge: Edge, model: Model) -> Model:
    """Return the build of a version that runners of this program follow."""
    models = edge.store.read_models()
    cursors = models.cursors(edge.tenant)
    return model._replace(slot=slot_of(model, served_of(edge, model), cursors))


def served_of(edge: Edge, model: Model) -> Served | None:
    """Return what is served of a projection; None: it was never begun."""
    return find_served(edge.store.read_models().served(edge.tenant), model)


def find_served(served: Iterable[Served], model: Model) -> Served | None:
    """Find what is served of a projection."""
    return next((one for one in served if one.projection == model.projection), None)


def find_cursor(cursors: Iterable[Cursor], model: Model, build: Build | None = None) -> Cursor | None:
    """Find the cursor of a build of a projection; without `build` the one of the model."""
    wanted = model.build if build is None else build
    return next((one for one in cursors if is_of(one, model) and one.build == wanted), None)


def is_of(cursor: Cursor, model: Model) -> bool:
    """Tell whether a cursor is of the projection of a model, in whatever version."""
    return cursor.projection == model.projection
