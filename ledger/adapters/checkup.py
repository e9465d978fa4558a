"""A check-up of the place where a ledger lives: what of it breaks a promise, and what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from ledger.codec import decode
from ledger.errors import LedgerError, SchemaMismatch, StoreUnavailable, UnsafeStore
from ledger.stores.base import FullStore
from ledger.stores.sqlite_inspection import Inspection, inspect

Open = Callable[[Path], FullStore]

MEBIBYTE = 1024 * 1024
LEAST_FREE = 100 * MEBIBYTE
"""Free bytes below which the next appends are in danger."""
LARGE_LOG = 64 * MEBIBYTE
"""Size from which a write-ahead log says that something keeps it from being emptied."""
WHOLE_SQLITE = (3, 51, 3)
"""First SQLite in which two connections that empty the log at the same moment cannot damage the file.

Source: SQLite release notes, 3.51.3, "WAL-reset bug"; distributions carry the fix in older versions too.
"""


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: Literal["ok", "note", "bad"]
    """`bad` breaks a promise; `note` is worth knowing."""
    found: str
    advice: str = ""


def check_up(path: Path, open_store: Open, clock: Callable[[], datetime]) -> list[Check]:
    """Look at a SQLite ledger and its surroundings; nothing is written.

    Raises:
        StoreUnavailable: there is no ledger to look at; `reason` says why.
    """
    checks = [*_file(path), *_disk(path), _sqlite()]
    try:
        seen = inspect(path)
    except SchemaMismatch as error:
        return [*checks, Check("schema", "bad", str(error.found), "upgrade intent-ledger")]
    if seen.schema == 0:
        raise StoreUnavailable(f"{path}: this file holds no ledger", reason="empty", path=str(path))
    checks += _seen(seen)
    if seen.schema == seen.supported and seen.journal_mode == "wal":
        checks += _store(path, open_store, clock)
    return checks


def _file(path: Path) -> Iterator[Check]:
    mode, folder = path.stat().st_mode, path.parent.stat().st_mode
    shown = stat.filemode(mode)
    if mode & stat.S_IWOTH:
        yield Check("permissions", "bad", shown, "anybody can alter the file: chmod o-w")
    elif folder & stat.S_IWOTH and not folder & stat.S_ISVTX:
        yield Check(
            "permissions", "bad", stat.filemode(folder), "anybody can replace the file: chmod o-w its folder"
        )
    elif not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        yield Check(
            "permissions", "bad", shown, "this user cannot append: the file and its folder are written to"
        )
    elif mode & stat.S_IROTH:
        yield Check(
            "permissions", "note", shown, "anybody on this machine can read it: chmod o-r if that is too wide"
        )
    else:
        yield Check("permissions", "ok", shown)


def _disk(path: Path) -> Iterator[Check]:
    free = shutil.disk_usage(path.parent).free
    low = free < LEAST_FREE
    yield Check(
        "free space", "bad" if low else "ok", _bytes(free), "make room: appends will soon fail" if low else ""
    )


def _sqlite() -> Check:
    if sqlite3.sqlite_version_info < WHOLE_SQLITE:
        advice = (
            "before 3.51.3 two processes that empty the log at the same moment can, very rarely, damage the "
            "file: upgrade SQLite unless your system's package carries the fix"
        )
        return Check("sqlite", "note", sqlite3.sqlite_version, advice)
    return Check("sqlite", "ok", sqlite3.sqlite_version)


def _seen(seen: Inspection) -> Iterator[Check]:
    old = seen.schema < seen.supported
    yield Check(
        "schema",
        "bad" if old else "ok",
        f"{seen.schema} of {seen.supported}",
        "stop older programs, then run: intent-ledger migrate" if old else "",
    )
    if seen.altered:
        advice = "somebody changed the schema, and perhaps events: run verify --all, restore a backup"
        yield Check("guards", "bad", f"missing or changed: {', '.join(seen.altered)}", advice)
    else:
        yield Check("guards", "ok", "changing and deleting events is refused")
    if seen.journal_mode != "wal":
        advice = "another program switched the log off; the ledger switches it on again: find that program"
        yield Check("journal mode", "bad", seen.journal_mode, advice)
    else:
        yield Check("journal mode", "ok", seen.journal_mode)
    if seen.log_size > LARGE_LOG:
        advice = "a reader that stays open keeps the log from being emptied: close long-running readers"
        yield Check("log size", "note", _bytes(seen.log_size), advice)
    else:
        yield Check("log size", "ok", f"{_bytes(seen.log_size)} beside {_bytes(seen.size)}")
    if seen.locked:
        yield Check(
            "writers",
            "bad",
            "the write lock is taken",
            "another process keeps it: appends wait, then fail as busy",
        )
    else:
        yield Check("writers", "ok", "the write lock is free")


def _store(path: Path, open_store: Open, clock: Callable[[], datetime]) -> Iterator[Check]:
    try:
        store = open_store(path)
    except UnsafeStore as error:
        yield Check("store", "bad", str(error.data.get("reason", error.code)), str(error))
        return
    try:
        about = store.describe()
        full = about["synchronous"] == "full"
        yield Check(
            "synchronous",
            "ok" if full else "bad",
            str(about["synchronous"]),
            "" if full else "an acknowledged append can be lost: use synchronous=FULL",
        )
        kind = str(about["file_system"])
        advice = (
            "cannot tell whether it is a network file system, which is not safe" if kind == "unknown" else ""
        )
        yield Check("file system", "note" if advice else "ok", kind, advice)
        yield check_clock(store, clock)
    finally:
        store.close()


def check_clock(store: FullStore, clock: Callable[[], datetime]) -> Check:
    """Compare the newest event with the clock."""
    rows = store.tail(after=store.end() - 1, limit=1)
    if not rows:
        return Check("clock", "ok", "no event yet to compare with")
    row = rows[0]
    try:
        newest = decode(row.record, row.hash, run=row.stream, position=row.position).at
    except LedgerError as error:
        return Check(
            "clock",
            "bad",
            f"the newest event cannot be read ({error.code})",
            "run: intent-ledger verify --all",
        )
    # Read after the newest event, so that an event of this moment never looks like one of the future.
    ahead = (newest - clock()).total_seconds()
    if ahead > 1:
        advice = "the clock went back; until it catches up all events get one time: set the clock"
        return Check("clock", "bad", f"{ahead:.0f} s behind the newest event", advice)
    return Check("clock", "ok", "not behind the newest event")


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1024 * MEBIBYTE), ("MiB", MEBIBYTE), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
