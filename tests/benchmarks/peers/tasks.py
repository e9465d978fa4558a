"""Absurd: a step of a task, which stores what the step returned. What surrounds the steps is not timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from absurd_sdk import Absurd
from absurdctl import BUNDLED_SCHEMA_SQL

from tests.benchmarks.peers.serving import Side, payload, serve


@contextmanager
def opened(url: str) -> Iterator[dict[str, Side]]:
    """Install its schema and open a queue, with the settings that are its default."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(BUNDLED_SCHEMA_SQL, prepare=False)
    app = Absurd(url)
    app.create_queue()
    spent: list[float] = []

    def task(params: Any, context: Any) -> None:
        begin = time.perf_counter()
        for number in range(params["times"]):
            context.step(f"act-{number}", lambda number=number: payload(number))
        spent.append(time.perf_counter() - begin)

    app.register_task("acts")(task)

    def acts(times: int) -> float:
        app.spawn("acts", {"times": times})
        app.work_batch()
        return spent.pop()

    try:
        yield {"step": acts}
    finally:
        app.close()


if __name__ == "__main__":
    serve(opened, distribution="absurd-sdk")
