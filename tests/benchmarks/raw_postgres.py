"""The yardstick on PostgreSQL: the same bytes through psycopg alone, prepared and committed one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import psycopg

from ledger.record import Row

Connection = psycopg.Connection[Any]

_TABLE = """
CREATE SCHEMA raw;
CREATE TABLE raw.events (
    gid bigint GENERATED ALWAYS AS IDENTITY, position bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL, run text COLLATE "C" NOT NULL,
    hash bytea NOT NULL, key bytea, act bytea, claim bytea, record bytea NOT NULL,
    PRIMARY KEY (tenant, run, position)
)
"""
_COLUMNS = "tenant, run, position, hash, key, act, claim, record"
_TYPES = ("text", "text", "int8", "bytea", "bytea", "bytea", "bytea", "bytea")
_VALUES = "(%s, %s, %s, %s, %s, %s, %s, %s)"


def connect(url: str) -> Connection:
    """Connect in autocommit mode, each statement prepared when it is first run."""
    return psycopg.connect(url, autocommit=True, prepare_threshold=0)


def create(url: str) -> None:
    """Create a table with the columns of ours, and the one index that a position needs."""
    with connect(url) as connection:
        # Several statements in one string are never prepared.
        connection.execute(_TABLE, prepare=False)


def writer(connection: Connection, run: str, rows: Sequence[Row]) -> Callable[[], object]:
    """Return a step that inserts these rows behind the ones before, in one statement that commits itself."""
    cursor, places = connection.cursor(), count(1)
    statement = f"INSERT INTO raw.events ({_COLUMNS}) VALUES {', '.join([_VALUES] * len(rows))}".encode()

    def step() -> object:
        values: list[object] = []
        for row in rows:
            values += _values(run, row._replace(position=next(places)))
        return cursor.execute(statement, values, prepare=True)

    return step


def copy(connection: Connection, run: str, rows: Sequence[Row]) -> None:
    """Copy rows in, in the binary form, in one transaction."""
    with connection.cursor().copy(
        f"COPY raw.events ({_COLUMNS}) FROM STDIN (FORMAT BINARY)".encode()
    ) as into:
        into.set_types(_TYPES)
        for row in rows:
            into.write_row(_values(run, row))


def _values(run: str, row: Row) -> tuple[object, ...]:
    return "default", run, row.position, row.hash, row.key, row.act, row.claim, row.record
