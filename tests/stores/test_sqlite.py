"""What is peculiar to SQLite: the file, its schema, its safety, and what may not be done to it by SQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Semaphore

import pytest

from ledger.errors import InvalidInput, SchemaMismatch, StoreBusy, StoreUnavailable, UnsafeStore
from ledger.stores.base import Guard
from ledger.stores.scripts import queries
from ledger.stores.sqlite import SQLiteStore
from ledger.stores.sqlite_file import SQLiteFile, connect
from ledger.stores.sqlite_schema import supported_version
from tests.stores.builder import TENANT, Spec, assert_whole, everything, ids, one, part, together, until
from tests.stores.faults import Hooks

CLAIM = b"c" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path)) as store:
        yield store


class Connections:
    """Opens connections and remembers them, with the statements they ran."""

    def __init__(self, suffix: str = "") -> None:
        self.opened: list[sqlite3.Connection] = []
        self.statements: list[str] = []
        self._suffix = suffix

    def __call__(self, uri: str) -> sqlite3.Connection:
        connection = connect(uri + self._suffix)
        connection.set_trace_callback(self.statements.append)
        self.opened.append(connection)
        return connection


# --- append-only, also for those who come with SQL ---------------------------------------------------

ROW = "tenant, run, position, hash, record"
ATTACKS = {
    "delete": "DELETE FROM events WHERE gid = 3",
    "delete all": "DELETE FROM events",
    "update": "UPDATE events SET record = x'00' WHERE gid = 2",
    "update or replace": "UPDATE OR REPLACE events SET position = 1 WHERE gid = 2",
    "replace a place": f"REPLACE INTO events ({ROW}) VALUES ('acme', 'run-1', 2, x'00', x'00')",
    "insert or replace": f"INSERT OR REPLACE INTO events ({ROW}) VALUES ('acme', 'run-1', 3, x'00', x'00')",
    "insert or ignore": f"INSERT OR IGNORE INTO events ({ROW}) VALUES ('acme', 'run-1', 3, x'00', x'00')",
    "upsert": f"INSERT INTO events ({ROW}) VALUES ('acme', 'run-1', 3, x'00', x'00') "
    "ON CONFLICT DO UPDATE SET record = excluded.record",
    "replace a gid": f"REPLACE INTO events (gid, {ROW}) VALUES (2, 'acme', 'run-9', 1, x'00', x'00')",
    "replace a claim": f"REPLACE INTO events ({ROW}, claim) "
    f"VALUES ('acme', 'run-9', 1, x'00', x'00', x'{CLAIM.hex()}')",
    "a gid before all": f"INSERT INTO events (gid, {ROW}) VALUES (0, 'acme', 'run-9', 1, x'00', x'00')",
    "a gid behind zero": f"INSERT INTO events (gid, {ROW}) VALUES (-5, 'acme', 'run-9', 1, x'00', x'00')",
    "a gid that leaps": f"INSERT INTO events (gid, {ROW}) VALUES (99, 'acme', 'run-9', 1, x'00', x'00')",
    "a gap": f"INSERT INTO events ({ROW}) VALUES ('acme', 'run-1', 5, x'00', x'00')",
    "a gap at the start": f"INSERT INTO events ({ROW}) VALUES ('acme', 'run-9', 2, x'00', x'00')",
    "a position before all": f"INSERT INTO events ({ROW}) VALUES ('acme', 'run-9', 0, x'00', x'00')",
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("recursive_triggers", ["ON", "OFF"])
def test_no_event_is_changed_removed_or_replaced_by_sql(
    store: SQLiteStore, path: Path, attack: str, recursive_triggers: str
) -> None:
    """Case-039: whatever the connection that tries has set."""
    store.append(one(part("run-1", "a", Spec("b", claim=CLAIM), "c")))
    before = everything(store)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA recursive_triggers = {recursive_triggers}")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(ATTACKS[attack])
        connection.commit()
    assert everything(store) == before


def test_a_global_position_is_never_given_twice(store: SQLiteStore, path: Path) -> None:
    """Case-164: not after an attempt to delete, not after an append that was rolled back."""
    first = part("run-1", "a", "b", "c")
    store.append(one(first))
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM events WHERE position = 3")
    before = [found.gid for found in everything(store)]
    assert store.append(one(part("run-1", "d", after=first))).gids[0] > before[-1]
    assert_whole(store)


# --- safety ----------------------------------------------------------------------------------------


def test_appends_are_synced_in_a_write_ahead_log(path: Path) -> None:
    connections = Connections()
    with closing(SQLiteStore(path, connect=connections)) as store:
        connections.opened.clear()
        store.append(one(part("run-1", "a")))
        (writer,) = connections.opened
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
        about = store.describe()
        assert (about["journal_mode"], about["synchronous"], about["unsafe"]) == ("wal", "full", False)


def test_an_append_of_one_event_is_one_statement(path: Path) -> None:
    """It checks, stores and commits; a second one would cost a tenth of the append."""
    connections = Connections()
    with closing(SQLiteStore(path, connect=connections)) as store:
        first = part("run-1", "a")
        store.append(one(first))
        connections.statements.clear()
        store.append(one(part("run-1", "b", after=first)))
        # It is traced a second time for its trigger.
        assert len(set(connections.statements)) == 1


def test_reading_and_appending_opens_no_connection_each_time(path: Path) -> None:
    """Case-144."""
    connections = Connections()
    with closing(SQLiteStore(path, connect=connections)) as store:
        seen = None
        for number in range(50):
            events = part("run-1", f"e-{number}", after=seen)
            store.append(one(events))
            store.load(TENANT, "run-1", "f")
            store.wait(10**9, 0.0)
            seen = events
        # One that created the file, one that writes, one that reads.
        assert len(connections.opened) == 3


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


def test_threads_that_open_a_new_file_at_once_all_find_a_ledger(path: Path) -> None:
    def start(number: int) -> int:
        with closing(SQLiteStore(path)) as store:
            store.append(one(part(f"run-{number}", "a")))
            return number

    together(*((lambda number=number: start(number)) for number in range(8)))
    with closing(SQLiteStore(path)) as store:
        assert len(assert_whole(store)) == 8


SCANS = {"tail": "events", "tail_of_tenant": "events", "drop_snapshots": "snapshots"}
"""What may walk a table: the first two along the rowid, and deleting all deletes all."""


@pytest.mark.parametrize("name", queries("sqlite"))
def test_every_query_is_answered_by_an_index(store: SQLiteStore, path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        text = queries("sqlite")[name]
        count = text.count("?")
        parameters = ("x",) * count if count else dict.fromkeys(
            ("tenant", "stream", "after", "upto", "limit", "fold", "prefix", "digest", "position", "hash",
             "state", "keep_every"), 1
        )  # fmt: skip
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    scanned = [
        step for step in plan if step.startswith("SCAN") and step.split()[1] in {"events", "snapshots"}
    ]
    sorted_apart = [step for step in plan if "TEMP B-TREE" in step]
    assert [step for step in scanned if SCANS.get(name) != step.split()[1]] == []
    assert name == "stream_heads" or sorted_apart == []


def test_a_record_takes_at_most_half_as_much_again_on_the_disk(path: Path) -> None:
    """With all indexes, for records of 640 bytes of which a third is about an effect."""
    total = 0
    with closing(SQLiteStore(path)) as store:
        for run in range(20):
            specs = []
            for number in range(200):
                digests = [os.urandom(16) if number % 3 == 0 else None for _ in range(3)]
                specs.append(Spec(f"{run:08x}-{number:027x}", {"text": "x" * 200}, *digests))
            events = part(f"refund-{run:032x}", *specs)
            padded = [row._replace(record=row.record.ljust(640)) for row in events.rows]
            assert all(len(row.record) == 640 for row in padded)
            total += 640 * len(padded)
            store.append(one(events._replace(rows=tuple(padded))))
    assert path.stat().st_size <= 1.5 * total


# --- other connections ---------------------------------------------------------------------------------


def test_an_append_waits_for_another_that_writes(store: SQLiteStore, path: Path) -> None:
    """Case-109: it does not fail with "database is locked"."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.append, one(part("run-1", "a")))
            # Reading goes on meanwhile, and shows that nothing was stored.
            assert everything(store) == []
            other.execute("ROLLBACK")
            assert len(waiting.result(60).gids) == 1


