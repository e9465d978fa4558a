"""Several processes at one PostgreSQL ledger: together, killed, forked."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from ledger.stores.base import StoredRow
from ledger.stores.opening import open_store
from tests.servers.waiting import until
from tests.stores import processes
from tests.stores.builder import TENANT, assert_whole, ids, told
from tests.stores.place import address, administer, schema_of
from tests.stores.processes import CONTEXT, drain, run, start

pytestmark = pytest.mark.slow


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


def whole(url: str) -> list[StoredRow]:
    with closing(open_store(url, create=False)) as store:
        return assert_whole(store)


def test_processes_that_write_at_once_all_succeed(url: str) -> None:
    """Four of them, also where the tables are made; the shared run does not fork."""
    count, threads, events = 4, 3, 40
    begin = CONTEXT.Barrier(count)
    started = [start(processes.write, url, name, threads, events, begin) for name in range(count)]
    reports = [drain(pipe) for _, pipe in started]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    assert sum(conflicts for report in reports for conflicts in report) > 0
    found = Counter(row.stream for row in whole(url))
    assert found.pop("shared") == count * events
    assert found == {f"run-{name}.{thread}": events for name in range(count) for thread in range(threads)}


def test_no_process_accepts_after_the_withdrawal_it_relied_on(url: str) -> None:
    """The global order is the order of admission, though each process has transactions of its own."""
    with closing(open_store(url)) as store:
        store.open_head(TENANT, "$source:policy")
    count, events = 3, 400
    begin = CONTEXT.Barrier(count)
    started = [start(processes.accept_and_withdraw, url, name, events, begin) for name in range(count)]
    refused = [report for _, pipe in started for report in drain(pipe)]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    stands_at, found_late = 0, 0
    for found in whole(url):
        if found.stream == "$source:policy":
            stands_at = found.position
        else:
            found_late += told(found.record)["relied_on"] != stands_at
    assert (stands_at, found_late) == (events, 0)
    assert sum(refused) > 0, "the race took place"


def test_a_killed_writer_loses_nothing_that_was_acknowledged(url: str) -> None:
    """SIGKILL at random moments: positions without a gap, whole chains, and no half of an append."""
    open_store(url).close()
    acknowledged: dict[str, int] = {}
    doomed = f"doomed_{schema_of(url)}"
    sessions = f"SELECT 1 FROM pg_stat_activity WHERE application_name = '{doomed}'"
    for _ in range(6):
        process, reports = start(processes.write_until_killed, f"{url}&application_name={doomed}", 3)
        received = [reports.recv() for _ in range(random.randint(1, 200))]
        process.kill()
        received += drain(reports)
        process.join()
        # The server finishes what it was told before it finds out.
        until(lambda: not administer(url, sessions), "its sessions have ended")
        acknowledged.update(pair for append in received for pair in append)
        stored = {id: found.gid for found, id in ((row, ids([row])[0]) for row in whole(url))}
        assert {id: stored.get(id) for id in acknowledged} == acknowledged
        for thread in range(3):
            a, b = ([id for id in stored if id.startswith(f"{half}-{thread}.")] for half in "ab")
            assert [id.removeprefix("a") for id in a] == [id.removeprefix("b") for id in b]
    assert len(acknowledged) > 12


def test_a_process_that_forks_goes_on_on_both_sides(url: str) -> None:
    [codes] = run(processes.fork_and_go_on, url, 6)
    assert codes == [0] * 6
    found = Counter(row.stream for row in whole(url))
    assert found.pop("parent") > 0
    assert found == {f"child-{number}.{thread}": 20 for number in range(6) for thread in range(2)}


def test_a_child_forked_in_the_middle_of_a_long_call_is_refused(url: str) -> None:
    """It has inherited connections that it may not even close; the parent is not disturbed."""
    assert run(processes.fork_beside_a_long_call, url) == [(0, ["a", "b", "c", "d"])]
