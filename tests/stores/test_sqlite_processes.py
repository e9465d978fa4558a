"""Several processes at one SQLite file: together, killed, forked, without permission."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ledger.stores.base import StoredRow
from ledger.stores.sqlite import SQLiteStore
from tests.stores import processes
from tests.stores.builder import TENANT, assert_whole, ids, one, part, told
from tests.stores.processes import CONTEXT, drain, integrity, run, start

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def whole(path: Path) -> list[StoredRow]:
    assert integrity(path) == "ok"
    with closing(SQLiteStore(path, create=False)) as store:
        return assert_whole(store)


@pytest.mark.parametrize(("count", "threads", "events"), [(2, 1, 150), (4, 3, 50)])
def test_processes_that_write_at_once_all_succeed(path: Path, count: int, threads: int, events: int) -> None:
    """Case-109, case-165: nobody is told "database is locked", and the shared run does not fork.

    They start on a file that does not exist yet, so that creating it is part of the race.
    """
    begin = CONTEXT.Barrier(count)
    started = [start(processes.write, path, name, threads, events, begin) for name in range(count)]
    reports = [drain(pipe) for _, pipe in started]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    assert sum(conflicts for report in reports for conflicts in report) > 0
    found = Counter(row.stream for row in whole(path))
    assert found.pop("shared") == count * events
    assert found == {f"run-{name}.{thread}": events for name in range(count) for thread in range(threads)}


def test_no_process_accepts_after_the_withdrawal_it_relied_on(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        store.open_head(TENANT, "$source:policy")
    count, events = 3, 700
    begin = CONTEXT.Barrier(count)
    started = [start(processes.accept_and_withdraw, path, name, events, begin) for name in range(count)]
    refused = [report for _, pipe in started for report in drain(pipe)]
    for process, _ in started:
        process.join()
        assert process.exitcode == 0
    stands_at, found_late = 0, 0
    for found in whole(path):
        if found.stream == "$source:policy":
            stands_at = found.position
        else:
            found_late += told(found.record)["relied_on"] != stands_at
    assert (stands_at, found_late) == (events, 0)
    assert sum(refused) > 0, "the race took place"


def test_a_killed_writer_loses_nothing_that_was_acknowledged(path: Path) -> None:
    """SIGKILL at random moments: positions without a gap, whole chains, and no half of an append."""
    acknowledged: dict[str, int] = {}
    for _ in range(12):
        process, reports = start(processes.write_until_killed, path, 3)
        received = [reports.recv() for _ in range(random.randint(1, 200))]
        process.kill()
        received += drain(reports)
        process.join()
        acknowledged.update(pair for append in received for pair in append)
        stored = {id: found.gid for found, id in ((row, ids([row])[0]) for row in whole(path))}
        assert {id: stored.get(id) for id in acknowledged} == acknowledged
        # What is stored beyond that was stored whole: its acknowledgement was lost, not its other half.
        for thread in range(3):
            a, b = ([id for id in stored if id.startswith(f"{half}-{thread}.")] for half in "ab")
            assert [id.removeprefix("a") for id in a] == [id.removeprefix("b") for id in b]
    assert len(acknowledged) > 24


def test_a_process_that_forks_goes_on_on_both_sides(path: Path) -> None:
    [codes] = run(processes.fork_and_go_on, path, 12)
    assert codes == [0] * 12
    found = Counter(row.stream for row in whole(path))
    assert found.pop("parent") > 0
    assert found == {f"child-{number}.{thread}": 20 for number in range(12) for thread in range(2)}


def test_a_child_forked_in_the_middle_of_a_long_call_is_refused(path: Path) -> None:
    """It has inherited connections that it may not even close; the parent is not disturbed."""
    assert run(processes.fork_beside_a_call, path) == [(0, ["a", "b", "d"])]
    assert len(whole(path)) == 3


def test_a_memory_store_goes_on_in_both_after_a_fork() -> None:
    assert run(processes.fork_in_memory) == [["a", "child"], ["a", "parent"]]


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a folder that every user may enter, unlike those of the test runner."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "reason"),
    [
        pytest.param(0o777, 0o666, "opened", id="all may"),
        pytest.param(0o777, 0o000, "cannot_open", id="nobody may read"),
        pytest.param(0o777, 0o444, "read_only", id="nobody may write"),
        pytest.param(0o755, 0o666, "read_only", id="nothing may stand beside it"),
    ],
)
def test_what_may_not_be_opened_or_written_is_refused_with_the_reason(
    public: Path, folder_mode: int, file_mode: int, reason: str
) -> None:
    path = public / "ledger.db"
    with closing(SQLiteStore(path)) as store:
        store.append(one(part("run-1", "a")))
    path.chmod(file_mode)
    public.chmod(folder_mode)
    try:
        assert run(processes.open_as_nobody, path) == [reason]
    finally:
        public.chmod(0o755)
        path.chmod(0o644)
    assert len(whole(path)) == (2 if reason == "opened" else 1)


def test_a_file_that_may_not_grow_loses_nothing_and_is_overcome(path: Path) -> None:
    """The operating system refuses a write in the middle of a commit."""
    assert run(processes.write_against_a_limit, path) == [("io_error", True, True)]
    assert len(whole(path)) > 6