@pytest.mark.parametrize("events", [("a",), ("a", "b")])
def test_an_append_that_waited_too_long_stored_nothing(path: Path, events: tuple[str, ...]) -> None:
    with (
        closing(SQLiteStore(path, busy_seconds=0.05)) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy) as busy:
            store.append(one(part("run-1", *events)))
        assert busy.value.data["reason"] == "locked"
        with pytest.raises(StoreBusy):
            store.open_head(TENANT, "$source:a")
        other.execute("ROLLBACK")
        assert everything(store) == []
        assert len(store.append(one(part("run-1", *events))).gids) == len(events)


def test_a_long_read_neither_blocks_nor_sees_later_appends(store: SQLiteStore, path: Path) -> None:
    """Case-132: a verifier reads a snapshot and takes no lock."""
    first = part("run-1", "a")
    store.append(one(first))
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
        store.append(one(part("run-1", "b", after=first)))
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    assert len(everything(store)) == 2


def test_stores_on_one_file_see_each_other(path: Path) -> None:
    """Case-030: one that is behind is told so, reads on and succeeds; it drops nothing."""
    with closing(SQLiteStore(path)) as mine, closing(SQLiteStore(path)) as other:
        first = part("run-1", "a")
        mine.append(one(first))
        second = part("run-1", "b", after=first)
        assert other.append(one(second)).gids == (2,)
        mine.append(one(part("run-1", "c", after=second)))
        assert ids(assert_whole(other)) == ["a", "b", "c"]


