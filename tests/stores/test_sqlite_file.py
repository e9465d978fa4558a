"""Which files a SQLite ledger may be: safe, ours, of a schema this program knows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import InvalidInput, SchemaMismatch, StoreUnavailable, UnsafeStore
from ledger.stores.scripts import migrations
from ledger.stores.sqlite import SQLiteStore
from ledger.stores.sqlite_file import SQLiteFile
from ledger.stores.sqlite_inspection import inspect
from ledger.stores.sqlite_schema import recognise, supported_version
from tests.stores.builder import assert_whole, everything, one, part, together
from tests.stores.faults import Connections


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


# --- safety ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3", "9p", "fuse.sshfs"])
def test_a_network_file_system_is_refused(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SQLiteFile, "kind_of_file_system", lambda self: kind)
    with pytest.raises(UnsafeStore) as refused:
        SQLiteStore(path)
    assert refused.value.data["reason"] == "network_file_system"
    assert not path.exists()
    with closing(SQLiteStore(path, unsafe=True)) as store:
        store.append(one(part("run-1", "a")))
        assert (store.describe()["unsafe"], store.describe()["file_system"]) == (True, kind)


def test_a_file_without_a_write_ahead_log_is_refused(path: Path) -> None:
    """`unix-none` is a file system layer of SQLite's own that has no shared memory."""
    without_wal = Connections("&vfs=unix-none")
    with pytest.raises(UnsafeStore) as refused:
        SQLiteStore(path, connect=without_wal)
    assert refused.value.data["reason"] == "journal_mode"
    with closing(SQLiteStore(path, connect=without_wal, unsafe=True)) as store:
        store.append(one(part("run-1", "a")))
        assert store.describe()["journal_mode"] == "delete"
        assert_whole(store)


# --- what a path may be --------------------------------------------------------------------------


def reason_of(error: pytest.ExceptionInfo[StoreUnavailable]) -> object:
    return error.value.data["reason"]


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        SQLiteStore(tmp_path, busy_seconds=0)
    assert reason_of(refused) == "is_a_directory"


def test_the_directory_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        SQLiteStore(tmp_path / "no" / "ledger.db")
    assert reason_of(refused) == "no_such_directory"


def test_a_missing_file_is_created_only_when_wanted(path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        SQLiteStore(path, create=False)
    assert reason_of(refused) == "missing"
    assert not path.exists()
    SQLiteStore(path).close()
    SQLiteStore(path, create=False).close()


def test_a_file_that_vanished_is_not_made_anew(path: Path) -> None:
    """An empty ledger must not take the place of the one that was there."""
    with closing(SQLiteStore(path)) as store:
        path.unlink()
        with pytest.raises(StoreUnavailable) as refused:
            store.append(one(part("run-1", "a")))
        assert reason_of(refused) == "missing"
        assert not path.exists()


@pytest.mark.parametrize("content", [b"not a database " * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_another_kind_of_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable) as refused:
        SQLiteStore(path)
    assert reason_of(refused) == "not_a_database"
    assert path.read_bytes() == content


@pytest.mark.parametrize("empty", ["", ":memory:"])
def test_a_path_is_a_path(empty: str) -> None:
    with pytest.raises(InvalidInput):
        SQLiteStore(empty)


@pytest.mark.parametrize("name", ["led ger.db", "50%.db", "a#b?mode=ro.db", "zoë 😀.db", "'quoted\".db"])
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    with closing(SQLiteStore(tmp_path / name)) as store:
        store.append(one(part("run-1", "a")))
        assert len(everything(store)) == 1
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_a_relative_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with closing(SQLiteStore("ledger.db")) as store:
        monkeypatch.chdir(tmp_path / "elsewhere")
        store.append(one(part("run-1", "a")))
        assert len(everything(store)) == 1
        assert list((tmp_path / "elsewhere").iterdir()) == []


# --- schema ------------------------------------------------------------------------------------------


def test_a_newer_schema_is_refused_with_both_numbers(path: Path) -> None:
    SQLiteStore(path).close()
    newer = supported_version() + 3
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO ledger_migrations VALUES (?, 'from the future')", (newer,))
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch) as refused:
        SQLiteStore(path)
    assert (refused.value.found, refused.value.supported) == (newer, supported_version())
    assert path.read_bytes() == before


def test_a_file_of_an_older_program_is_migrated_and_keeps_its_events(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        first = migrations("sqlite")[0]
        connection.executescript(first.script)
        connection.execute("INSERT INTO ledger_migrations VALUES (?, ?)", (first.version, first.name))
        connection.execute("INSERT INTO events VALUES (1, 't', 'run-0', 1, x'00', NULL, NULL, NULL, x'00')")
    assert inspect(path).altered == ()
    with closing(SQLiteStore(path)) as store:
        assert [row.stream for row in store.read("t", "run-0")] == ["run-0"]
        store.append(one(part("run-1", "a")))
        assert store.lease("t", b"k" * 16, 1) is None
    looked = inspect(path)
    assert (looked.schema, looked.altered) == (supported_version(), ())


def test_a_ledger_may_share_its_file_with_other_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id)")
        connection.execute("PRAGMA user_version = 77")
        connection.commit()
    with closing(SQLiteStore(path)) as store:
        store.append(one(part("run-1", "a")))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (77,)


def test_a_table_that_is_somebody_elses_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (id)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable) as refused:
        SQLiteStore(path)
    assert reason_of(refused) == "not_a_ledger"
    assert path.read_bytes() == before


@pytest.mark.parametrize("moment", [1, 2])
def test_a_ledger_made_by_another_while_the_file_is_looked_at_is_recognised(path: Path, moment: int) -> None:
    """Recognised as none yet or as this one, but never as somebody else's tables."""
    begun: list[str] = []

    def another(statement: str) -> None:
        begun.append(statement)
        if len(begun) == moment:
            SQLiteStore(path).close()

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.set_trace_callback(another)
        assert recognise(connection, path) in (0, supported_version())


def test_threads_that_open_a_new_file_at_once_all_find_a_ledger(path: Path) -> None:
    def start(number: int) -> int:
        with closing(SQLiteStore(path)) as store:
            store.append(one(part(f"run-{number}", "a")))
            return number

    together(*((lambda number=number: start(number)) for number in range(8)))
    with closing(SQLiteStore(path)) as store:
        assert len(assert_whole(store)) == 8
