"""A peer that projects: `eventsourcing`, which handles one event at a time.

Its projection keeps nothing but its place, so that all it does is what the library does for each event: read
and rebuild it, and store in a transaction of its own that it was handled. On PostgreSQL the runner of the
library does that. On SQLite its recorder has no subscriptions, so the loop of that runner stands here, over
pages of its notifications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.persistence import InfrastructureFactory, Tracking, TrackingRecorder
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from eventsourcing.sqlite import SQLiteTrackingRecorder
from eventsourcing.utils import Environment
from psycopg.conninfo import conninfo_to_dict

from tests.benchmarks.measure import Timed, seconds
from tests.benchmarks.replay import Goals

_PATIENCE = 600.0
_PAGE = 500
_PLACE = ("dbname", "host", "port", "user", "password")


class Stories(Application[UUID]):
    """What is followed."""


class Places(Projection[TrackingRecorder]):
    """Follows, and keeps its place."""

    name = "places"

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        """Note that an event was handled."""
        self.view.insert_tracking(tracking)


@contextmanager
def on_sqlite(folder: Path, events: int) -> Iterator[Timed]:
    """Store so many events; lend what follows them from the first on and says how long that took."""
    settings = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(folder / "peer.db")}
    app, numbers = Stories(env=settings), count()
    last = _told(app, events)

    def caught_up() -> float:
        place = settings | {"SQLITE_DBNAME": str(folder / f"view-{next(numbers)}.db")}
        factory = InfrastructureFactory[SQLiteTrackingRecorder].construct(Environment("places", place))
        projection = Places(factory.tracking_recorder(SQLiteTrackingRecorder))

        def run() -> None:
            at = 0
            while at < last:
                for found in app.recorder.select_notifications(start=at + 1, limit=_PAGE):
                    at = int(found.id)
                    projection.process_event(app.mapper.to_domain_event(found), Tracking(app.name, at))

        taken = seconds(run)
        factory.close()
        return taken

    yield caught_up
    app.close()


@contextmanager
def on_postgres(url: str, events: int) -> Iterator[Timed]:
    """Store so many events; lend what runs the library's runner over them and says how long that took."""
    place = conninfo_to_dict(url)
    settings = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        **{
            f"POSTGRES_{name.upper()}": str(place[name])
            for name in ("dbname", "host", "port", "user", "password")
        },
    }
    app, numbers = Stories(env=settings), count()
    last = _told(app, events)
    app.close()

    def caught_up() -> float:
        # Tables of its own, in which it has come nowhere yet.
        named = type("Places", (Places,), {"name": f"places_{next(numbers)}"})
        return seconds(lambda: _run(named, settings, last))

    yield caught_up


def _run(projection: Callable[..., Any], settings: Mapping[str, str], last: int) -> None:
    runner: Any = ProjectionRunner
    with runner(
        application_class=Stories,
        projection_class=projection,
        view_class=PostgresTrackingRecorder,
        env=dict(settings),
    ) as running:
        running.wait(last, timeout=_PATIENCE)


def _told(app: Stories, events: int) -> int:
    """Store events, and return the number of the last."""
    goals = Goals("goal 0")
    for number in range(1, events):
        goals.revise(f"goal {number}, " + "in more words " * 10, "asked", "human:kim")
    app.save(goals)
    return int(app.recorder.max_notification_id() or 0)
