"""What is peculiar to SQLite: its statements, its locks, and what may not be done to it by SQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Semaphore

import pytest

from ledger.errors import InvalidInput, StoreBusy
from ledger.stores import sqlite
from ledger.stores.base import Blob, Guard
from ledger.stores.scripts import queries
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import LATER, NOON, TENANT, Spec, assert_whole, everything, ids, one, part, until
from tests.stores.faults import Connections, Hooks

CLAIM = b"c" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with closing(SQLiteStore(path)) as store:
        yield store


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


def test_a_lease_that_lapsed_while_it_was_renewed_is_lost(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who read the end before the renewal was committed has seen it lapse."""

    def renew(*clock: int) -> datetime | None:
        monkeypatch.setattr(sqlite, "system_clock", (NOON + timedelta(seconds=at) for at in clock).__next__)
        end = NOON + timedelta(seconds=90)
        return store.renew(TENANT, b"k" * 16, 1, worker="w", first_until=end, until_seconds=60)

    assert renew(80, 90) is None
    lease = store.lease(TENANT, b"k" * 16, 1)
    assert lease is not None
    assert lease.until == NOON + timedelta(seconds=140)
    assert renew(80, 89) == lease.until


def test_a_renewal_waits_for_no_disk(store: SQLiteStore) -> None:
    store.renew(TENANT, b"k" * 16, 1, worker="w", first_until=LATER, until_seconds=1, now=NOON)
    store.release(TENANT, b"k" * 16)
    durable, scratch = store._writer._cursor, store._writer._scratch
    assert durable is not None
    assert scratch is not None
    assert (durable.connection.total_changes, scratch.connection.total_changes) == (0, 2)
    assert scratch.execute("PRAGMA synchronous").fetchone() == (1,)


SCANS = {"tail": "events", "tail_of_tenant": "events", "drop_snapshots": "snapshots"}
"""What may walk a table: the first two along the rowid, and deleting all deletes all."""


@pytest.mark.parametrize("name", queries("sqlite"))
def test_every_query_is_answered_by_an_index(store: SQLiteStore, path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        text = queries("sqlite")[name]
        count = text.count("?")
        parameters = ("x",) * count if count else dict.fromkeys(
            ("tenant", "stream", "after", "upto", "limit", "fold", "prefix", "digest", "position", "hash",
             "state", "keep_every", "kind", "known"), 1
        )  # fmt: skip
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    scanned = [
        step
        for step in plan
        if step.startswith("SCAN") and step.split()[1] in {"events", "snapshots", "leases"}
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
        def end(self, *, newest: bool = False) -> int:
            found = super().end(newest=newest)
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


@pytest.mark.parametrize("more", [(), ("c",)])
def test_an_event_whose_content_cannot_be_stored_is_not_stored_either(
    store: SQLiteStore, more: tuple[str, ...]
) -> None:
    first = part("run-1", "a")
    store.append(one(first))
    whole = Blob(b"d" * 32, "state", b"content")
    for broken in (whole._replace(content=object()), whole._replace(expires_at="\ud800")):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            store.append(one(part("run-1", "b", *more, after=first), blobs=[whole, broken]))
    assert ids(everything(store)) == ["a"]
    assert store.blobs(TENANT, [whole.digest]) == {}
