"""Processes that are killed while they store a page, or beside others: nothing is missing or twice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.application.ledger import edge_of
from projections.rebuilding import rebuild
from projections.runs import Runs
from projections.serving import served_of
from projections.standing import status, wait_for
from tests.projections.processes import (
    LEASE_SECONDS,
    PAGE,
    POSTGRES,
    SQLITE,
    SWAP_SQLITE,
    Moment,
    die_on_postgres,
    die_on_sqlite,
    follow,
    rebuild_and_die_on_sqlite,
    rebuild_with_a_crew,
    swap_and_die_on_postgres,
    swap_and_die_on_sqlite,
)
from tests.projections.samples import Counts, catch_up, fill, kept, kept_in, naive, standing
from tests.stores.builder import shown, until
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


def rebuilt_after(
    place: Path | str, moment: Moment, target: Callable[..., None], lefts: tuple[int, ...]
) -> None:
    """Kill processes that make read models anew: what is read is whole all through, and they are finished."""
    with opened(place) as ledger:
        fill(ledger)
        catch_up(ledger, Counts(), Runs(), page=PAGE)
    for left in lefts:
        killed(target, place, moment, left)
        with opened(place) as ledger:
            for projection in (Counts(), Runs()):
                assert kept(ledger, projection) == naive(ledger, projection)
                edge = edge_of(ledger)
                one = served_of(edge, projection.model)
                assert one is not None
                for cursor in edge.store.read_models().cursors("default"):
                    # What is being made is what its cursor says as well.
                    if cursor.projection == projection.name:
                        model = projection.model._replace(slot=cursor.slot)
                        upto = naive(ledger, projection, cursor.reached.position)
                        assert kept_in(ledger, model) == upto
    with opened(place) as ledger:
        rebuild(ledger, [Counts(), Runs()], page=PAGE, lease_seconds=LEASE_SECONDS)
        for projection in (Counts(), Runs()):
            assert kept(ledger, projection) == naive(ledger, projection)
        assert not [one for one in status(ledger) if one.part not in {"served", "previous"}]
        assert {one.state for one in status(ledger)} == {"active"}


@pytest.mark.parametrize("moment", SQLITE[::3], ids=" ".join)
def test_a_rebuild_that_is_killed_goes_on(tmp_path: Path, moment: Moment) -> None:
    rebuilt_after(tmp_path / "ledger.db", moment, rebuild_and_die_on_sqlite, (4, 1))


@pytest.mark.parametrize("moment", SWAP_SQLITE, ids=" ".join)
def test_on_sqlite_a_swap_is_made_or_not_whenever_its_process_dies(tmp_path: Path, moment: Moment) -> None:
    rebuilt_after(tmp_path / "ledger.db", moment, swap_and_die_on_sqlite, (1,))


@pytest.mark.parametrize("moment", POSTGRES[2:], ids=" ".join)
def test_on_postgresql_a_swap_is_made_or_not_whenever_its_process_dies(
    tmp_path: Path, moment: Moment
) -> None:
    rebuilt_after(address("postgres", tmp_path), moment, swap_and_die_on_postgres, (1,))


def test_a_crew_ends_with_who_sent_it_the_work(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    with opened(place) as ledger:
        fill(ledger)
        catch_up(ledger, Counts())
    process, reports = start(rebuild_with_a_crew, place, 4)
    workers = reports.recv()
    assert len(workers) == 2
    process.kill()
    process.join()
    until(lambda: not any(map(is_alive, workers)))
    with opened(place) as ledger:
        assert kept(ledger, Counts()) == naive(ledger, Counts())
        rebuild(ledger, [Counts(), Runs()], page=PAGE, lease_seconds=LEASE_SECONDS)
        assert {one.state for one in status(ledger)} == {"active"}
        assert kept(ledger, Runs()) == naive(ledger, Runs())


def is_alive(pid: int) -> bool:
    """Tell whether a process still runs; one that nobody has asked for its end does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


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
