"""What the tests run in processes of their own, to kill them; the last argument is a pipe for reports."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ledger import Actor, Ledger, open_ledger
from ledger.application.edge import Edge
from ledger.stores.postgres.read_models import PostgresReadModels
from ledger.stores.postgres.session import Session
from ledger.stores.sqlite import SQLiteStore
from projections.runner import Runner
from projections.runs import Runs
from tests.projections.samples import Counts
from tests.stores.faults import Hooks

LEASE_SECONDS = 0.5
PAGE = 3

Moment = tuple[str, str]
"""Before or after which step of storing a page a process dies."""

SQLITE: tuple[Moment, ...] = tuple(
    (when, step)
    for step in ("BEGIN IMMEDIATE", "UPDATE projections", 'INSERT INTO "projection_', "COMMIT")
    for when in ("before", "after")
)
POSTGRES: tuple[Moment, ...] = tuple(
    (when, step) for step in ("rows", "COMMIT") for when in ("before", "after")
)


def _countdown(left: int) -> Callable[[], None]:
    """Return what ends this process, with nothing cleaned up, when it is called for the n-th time."""
    counted = [left]

    def count() -> None:
        counted[0] -= 1
        if counted[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return count


def die_on_sqlite(place: Path, moment: Moment, left: int, reports: Connection) -> None:
    """Catch up, and die at a moment of the n-th page."""
    when, step = moment
    count, paging = _countdown(left), [False]

    def noticed(statement: str) -> None:
        if paging[0] and statement.startswith(step):
            count()

    hooks = Hooks(**{when: noticed})
    store = SQLiteStore(place, busy_seconds=60, connect=hooks.connect())
    models: Any = type(store.read_models())
    advance = models.advance

    def page(self: Any, *args: Any, **options: Any) -> None:
        paging[0] = True
        advance(self, *args, **options)
        paging[0] = False

    models.advance = page
    _catch_up(Ledger(Edge(store, "default", Actor("service:tests"))))


def die_on_postgres(place: str, moment: Moment, left: int, reports: Connection) -> None:
    """Catch up, and die at a moment of the n-th page."""
    when, step = moment
    count = _countdown(left)
    write, command = PostgresReadModels._write_rows, Session.command
    paging = [False]

    def write_rows(self: Any, *args: Any) -> None:
        paging[0] = True
        _around(when, step == "rows", count, lambda: write(self, *args))

    def commanded(self: Any, text: bytes) -> None:
        at_end = paging[0] and text == b"COMMIT"
        _around(when, at_end and step == "COMMIT", count, lambda: command(self, text))
        if at_end:
            paging[0] = False

    PostgresReadModels._write_rows = write_rows  # type: ignore[assignment, method-assign]
    Session.command = commanded  # type: ignore[method-assign]
    _catch_up(open_ledger(place, actor=Actor("service:tests")))


def _around(when: str, here: bool, count: Callable[[], None], call: Callable[[], None]) -> None:
    if here and when == "before":
        count()
    call()
    if here and when == "after":
        count()


def _catch_up(ledger: Ledger) -> None:
    # Both at once: each has a cursor and a lease of its own.
    runner = Runner(ledger, [Counts(), Runs()], page=PAGE, lease_seconds=LEASE_SECONDS)
    runner.run(until_current=True)


def follow(place: Path | str, page: int, reports: Connection) -> None:
    """Follow until this process is killed; report when it has begun."""
    with open_ledger(place, actor=Actor("service:tests"), busy_seconds=60) as ledger:
        runner = Runner(ledger, [Counts(), Runs()], page=page, lease_seconds=LEASE_SECONDS)

        def told(_: object) -> None:
            with suppress(OSError):
                reports.send("works")

        runner.run(progress=told)
