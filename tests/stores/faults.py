"""SQLite connections that a test can watch, or that call it before and after each statement of a writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from ledger.stores.sqlite_file import Connect, connect


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


Hook = Callable[[str], None]


def nothing(statement: str) -> None:
    """Let a statement pass."""


class Hooks:
    """What happens around the statements that run through cursors, which is how the store writes."""

    def __init__(self, before: Hook = nothing, after: Hook = nothing) -> None:
        self.before = before
        self.after = after

    def connect(self) -> Connect:
        """Return what opens connections with these hooks."""
        hooks = self

        class HookedCursor(sqlite3.Cursor):
            def execute(self, statement: str, *parameters: Any) -> HookedCursor:
                hooks.before(statement)
                super().execute(statement, *parameters)
                hooks.after(statement)
                return self

            def executemany(self, statement: str, *parameters: Any) -> HookedCursor:
                hooks.before(statement)
                super().executemany(statement, *parameters)
                hooks.after(statement)
                return self

        class HookedConnection(sqlite3.Connection):
            def cursor(self, *_: Any) -> Any:
                return super().cursor(HookedCursor)

        def connect(uri: str) -> sqlite3.Connection:
            return sqlite3.connect(
                uri,
                uri=True,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
                factory=HookedConnection,
            )

        return connect


def failure(code: int) -> sqlite3.OperationalError:
    """Build the error that the driver raises for a result code."""
    error = sqlite3.OperationalError(f"simulated error {code}")
    error.sqlite_errorcode = code
    return error
