"""What the tests run in processes of their own, to kill them; the last argument is a pipe for reports."""

from __future__ import annotations

import multiprocessing
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
from projections import crew
from projections.rebuilding import rebuild
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


SWAP_SQLITE: tuple[Moment, ...] = tuple(
    (when, step)
    for step in ("BEGIN IMMEDIATE", "INSERT OR REPLACE INTO served", "COMMIT")
    for when in ("before", "after")
)
"""The same of a swap."""


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
    _catch_up(_dying_on_sqlite(place, moment, left, "advance"))


def rebuild_and_die_on_sqlite(place: Path, moment: Moment, left: int, reports: Connection) -> None:
    """Make read models anew, and die at a moment of the n-th page."""
    _rebuild(_dying_on_sqlite(place, moment, left, "advance"))


def swap_and_die_on_sqlite(place: Path, moment: Moment, left: int, reports: Connection) -> None:
    """Make read models anew, and die at a moment of the n-th swap."""
    _rebuild(_dying_on_sqlite(place, moment, left, "serve"))


def _dying_on_sqlite(place: Path, moment: Moment, left: int, method: str) -> Ledger:
    """Open a ledger whose process dies at a moment of the n-th call of a method of its read models."""
    when, step = moment
    count, paging = _countdown(left), [False]

    def noticed(statement: str) -> None:
        if paging[0] and statement.startswith(step):
            count()

    hooks = Hooks(**{when: noticed})
    store = SQLiteStore(place, busy_seconds=60, connect=hooks.connect())
    models: Any = type(store.read_models())
    called = getattr(models, method)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        paging[0] = True
        found = called(self, *args, **options)
        paging[0] = False
        return found

    setattr(models, method, call)
    return Ledger(Edge(store, "default", Actor("service:tests")))


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


def swap_and_die_on_postgres(place: str, moment: Moment, left: int, reports: Connection) -> None:
    """Make read models anew, and die before or after the n-th swap is committed."""
    when, _ = moment
    count = _countdown(left)
    keep, command = PostgresReadModels._keep, Session.command
    swapping = [False]

    def kept(self: Any, session: Any, served: Any) -> None:
        swapping[0] = served.previous is not None
        keep(self, session, served)

    def commanded(self: Any, text: bytes) -> None:
        at_end = swapping[0] and text == b"COMMIT"
        _around(when, at_end, count, lambda: command(self, text))
        if at_end:
            swapping[0] = False

    PostgresReadModels._keep = kept  # type: ignore[method-assign]
    Session.command = commanded  # type: ignore[method-assign]
    _rebuild(open_ledger(place, actor=Actor("service:tests")))


def rebuild_with_a_crew(place: Path | str, page: int, reports: Connection) -> None:
    """Make read models anew with workers, report which they are, and stand still at the third page."""
    crew.FEWEST = 1
    # Those that are to end with who started them may start none themselves.
    multiprocessing.current_process().daemon = False
    told: list[object] = []

    def progress(_: object) -> None:
        told.append(_)
        if len(told) == 3:
            reports.send([process.pid for process in multiprocessing.active_children()])
            signal.pause()

    with open_ledger(place, actor=Actor("service:tests"), busy_seconds=60) as ledger:
        rebuild(
            ledger,
            [Counts(), Runs()],
            workers=2,
            url=str(place),
            page=page,
            progress=progress,
            lease_seconds=0.5,
        )


def _rebuild(ledger: Ledger) -> None:
    rebuild(ledger, [Counts(), Runs()], page=PAGE, lease_seconds=LEASE_SECONDS)


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
