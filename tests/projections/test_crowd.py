"""24 writers while three projections follow, whose process is killed: nothing is missing, nothing twice."""

from __future__ import annotations

from collections import Counter
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from projections.standing import status, wait_for
from tests.projections.crowd import FOLLOWED, follow, opened, write
from tests.projections.plain_models import PlainModels, check_builds
from tests.projections.samples import Counts, kept, naive, standing
from tests.servers.waiting import until
from tests.stores.builder import shown
from tests.stores.place import address
from tests.stores.processes import start

PROCESSES, THREADS, ROUNDS = 4, 6, 3
KILLS = 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_follows_tells_all_that_many_wrote_and_all_of_it_once(tmp_path: Path, kind: str) -> None:
    place: Any = tmp_path / "ledger.db" if kind == "sqlite" else address(kind, tmp_path)
    with opened(place) as ledger:
        ledger.open_run("shared", "goal")
        writers = [start(write, place, f"w{name}", THREADS, ROUNDS) for name in range(PROCESSES)]
        follower = killed_while_it_works(place)
        for process, reports in writers:
            assert reports.recv() == "done"
            process.join()
        for projection in FOLLOWED:
            assert wait_for(ledger, projection, timeout=300)
        # One that has handled all may have to look once more, before it knows that there is no more.
        until(lambda: {one.state for one in status(ledger)} == {"active"}, "all to have caught up")
        follower.kill()
        follower.join()
        shown(ledger.store)
        written = Counter(record.run for record in ledger.follow())
        assert len(written) == PROCESSES * THREADS + 1
        assert written["shared"] == PROCESSES * THREADS + 1
        # Each was handled once: this one counts them, one by one.
        counted = {row[0]: row[1] for row in kept(ledger, Counts())["runs"]}
        assert counted == written
        assert kept(ledger, Counts()) == naive(ledger, Counts())
        plain = PlainModels()
        for projection in FOLLOWED:
            assert standing(ledger, projection).events == written.total()
            if projection.name != "counts":
                assert check_builds(ledger, projection, plain)
        assert {one.state for one in status(ledger)} == {"active"}


def killed_while_it_works(place: Any) -> BaseProcess:
    """Kill who follows in the middle of its work, some times, and return who is let alive."""
    for _ in range(KILLS):
        process, reports = start(follow, place)
        for _ in range(3):
            assert next_report(reports) == "works"
        process.kill()
        process.join()
        reports.close()
    return start(follow, place)[0]


def next_report(reports: Connection) -> object:
    assert wait([reports], 300)
    return reports.recv()
