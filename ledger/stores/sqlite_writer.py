"""The writing half of the SQLite store: one connection, one transaction at a time, one batch in it.

The common append, one event on top of another, is a single statement that checks and stores and commits: it
takes the write lock when it starts, and asks nothing first. Whatever that statement does not store goes the
careful way: `BEGIN IMMEDIATE`, look, decide, store. In a batch the appends are settled one after the other in
one transaction; each sees what those before it stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from threading import Lock
from typing import TypeVar

from ledger.errors import InvalidInput, LedgerError
from ledger.stores.base import Append, Appended, Row, StreamAppend
from ledger.stores.probe import NOTHING, Place, Stored, View, decide
from ledger.stores.scripts import queries
from ledger.stores.sqlite_errors import is_busy, is_of_input, translate, unavailable
from ledger.stores.sqlite_file import SQLiteFile

T = TypeVar("T")


class Writer:
    """Writes to one file on behalf of all threads of a process."""

    def __init__(self, file: SQLiteFile) -> None:
        self._file = file
        self._lock = Lock()
        self._cursor: sqlite3.Cursor | None = None
        self._scratch: sqlite3.Cursor | None = None
        self._closed = False
        self._unfinished = False
        """A transaction was begun, and what began it was interrupted before its end."""
        sql = queries("sqlite")
        self._insert, self._insert_next = sql["insert"], sql["insert_next"]
        self._put_blob, self._move_head = sql["put_blob"], sql["move_head"]

    def commit(self, batch: list[Append]) -> list[Appended | Exception]:
        """Settle a batch of appends durably; one outcome for each, in their order."""
        with self._lock:
            try:
                cursor = self._cursor
                if cursor is None or self._unfinished:
                    cursor = self._ready()
                if len(batch) == 1:
                    done = self._at_once(cursor, batch[0])
                    if done is not None:
                        return [done]
                return self._together(batch)
            except LedgerError as error:
                return [copy(error) for _ in batch]
            except sqlite3.Error as error:
                self._give_up(error)
                return [translate(error, self._file.path) for _ in batch]

    def run(self, step: Callable[[sqlite3.Cursor], T], *, durable: bool = True) -> T:
        """Run a step in a transaction of its own; one that is not durable may be lost in a crash."""
        with self._lock:
            try:
                return self._transaction(self._ready() if durable else self._ready_scratch(), step)
            except sqlite3.Error as error:
                self._give_up(error)
                raise translate(error, self._file.path) from error

    def synchronous(self) -> int:
        """Ask the durable connection how far it syncs, as SQLite counts: 2 is FULL."""
        with self._lock:
            level: int = self._ready().execute("PRAGMA synchronous").fetchone()[0]
            return level

    def close(self) -> None:
        """Close for good."""
        with self._lock:
            self._closed = True
            self._drop()

    def pause(self, seconds: float) -> bool:
        """Close what is open and keep everybody out until `resume`; False where a commit takes longer."""
        if not self._lock.acquire(timeout=seconds):
            return False
        self._drop()
        return True

    def resume(self) -> None:
        """Let writing begin again after `pause`."""
        self._lock.release()

    def _together(self, batch: list[Append]) -> list[Appended | Exception]:
        try:
            return self._settle_all(batch)
        except Exception as error:
            if not is_of_input(error):
                raise
        # One of them holds what cannot be stored, and has left half of itself: none of this transaction is
        # kept, and each goes alone, so that only the one it is about fails.
        return [self._alone(append) for append in batch]

    def _alone(self, append: Append) -> Appended | Exception:
        try:
            return self._settle_all([append])[0]
        except sqlite3.Error as error:
            self._give_up(error)
            return translate(error, self._file.path)
        except (UnicodeEncodeError, OverflowError) as error:
            return InvalidInput(f"SQLite cannot store this append: {error}", path="append", reason=str(error))
        except Exception as error:  # noqa: BLE001  it belongs to this caller, who raises it
            return error

    def _settle_all(self, batch: list[Append]) -> list[Appended | Exception]:
        return self._transaction(
            self._ready(), lambda cursor: [self._settle(cursor, append) for append in batch]
        )

    def _settle(self, cursor: sqlite3.Cursor, append: Append) -> Appended | LedgerError:
        return self._at_once(cursor, append) or decide(append, _View(cursor)) or self._store(cursor, append)

    def _at_once(self, cursor: sqlite3.Cursor, append: Append) -> Appended | None:
        """Store an append of one plain event in one statement; None where that did not work out."""
        parts = append.streams
        if len(parts) != 1 or append.guards or append.blobs or append.fresh:
            return None
        part = parts[0]
        if len(part.rows) != 1 or part.is_source:
            return None
        row = part.rows[0]
        try:
            if part.expected:
                values = row.hash, row.key, row.act, row.claim, row.record
                place = append.tenant, part.stream, part.expected, part.prev
                cursor.execute(self._insert_next, values + place)
                if cursor.rowcount != 1:
                    return None
            else:
                cursor.execute(self._insert, _values(append.tenant, part, row))
        except sqlite3.Error as error:
            if is_busy(error) or is_of_input(error):
                return None
            raise
        return Appended((_gid(cursor),))

    def _store(self, cursor: sqlite3.Cursor, append: Append) -> Appended:
        """Store what was decided to be storable."""
        tenant = append.tenant
        for blob in append.blobs:
            cursor.execute(self._put_blob, (tenant, blob.digest, blob.kind, blob.content, blob.expires_at))
        gids: list[int] = []
        for part in append.streams:
            rows = [_values(tenant, part, row) for row in part.rows]
            cursor.execute(self._insert, rows[0])
            first = _gid(cursor)
            cursor.executemany(self._insert, rows[1:])
            # Each rowid is the highest plus one, and nobody else writes within this transaction.
            gids.extend(range(first, first + len(rows)))
            if part.is_source:
                cursor.execute(self._move_head, (tenant, part.stream, part.rows[-1].position))
        return Appended(tuple(gids))

    def _transaction(self, cursor: sqlite3.Cursor, step: Callable[[sqlite3.Cursor], T]) -> T:
        self._unfinished = True
        try:
            self._file.patiently(lambda: cursor.execute("BEGIN IMMEDIATE"))
            outcome = step(cursor)
            cursor.execute("COMMIT")
        finally:
            self._roll_back(cursor)
        return outcome

    def _ready(self) -> sqlite3.Cursor:
        """Return a cursor of the durable connection, with nothing left open by an interrupted caller."""
        for cursor in (self._cursor, self._scratch):
            if cursor is not None:
                self._roll_back(cursor)
        if self._cursor is None:
            if self._closed:
                raise unavailable(self._file.path, "closed", "this ledger was closed: open it again")
            self._cursor = self._file.writer().cursor()
        return self._cursor

    def _ready_scratch(self) -> sqlite3.Cursor:
        self._ready()
        if self._scratch is None:
            self._scratch = self._file.scratch().cursor()
        return self._scratch

    def _roll_back(self, cursor: sqlite3.Cursor) -> None:
        """Undo the transaction unless it has ended."""
        try:
            if cursor.connection.in_transaction:
                cursor.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing undoes it as well; the next call opens a new connection.
            self._drop()
        self._unfinished = False

    def _give_up(self, error: sqlite3.Error) -> None:
        """Start from a new connection after an error that may have left this one in any state."""
        if not is_busy(error):
            self._drop()

    def _drop(self) -> None:
        for cursor in (self._cursor, self._scratch):
            if cursor is not None:
                # The cursor first: a connection whose statement somebody still refers to, as the traceback of
                # an error does, would live on behind its closing, and keep its locks.
                with suppress(sqlite3.Error):
                    cursor.close()
                cursor.connection.close()
        self._cursor = self._scratch = None


class _View:
    """The store as the transaction sees it."""

    __slots__ = ("_cursor", "_sql")

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor
        self._sql = queries("sqlite")

    def last(self, tenant: str, stream: str) -> tuple[int, bytes]:
        return self._cursor.execute(self._sql["last"], (tenant, stream)).fetchone() or NOTHING

    def stored(self, tenant: str, stream: str, after: int, upto: int) -> Sequence[Stored]:
        found = self._cursor.execute(self._sql["stored"], (tenant, stream, after, upto))
        return [Stored._make(row) for row in found]

    def head(self, tenant: str, stream: str) -> int | None:
        found = self._cursor.execute(self._sql["head"], (tenant, stream)).fetchone()
        return None if found is None else found[0]

    def holder(self, tenant: str, claim: bytes) -> Place | None:
        found = self._cursor.execute(self._sql["holder"], (tenant, claim)).fetchone()
        return None if found is None else Place._make(found)

    def intended(self, tenant: str, act: bytes, known: int) -> Place | None:
        place = {"tenant": tenant, "digest": act, "known": known}
        found = self._cursor.execute(self._sql["intended"], place).fetchone()
        return None if found is None else Place._make(found)


def view_of(cursor: sqlite3.Cursor) -> View:
    """Return the store as the transaction that is open sees it."""
    return _View(cursor)


def _values(tenant: str, part: StreamAppend, row: Row) -> tuple[object, ...]:
    return tenant, part.stream, row.position, row.hash, row.key, row.act, row.claim, row.record


def _gid(cursor: sqlite3.Cursor) -> int:
    gid = cursor.lastrowid
    assert gid is not None, "an INSERT that stored a row has its rowid"
    return gid
