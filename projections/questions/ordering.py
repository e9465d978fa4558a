"""The order of rows that no database is asked for."""

from __future__ import annotations

from typing import Any


def in_place(row: tuple[Any, ...]) -> tuple[bytes, int]:
    """Return what sorts rows that begin with run and position: the run byte by byte, then the position."""
    return str(row[0]).encode(), row[1]
