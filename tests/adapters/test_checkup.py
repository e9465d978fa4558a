"""The check-up: each broken promise is named, with what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from ledger import open_ledger
from ledger.adapters import checkup
from ledger.adapters.checkup import Check, check_up
from ledger.errors import StoreUnavailable, UnsafeStore
from ledger.stores import sqlite_inspection
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store

NOW = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)


def look(path: Path, now: datetime = NOW) -> dict[str, Check]:
    checks = check_up(path, lambda found: open_store(found, create=False), lambda: now)
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with open_ledger(path, clock=lambda: NOW) as ledger:
        ledger.open_run("r", "g")
    path.chmod(0o600)
    tmp_path.chmod(0o700)
    return path


def test_a_ledger_as_it_should_be_breaks_no_promise(ledger_file: Path) -> None:
    checks = look(ledger_file)
    assert {check.state for check in checks.values()} <= {"ok", "note"}
    assert {name for name, check in checks.items() if check.state == "note"} <= {"sqlite", "file system"}
    assert {"journal mode", "synchronous", "schema", "clock", "free space", "log size"} <= checks.keys()


def test_every_fault_comes_with_what_to_do(ledger_file: Path) -> None:
    ledger_file.chmod(0o666)
    with closing(sqlite3.connect(ledger_file)) as connection:
        connection.execute("DROP TRIGGER events_refuse_update")
        connection.execute("PRAGMA journal_mode = DELETE")
    bad = [check for check in look(ledger_file).values() if check.state == "bad"]
    assert {check.name for check in bad} == {"permissions", "guards", "journal mode"}
    assert all(check.advice for check in bad)


def test_nothing_is_written(ledger_file: Path) -> None:
    with closing(sqlite3.connect(ledger_file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    before = ledger_file.read_bytes()
    assert look(ledger_file)["journal mode"].found == "delete"
    assert ledger_file.read_bytes() == before
    assert [path.name for path in ledger_file.parent.iterdir()] == [ledger_file.name]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER events_refuse_delete",
        "DROP INDEX events_claim",
        """DROP TRIGGER events_refuse_update;
        CREATE TRIGGER events_refuse_update BEFORE UPDATE ON events WHEN 0 BEGIN SELECT 1; END""",
    ],
)
def test_a_schema_that_somebody_changed_is_noticed(ledger_file: Path, statement: str) -> None:
    with closing(sqlite3.connect(ledger_file)) as connection:
        connection.executescript(statement)
    guards = look(ledger_file)["guards"]
    assert guards.state == "bad"
    assert statement.split()[2].rstrip(";") in guards.found


def test_a_clock_that_went_back_is_noticed(ledger_file: Path) -> None:
    assert look(ledger_file, NOW - timedelta(hours=1))["clock"].state == "bad"
    assert look(ledger_file, NOW + timedelta(hours=1))["clock"].state == "ok"


def test_a_newest_event_that_cannot_be_read_is_noticed(ledger_file: Path) -> None:
    with closing(sqlite3.connect(ledger_file)) as connection, connection:
        connection.execute("DROP TRIGGER events_refuse_update")
        connection.execute("UPDATE events SET record = x'00'")
    assert look(ledger_file)["clock"].state == "bad"


def test_an_older_and_a_newer_schema_are_noticed(ledger_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_inspection, "supported_version", lambda: 99)
    old = look(ledger_file)["schema"]
    assert (old.state, old.advice) == ("bad", "stop older programs, then run: intent-ledger migrate")
    monkeypatch.undo()
    with closing(sqlite3.connect(ledger_file)) as connection, connection:
        connection.execute("INSERT INTO ledger_migrations VALUES (99, 'future')")
    assert look(ledger_file)["schema"].state == "bad"


class Usage(NamedTuple):
    free: int


def test_a_full_disk_is_noticed(ledger_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1024))
    assert look(ledger_file)["free space"] == Check(
        "free space", "bad", "1.0 KiB", "make room: appends will soon fail"
    )


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a lock that the test itself holds."""
    inspect = sqlite_inspection.inspect
    monkeypatch.setattr(checkup, "inspect", lambda path: inspect(path, busy_seconds=0))


@pytest.mark.usefixtures("impatient")
def test_a_log_that_is_not_emptied_is_noticed(ledger_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "LARGE_LOG", 10)
    with held_open(ledger_file):
        assert look(ledger_file)["log size"].state == "note"


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_keeps_the_lock_is_noticed(ledger_file: Path) -> None:
    with held_open(ledger_file):
        assert look(ledger_file)["writers"].state == "bad"
    assert look(ledger_file)["writers"].state == "ok"


@contextmanager
def held_open(path: Path) -> Iterator[None]:
    """Keep a transaction open that has written."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO other VALUES (1)")
        yield


@pytest.mark.parametrize(
    ("version", "state"), [((3, 40, 1), "note"), ((3, 51, 2), "note"), ((3, 51, 3), "ok"), ((4, 0, 0), "ok")]
)
def test_a_sqlite_that_may_damage_a_file_is_noted(
    ledger_file: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], state: str
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    assert look(ledger_file)["sqlite"].state == state


def test_a_network_file_system_is_noticed(ledger_file: Path) -> None:
    def refuse(path: Path) -> FullStore:
        raise UnsafeStore(f"{path} lies on nfs4", reason="network_file_system")

    checks = {check.name: check for check in check_up(ledger_file, refuse, lambda: NOW)}
    assert (checks["store"].state, checks["store"].found) == ("bad", "network_file_system")


def test_a_folder_in_which_anybody_may_replace_the_file_is_noticed(ledger_file: Path) -> None:
    ledger_file.parent.chmod(0o777)
    assert look(ledger_file)["permissions"].state == "bad"
    ledger_file.parent.chmod(0o1777)
    assert look(ledger_file)["permissions"].state == "ok"
    ledger_file.chmod(0o644)
    assert look(ledger_file)["permissions"].state == "note"


def test_what_is_no_ledger_cannot_be_looked_at(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(StoreUnavailable) as told:
        look(empty)
    assert told.value.data["reason"] == "empty"
