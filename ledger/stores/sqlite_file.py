"""One SQLite file: connections to it that keep what they acknowledge, or a refusal that says why not.

Every connection runs in WAL mode. The writer syncs at each commit (`synchronous=FULL`), because an append is
acknowledged by it; the one for snapshots does not, because they may be lost.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ledger.errors import UnsafeStore
from ledger.stores.mounts import NETWORK_FILE_SYSTEMS, file_system
from ledger.stores.sqlite_errors import is_busy, translate
from ledger.stores.sqlite_schema import migrate, recognise

T = TypeVar("T")

Connect = Callable[[str], sqlite3.Connection]
"""Open a database by its URI."""


def connect(uri: str) -> sqlite3.Connection:
    """Open a database without any waiting or transactions of the driver's own."""
    return sqlite3.connect(
        uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
    )


@dataclass(frozen=True)
class SQLiteFile:
    """Where the ledger is, and how to open it."""

    path: Path
    """Absolute, so that it stays the same file when the process changes its directory."""
    busy_seconds: float
    """How long to wait for another process that writes."""
    unsafe: bool
    """Open it also where an acknowledged append could be lost."""
    connect: Connect = connect

    def prepare(self, *, create: bool) -> None:
        """Create or migrate the file, and refuse what cannot be a ledger, leaving it as it was.

        Raises:
            StoreUnavailable: there is no such file, it is no database, or not ours; `reason` says which.
            SchemaMismatch: a newer program has migrated it.
            UnsafeStore: it lies on a network file system, or has no write-ahead log.
        """
        self._refuse_network()
        try:
            self.patiently(lambda: self._prepare_once(create))
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def writer(self) -> sqlite3.Connection:
        """Open a connection whose commits are on the disk when they return."""
        return self._open("FULL")

    def scratch(self) -> sqlite3.Connection:
        """Open a connection for what may be lost in a crash."""
        return self._open("NORMAL")

    def reader(self) -> sqlite3.Connection:
        """Open a connection that cannot write."""
        connection = self._open("NORMAL")
        connection.execute("PRAGMA query_only = ON")
        # Readers wait only while a file is being recovered or closed, which SQLite's own handler does well.
        connection.execute(f"PRAGMA busy_timeout = {int(self.busy_seconds * 1000)}")
        return connection

    def patiently(self, step: Callable[[], T]) -> T:
        """Run a step again as long as another connection holds the lock it needs, `busy_seconds` at most.

        SQLite's own handler looks again after up to 100 ms, and would find a busy neighbour's lock taken each
        time. Looking every few milliseconds, at random moments, gets a turn between two of its commits.
        """
        deadline = time.monotonic() + self.busy_seconds
        pause = 0.0002
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.5, 0.004)

    def kind_of_file_system(self) -> str:
        """Name the file system the file lies on, or `unknown`."""
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        except OSError:
            return "unknown"
        return file_system(self.path.resolve(), mountinfo) or "unknown"

    def _prepare_once(self, create: bool) -> None:
        connection = self._connect(create)
        try:
            # Looked at first, so that a file of somebody else is not even switched to WAL.
            recognise(connection, self.path)
            self._set_up(connection, "FULL")
            migrate(connection, self.path)
        finally:
            connection.close()

    def _connect(self, create: bool) -> sqlite3.Connection:
        return self.connect(f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}")

    def _open(self, synchronous: str) -> sqlite3.Connection:
        try:
            return self.patiently(lambda: self._open_once(synchronous))
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def _open_once(self, synchronous: str) -> sqlite3.Connection:
        connection = self._connect(create=False)
        try:
            self._set_up(connection, synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection, synchronous: str) -> None:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal" and not self.unsafe:
            raise UnsafeStore(
                f"{self.path} cannot have a write-ahead log (its journal mode is {mode}): "
                "put it on a local disk (a program may open it with unsafe=True; commands do not)",
                reason="journal_mode",
                path=str(self.path),
            )
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        # On macOS a plain fsync does not reach the disk; elsewhere these two change nothing.
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA checkpoint_fullfsync = ON")
        # A file that came from elsewhere must not run functions of this process through its schema.
        connection.execute("PRAGMA trusted_schema = OFF")

    def _refuse_network(self) -> None:
        if self.unsafe:
            return
        kind = self.kind_of_file_system()
        if kind in NETWORK_FILE_SYSTEMS:
            raise UnsafeStore(
                f"{self.path} lies on a network file system ({kind}), where SQLite's write-ahead log is not "
                "safe: put it on a local disk, or use PostgreSQL (a program may open it with unsafe=True; "
                "commands do not)",
                reason="network_file_system",
                path=str(self.path),
            )
