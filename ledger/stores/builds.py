"""Which build of a projection its questions read, and which is made beside it.

A *build* is one version of a projection in one of its two slots: tables of its own, a cursor of its own. Of
the builds of a tenant one is *served*. Another one may be *next*: it is made beside the served one, which
goes on answering, and takes its place in one transaction once it has caught up. The one that was served
before stays as it is, so that one can go back.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Build(NamedTuple):
    """A version of a projection in a slot."""

    version: int
    slot: int = 0
    """0 or 1."""

    def __str__(self) -> str:
        # A letter and no number, as in `v1b`: a slot counts for nothing.
        return f"v{self.version}{'b' * self.slot}"


class Served(NamedTuple):
    """Which build of a projection of a tenant is read."""

    tenant: str
    projection: str
    build: Build
    since: datetime
    previous: Build | None = None
    """What was served before; it can be served again."""
    next: Build | None = None
    """What is to be served once it has caught up."""


class Parked(NamedTuple):
    """A stream that was set aside at a record that a projection could not handle."""

    run: str
    gid: int
    """Global position of that record, the first that is not handled; `position`: its place in the stream."""
    position: int
    error: str
    events: int
    """How many records of the stream were set aside."""
    again: bool = False
    """Somebody has said that they can be handled now. Stored with a page, True leaves what was said as it is,
    and False says that they were tried."""


def when_taken(found: Served | None, one: Served, *, first: bool) -> Served:
    """Return what is served once a build is worked on: the first of all is, a newer one is next.

    Args:
        found: what was served.
        one: the build, as it would be served.
        first: it was never worked on before.
    """
    if found is None:
        return one
    build, after = one.build, found.next
    newer = build.version > found.build.version and (after is None or after.version < build.version)
    return found._replace(next=build) if first and newer else found


def when_planned(found: Served | None, one: Served) -> Served:
    """Return what is served once a build is to be made: it is next, unless it is served already."""
    if found is None or found.build == one.build:
        return found or one
    previous = None if found.previous == one.build else found.previous
    return found._replace(previous=previous, next=one.build)


def when_served(found: Served | None, one: Served) -> Served:
    """Return what is served once a build has taken the place of another."""
    if found is None or found.build == one.build:
        return found or one
    return one._replace(previous=found.build, next=None if found.next == one.build else found.next)


def when_forgotten(found: Served | None, one: Served) -> Served | None:
    """Return what is served without a build: what was to be next, from now on; None: nothing."""
    if found is None:
        return None
    previous, after = (None if build == one.build else build for build in (found.previous, found.next))
    if found.build != one.build:
        return found._replace(previous=previous, next=after)
    return None if after is None else one._replace(build=after, previous=previous)


def cells_of_served(served: Served) -> tuple[object, ...]:
    """Write the cells from `version` on, without `since`."""
    nothing = (None, None)
    return (*served.build, *(served.previous or nothing), *(served.next or nothing))