def test_a_commit_wakes_who_waits_before_it_would_look_again(path: Path) -> None:
    looked = Semaphore(0)

    class Watched(SQLiteStore):
        def end(self) -> int:
            found = super().end()
            looked.release()
            return found

    with closing(Watched(path, poll_seconds=3600)) as store, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait, 0, 3600.0)
        assert looked.acquire(timeout=60)
        store.append(one(part("run-1", "a")))
        assert waiting.result(60)


# --- input that SQLite cannot take -------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("b",)])
def test_what_cannot_be_stored_fails_only_its_caller(path: Path, more: tuple[str, ...]) -> None:
    """In a batch with others, of which each is stored; a lone surrogate is not text for SQLite."""
    hold, entered = Event(), Event()

    def wait(statement: str) -> None:
        if statement.startswith("INSERT INTO events"):
            entered.set()
            assert hold.wait(60)

    # The first commit is kept waiting, so that the others gather behind it.
    connect = Hooks(before=wait).connect()
    with closing(SQLiteStore(path, connect=connect)) as store, ThreadPoolExecutor(8) as pool:
        leader = pool.submit(store.append, one(part("run-0", "a")))
        assert entered.wait(60)
        good = [pool.submit(store.append, one(part(f"run-{number}", "a", *more))) for number in range(1, 5)]
        broken = part("run-x", "a", *more)._replace(stream="run-\ud800")
        bad = pool.submit(store.append, one(broken))
        until(lambda: len(store._group._queue) == 5)
        hold.set()
        assert leader.result(60).gids == (1,)
        assert all(future.result(60).gids for future in good)
        with pytest.raises(InvalidInput):
            bad.result(60)
        assert_whole(store)
        assert len(everything(store)) == 1 + 4 * (1 + len(more))


def test_a_value_of_a_foreign_type_is_refused(store: SQLiteStore) -> None:
    events = part("run-1", "a")
    for record in (object(), None, [b"x"]):
        broken = events.rows[0]._replace(record=record)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            store.append(one(events._replace(rows=(broken,))))
    assert everything(store) == []
    store.append(one(events, guards=[Guard("$source:a", store.open_head(TENANT, "$source:a"))]))
