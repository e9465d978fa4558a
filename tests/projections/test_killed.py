"""Processes that are killed while they store a page, or beside others: nothing is missing or twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from projections.runs import Runs
from projections.standing import status, wait_for
from tests.projections.processes import (
    LEASE_SECONDS,
    PAGE,
    POSTGRES,
    SQLITE,
    Moment,
    die_on_postgres,
    die_on_sqlite,
    follow,
)
from tests.projections.samples import Counts, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown
from tests.stores.place import address
from tests.stores.processes import start

pytestmark = pytest.mark.slow


def opened(place: Path | str) -> Ledger:
    return open_ledger(place, actor=Actor("service:tests"), busy_seconds=60)


def killed(target: Callable[..., None], place: Path | str, moment: Moment, left: int) -> None:
    process, reports = start(target, place, moment, left)
    process.join(120)
    reports.close()
    assert process.exitcode == -9


def whole_after(place: Path | str, moment: Moment, target: Callable[..., None]) -> None:
    """Kill one process at its third page and another at its first, then catch up and compare."""
    with opened(place) as ledger:
        fill(ledger)
        shown(ledger.store)
    for left in (3, 1):
        killed(target, place, moment, left)
        with opened(place) as ledger:
            one = standing(ledger, Counts())
            # What is kept is what the cursor says, whether the page that it died in is or not.
            assert kept(ledger, Counts()) == naive(ledger, Counts(), one.position)
            assert len(kept(ledger, Counts())["said"]) == one.events
    with opened(place) as ledger:
        catch_up(ledger, Counts(), Runs(), page=PAGE, lease_seconds=LEASE_SECONDS)
        for projection in (Counts(), Runs()):
            assert kept(ledger, projection) == naive(ledger, projection)
        assert {one.state for one in status(ledger)} == {"active"}


@pytest.mark.parametrize("moment", SQLITE, ids=" ".join)
def test_on_sqlite_a_page_is_kept_or_not_whenever_its_process_dies(tmp_path: Path, moment: Moment) -> None:
    whole_after(tmp_path / "ledger.db", moment, die_on_sqlite)


@pytest.mark.parametrize("moment", POSTGRES, ids=" ".join)
def test_on_postgresql_a_page_is_kept_or_not_whenever_its_process_dies(
    tmp_path: Path, moment: Moment
) -> None:
    whole_after(address("postgres", tmp_path), moment, die_on_postgres)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_runners_race_and_die_while_many_write(tmp_path: Path, kind: str) -> None:
    place: Any = tmp_path / "ledger.db" if kind == "sqlite" else address(kind, tmp_path)
    with opened(place) as ledger:
        started = [start(follow, place, page) for page in (1, 4, 50)]
        alive = {reports: process for process, reports in started}

        def write(number: int) -> None:
            run = ledger.open_run(f"run-{number}", "goal")
            for count in range(20):
                run.revise_goal(f"goal {count}", reason="it changed", by="human:kim")

        with ThreadPoolExecutor(8) as pool:
            writing = [pool.submit(write, number) for number in range(8)]
            for _ in range(2):
                # Who works on one of them is killed in the middle of that, and another takes over.
                working = wait(list(alive), 120)[0]
                assert isinstance(working, Connection)
                process = alive.pop(working)
                process.kill()
                process.join()
            for future in writing:
                future.result()
        for projection in (Counts(), Runs()):
            assert wait_for(ledger, projection, timeout=120)
            assert kept(ledger, projection) == naive(ledger, projection)
        assert standing(ledger, Counts()).events == 8 * 21
        for process in alive.values():
            process.kill()
            process.join()
