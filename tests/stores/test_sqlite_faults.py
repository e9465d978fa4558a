"""SQLite that fails: at each statement in turn, when the disk is full, when the file is damaged."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from ledger.errors import IntegrityError, LedgerError, StoreUnavailable
from ledger.stores.base import Append, Appended, Blob, Guard, SnapshotRow
from ledger.stores.sqlite import SQLiteStore
from ledger.stores.sqlite_file import connect
from tests.stores.builder import TENANT, Spec, assert_whole, everything, ids, in_memory, one, part
from tests.stores.faults import Hook, Hooks, failure

CONTENT = Blob(sha256(b"content").digest(), "result", b"content")


def appends() -> Iterator[Append]:
    """Every shape of an append, each on top of those before it."""
    first = part("run-1", "a")
    yield one(first)
    second = part("run-1", "b", after=first)
    yield one(second)
    yield one(part("$source:policy", "p-1"))
    third = part("run-1", Spec("c", key=b"k" * 16), Spec("d", claim=b"c" * 16), "e", after=second)
    yield one(third, guards=[Guard("$source:policy", 1)], blobs=[CONTENT])
    yield one(part("run-2", "f"), part("run-1", "g", after=third))


EXPECTED = ["a", "b", "p-1", "c", "d", "e", "f", "g"]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        yield Path(name)


def count_statements(folder: Path) -> int:
    seen: list[str] = []
    hooks = Hooks(before=seen.append)
    with closing(SQLiteStore(folder / "count.db", connect=hooks.connect())) as store:
        for append in appends():
            store.append(append)
    return len(seen)


def at(number: int, raised: BaseException, *, rollback_fails: bool = False) -> Hook:
    """Fail at the statement of this number, and perhaps when that is rolled back."""
    seen: list[str] = []

    def hook(statement: str) -> None:
        seen.append(statement)
        if len(seen) == number or (rollback_fails and statement == "ROLLBACK"):
            raise raised

    return hook


def insist(store: SQLiteStore, append: Append) -> Appended:
    """Append as a caller does that repeats what it does not know the fate of."""
    try:
        return store.append(append)
    except (StoreUnavailable, KeyboardInterrupt):
        return store.append(append)


FAULTS: dict[str, Callable[[int], Hooks]] = {
    "fails before": lambda number: Hooks(before=at(number, failure(sqlite3.SQLITE_IOERR))),
    "fails after": lambda number: Hooks(after=at(number, failure(sqlite3.SQLITE_IOERR))),
    "is full": lambda number: Hooks(before=at(number, failure(sqlite3.SQLITE_FULL), rollback_fails=True)),
    "is interrupted before": lambda number: Hooks(before=at(number, KeyboardInterrupt())),
    "is interrupted after": lambda number: Hooks(after=at(number, KeyboardInterrupt())),
    "cannot roll back": lambda number: Hooks(
        after=at(number, failure(sqlite3.SQLITE_IOERR), rollback_fails=True)
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_fails_a_repeat_stores_everything_once(folder: Path, fault: str) -> None:
    """Case-115, case-122: at each statement in turn, and whether or not it had its effect."""
    statements = count_statements(folder)
    assert statements > 15
    for number in range(1, statements + 1):
        path = folder / f"{number}.db"
        with closing(SQLiteStore(path, connect=FAULTS[fault](number).connect())) as store:
            for append in appends():
                gids = insist(store, append).gids
                stored = [found.gid for found in everything(store)]
                assert gids == tuple(stored[-len(gids) :])
            assert ids(assert_whole(store)) == EXPECTED
            assert store.blobs(TENANT, [CONTENT.digest]) == {CONTENT.digest: b"content"}
            assert store.source_heads(TENANT) == {"$source:policy": 1}


def test_an_acknowledgement_lost_at_the_commit_is_no_conflict(tmp_path: Path) -> None:
    """Case-115: the transaction is on the disk, and its caller does not know."""
    hooks = Hooks()
    with closing(SQLiteStore(tmp_path / "ledger.db", connect=hooks.connect())) as store:
        append = one(part("run-1", "a", "b"))

        def lose(statement: str) -> None:
            if statement == "COMMIT":
                hooks.after = lambda statement: None
                raise failure(sqlite3.SQLITE_IOERR)

        hooks.after = lose
        with pytest.raises(StoreUnavailable) as fate:
            store.append(append)
        assert fate.value.data["reason"] == "io_error"
        assert store.append(append) == Appended((1, 2), repeated=True)


def test_a_snapshot_that_cannot_be_saved_harms_no_append(tmp_path: Path) -> None:
    """Case-159."""
    hooks = Hooks()
    with closing(SQLiteStore(tmp_path / "ledger.db", connect=hooks.connect())) as store:
        first = part("run-1", "a")
        store.append(one(first))
        snapshot = SnapshotRow(1, first.rows[0].hash, "f1", b"state")
        for fault in ("before", "after"):
            for number in range(1, 5):
                setattr(hooks, fault, at(number, KeyboardInterrupt()))
                with pytest.raises(KeyboardInterrupt):
                    store.put_snapshot(TENANT, "run-1", snapshot)
                setattr(hooks, fault, lambda statement: None)
                seen = store.read(TENANT, "run-1")[-1]
                store.append(one(part("run-1", f"{fault}.{number}", after=seen)))
        store.put_snapshot(TENANT, "run-1", snapshot)
        assert store.snapshots(TENANT, "run-1") == [snapshot]
        assert len(assert_whole(store)) == 9


def test_a_full_disk_loses_nothing_and_is_overcome(tmp_path: Path) -> None:
    """The database itself runs into its limit, in the middle of an append of many pages."""
    pages = 60

    def limited(uri: str) -> sqlite3.Connection:
        connection = connect(uri)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with closing(SQLiteStore(tmp_path / "ledger.db", connect=limited)) as store:
        stored = 0

        def fill() -> None:
            nonlocal stored
            while True:
                events = [Spec(f"{stored}.{number}", {"text": "x" * 2000}) for number in range(4)]
                store.append(one(part(f"run-{stored}", *events)))
                stored += 1

        with pytest.raises(StoreUnavailable) as full:
            fill()
        assert full.value.data["reason"] == "disk_full"
        assert stored > 5
        assert len(assert_whole(store)) == 4 * stored
        pages *= 2
        with pytest.raises(StoreUnavailable):
            fill()
        assert len(assert_whole(store)) == 4 * stored


def test_a_damaged_file_is_an_integrity_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(SQLiteStore(path)) as store:
        store.append(one(part("run-1", *(f"e-{number}" for number in range(200)))))
    content = bytearray(path.read_bytes())
    # Behind the pages that say which tables there are.
    half = len(content) // 2
    content[half:] = b"\xff" * (len(content) - half)
    path.write_bytes(content)
    with closing(SQLiteStore(path)) as store:
        with pytest.raises(IntegrityError) as damaged:
            everything(store)
        assert damaged.value.data == {"reason": "damaged", "path": str(path)}
        assert not damaged.value.retryable


def test_every_error_of_the_driver_is_one_of_the_ledger(tmp_path: Path) -> None:
    """Also one that no table of ours knows; codes decide, never texts."""
    hooks = Hooks()
    reasons: dict[str, object] = {}
    with closing(SQLiteStore(tmp_path / "ledger.db", connect=hooks.connect())) as store:
        for name in (
            "IOERR_FSYNC",
            "READONLY",
            "NOTADB",
            "CANTOPEN",
            "PERM",
            "NOMEM",
            "PROTOCOL",
            "INTERNAL",
        ):
            hooks.before = at(1, failure(getattr(sqlite3, f"SQLITE_{name}")))
            with pytest.raises(LedgerError) as raised:
                store.append(one(part("run-1", "a")))
            reasons[name] = raised.value.data["reason"]
    assert reasons == {
        "IOERR_FSYNC": "io_error",
        "READONLY": "read_only",
        "NOTADB": "not_a_database",
        "CANTOPEN": "cannot_open",
        "PERM": "cannot_open",
        "NOMEM": "no_memory",
        "PROTOCOL": "unexpected",
        "INTERNAL": "unexpected",
    }
