"""DBOS: a step of a workflow, which stores what the step returned. What surrounds the steps is not timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from dbos import DBOS

from tests.benchmarks.peers.serving import Side, payload, serve


@contextmanager
def opened(url: str) -> Iterator[dict[str, Side]]:
    """Launch it with the settings that are its default."""
    DBOS(config={"name": "peer", "system_database_url": url, "log_level": "WARNING"})
    numbers = count()

    def act(number: int) -> dict[str, Any]:
        return payload(number)

    stored = DBOS.step()(act)

    def acts(times: int) -> float:
        begin = time.perf_counter()
        for _ in range(times):
            stored(next(numbers))
        return time.perf_counter() - begin

    workflow = DBOS.workflow()(acts)

    DBOS.launch()
    try:
        yield {"step": workflow}
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    serve(opened, distribution="dbos")
