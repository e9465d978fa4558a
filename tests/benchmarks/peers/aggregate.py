"""`eventsourcing`: an aggregate that is saved when the act is intended, and again when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import unquote, urlsplit

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from tests.benchmarks.peers.serving import Side, payload, serve


class Act(Aggregate):
    """An act on the outside."""

    def __init__(self, args: dict[str, Any]) -> None:
        self.args = args
        self.result: dict[str, Any] | None = None

    @event("Succeeded")
    def succeed(self, result: dict[str, Any]) -> None:
        """Keep what it came to."""
        self.result = result


@contextmanager
def opened(url: str) -> Iterator[dict[str, Side]]:
    """Open an application with the settings that are its default."""
    place = urlsplit(url)
    settings = {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": place.path.strip("/"),
        "POSTGRES_HOST": place.hostname or "",
        "POSTGRES_PORT": str(place.port),
        "POSTGRES_USER": place.username or "",
        "POSTGRES_PASSWORD": unquote(place.password or ""),
    }
    app, numbers = Application[Any](env=settings), count()

    def acts(times: int) -> float:
        begin = time.perf_counter()
        for _ in range(times):
            content = payload(next(numbers))
            act = Act(content)
            app.save(act)
            act.succeed(content)
            app.save(act)
        return time.perf_counter() - begin

    try:
        yield {"aggregate, saved twice": acts}
    finally:
        app.close()


if __name__ == "__main__":
    serve(opened, distribution="eventsourcing")
