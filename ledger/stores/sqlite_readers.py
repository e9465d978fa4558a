"""The reading half of the SQLite store: a few connections that are lent out, one to a thread at a time.

A statement reads one snapshot of the file, and so does a transaction; writers do not disturb it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from threading import Condition
from typing import Any, TypeVar

from ledger.errors import InvalidInput
from ledger.stores.sqlite_errors import translate, unavailable
from ledger.stores.sqlite_file import SQLiteFile

T = TypeVar("T")

Parameters = Sequence[object] | Mapping[str, object]


class Readers:
    """Lends connections for reading; keeps a few, opens more while more read at once."""

    def __init__(self, file: SQLiteFile, *, keep: int = 32) -> None:
        self._file = file
        self._keep = keep
        self._condition = Condition()
        self._idle: list[sqlite3.Connection] = []
        self._lent = 0
        self._paused = False
        self._closed = False

    def fetch(self, query: str, parameters: Parameters = ()) -> list[Any]:
        """Read the rows of one statement."""
        return self.read(lambda connection: connection.execute(query, parameters).fetchall())

    def fetch_as_of_one_moment(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Run several statements on one snapshot."""

        def read(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            found = step(connection)
            connection.execute("COMMIT")
            return found

        return self.read(read)

    def read(self, step: Callable[[sqlite3.Connection], T]) -> T:
        """Run a step that reads; a connection that it fails on is not used again."""
        connection = self._borrow()
        whole = False
        try:
            if connection is None:
                connection = self._file.reader()
            found = step(connection)
            whole = True
        except sqlite3.Error as error:
            raise translate(error, self._file.path) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"no name in the ledger: {error}", path="name", reason="not Unicode"
            ) from error
        finally:
            self._give_back(connection, whole)
        return found

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Close for good; who reads at this moment still gets its rows."""
        with self._condition:
            self._closed = True
            self._drop()

    def pause(self, seconds: float) -> bool:
        """Close what is open and keep everybody out until `resume`; False where a read takes longer."""
        with self._condition:
            self._paused = True
            if not self._condition.wait_for(lambda: self._lent == 0, seconds):
                return False
            self._drop()
            return True

    def resume(self) -> None:
        """Let reading begin again after `pause`."""
        with self._condition:
            self._paused = False
            self._condition.notify_all()

    def _borrow(self) -> sqlite3.Connection | None:
        with self._condition:
            while self._paused:
                self._condition.wait()
            if self._closed:
                raise unavailable(self._file.path, "closed", "this ledger was closed: open it again")
            self._lent += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: sqlite3.Connection | None, whole: bool) -> None:
        if connection is not None and not whole:
            connection.close()
            connection = None
        with self._condition:
            self._lent -= 1
            if connection is not None:
                if self._closed or self._paused or len(self._idle) >= self._keep:
                    connection.close()
                else:
                    self._idle.append(connection)
            if self._paused:
                self._condition.notify_all()

    def _drop(self) -> None:
        while self._idle:
            self._idle.pop().close()
