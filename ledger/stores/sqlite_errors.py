"""What SQLite's result codes mean to a caller. Codes decide, never texts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ledger.errors import IntegrityError, InvalidInput, LedgerError, StoreBusy, StoreUnavailable


def translate(error: sqlite3.Error, path: Path) -> LedgerError:
    """Build the ledger's error for one of the driver's; `reason` names the cause as a stable word.

    Source: SQLite, "Result and Error Codes"; the low byte is the primary code.
    """
    code = _primary_code(error)
    if code in _OF_INPUT:
        return InvalidInput(f"SQLite cannot store this append: {error}", path="append", reason=str(error))
    if code in _LOCKED:
        text = f"{path}: another process keeps the database locked: back off and repeat"
        return StoreBusy(text, reason="locked", path=str(path))
    if code == sqlite3.SQLITE_CORRUPT:
        text = f"{path} is damaged ({error}): keep a copy, then restore a backup"
        return IntegrityError(text, reason="damaged", path=str(path))
    reason, advice = _diagnose(code, path)
    return unavailable(path, reason, f"{advice} ({error})")


def unavailable(path: Path, reason: str, advice: str) -> StoreUnavailable:
    """Build a StoreUnavailable about a file."""
    return StoreUnavailable(f"{path}: {advice}", reason=reason, path=str(path))


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether a statement did nothing because another connection holds the lock."""
    return _primary_code(error) == sqlite3.SQLITE_BUSY


def is_of_input(error: Exception) -> bool:
    """Tell whether an error is about what one append holds, and not about the database."""
    return not isinstance(error, sqlite3.Error) or _primary_code(error) in _OF_INPUT


def _primary_code(error: sqlite3.Error) -> int:
    # Errors of the driver itself, such as a value of a type it cannot bind, carry no code.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISMATCH)
    return code & 0xFF


def _diagnose(code: int, path: Path) -> tuple[str, str]:
    if code == sqlite3.SQLITE_CANTOPEN:
        if path.is_dir():
            return "is_a_directory", "this is a directory: name a file in it"
        if not path.parent.is_dir():
            return "no_such_directory", f"there is no directory {path.parent}: create it first"
        if not path.exists():
            return "missing", "there is no such file"
    return _REASONS.get(code, ("unexpected", "the database failed in a way the ledger does not know"))


_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

_OF_INPUT = frozenset(
    {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE, sqlite3.SQLITE_TOOBIG}
)

_REASONS = {
    sqlite3.SQLITE_CANTOPEN: ("cannot_open", "the file cannot be opened: check its permissions"),
    sqlite3.SQLITE_PERM: ("cannot_open", "the file cannot be opened: check its permissions"),
    sqlite3.SQLITE_READONLY: (
        "read_only",
        "the file, its directory or the file system is read-only: the ledger writes to all of them",
    ),
    sqlite3.SQLITE_FULL: ("disk_full", "the disk is full: make room and repeat"),
    sqlite3.SQLITE_IOERR: ("io_error", "the disk or the file system failed: check both, then repeat"),
    sqlite3.SQLITE_NOTADB: ("not_a_database", "this is no SQLite database: name another file"),
    sqlite3.SQLITE_NOMEM: ("no_memory", "there is not enough memory"),
}
