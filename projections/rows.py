"""What a handler writes to: the rows of a page, as they will be once the page is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ledger.canonical import invalid
from ledger.record import Record
from ledger.stores.read_model_sql import column_names
from ledger.stores.read_models import Cell, Changes, Column, Key, Model, Row, Table

Read = Callable[[str, Iterable[Key]], Mapping[Key, Row]]
"""Read stored rows of a table by key."""

_TYPES: Mapping[str, type] = {"text": str, "integer": int, "bytes": bytes}
_HIGHEST = 2**63 - 1


class Rows:
    """Rows to put and delete, by table and key; what was put last for a key counts.

    Nothing is stored before the page ends, and then all of it, together with the cursor.
    """

    def __init__(self, model: Model, read: Read) -> None:
        self._tables = {table.name: _Shape(table) for table in model.tables}
        self._read = read
        self._pending: dict[str, dict[Key, Row | None]] = {}

    def put(self, table: str, values: Mapping[str, Cell], record: Record) -> None:
        """Make a row be so, whether it is there or not; `record` is the one it comes from.

        Raises:
            InvalidInput: a column is unknown, missing, of another type, or holds what no database keeps.
        """
        shape = self._shape(table)
        row = shape.row(values, _gid(record))
        self._changes(table)[shape.key_of(row)] = row

    def delete(self, table: str, key: Sequence[Cell]) -> None:
        """Let there be no row with this key."""
        self._changes(table)[self._shape(table).key(key)] = None

    def get(self, table: str, key: Sequence[Cell]) -> dict[str, Any] | None:
        """Read a row as it is after what was put so far, `gid` included; None where there is none."""
        return self.get_all(table, [key]).get(tuple(key))

    def get_all(self, table: str, keys: Iterable[Sequence[Cell]]) -> dict[Key, dict[str, Any]]:
        """Read rows by key, in one query; those that are not there are left out."""
        shape, pending = self._shape(table), self._pending.get(table, {})
        wanted = [shape.key(key) for key in keys]
        stored = [key for key in wanted if key not in pending]
        found: dict[Key, Row | None] = dict(self._read(table, stored)) if stored else {}
        found.update((key, pending[key]) for key in wanted if key in pending)
        there = ((key, row) for key, row in found.items() if row is not None)
        return {key: dict(zip(shape.names, row, strict=True)) for key, row in there}

    @property
    def changes(self) -> Changes:
        """What is to be stored."""
        return self._pending

    def _shape(self, table: str) -> _Shape:
        try:
            return self._tables[table]
        except KeyError:
            raise invalid("table", f"the projection declares no table {table!r:.50}") from None

    def _changes(self, table: str) -> dict[Key, Row | None]:
        self._shape(table)
        return self._pending.setdefault(table, {})


class _Shape:
    """What rows of a table look like."""

    def __init__(self, table: Table) -> None:
        self.names = column_names(table)
        self._columns = table.columns
        self._known = frozenset(self.names)
        by_name = {column.name: column for column in table.columns}
        self._key_columns = [by_name[name] for name in table.key]
        self._key_places = [self.names.index(name) for name in table.key]

    def row(self, values: Mapping[str, Cell], gid: int) -> Row:
        if not self._known >= values.keys() or "gid" in values:
            unknown = sorted(values.keys() - self._known | values.keys() & {"gid"})
            raise invalid("column", f"the table has no column {unknown[0]!r:.50} to be put")
        return (*(_cell(column, values.get(column.name)) for column in self._columns), gid)

    def key(self, key: Sequence[Cell]) -> Key:
        if isinstance(key, str | bytes) or len(key) != len(self._key_columns):
            raise invalid("key", f"a key has {len(self._key_columns)} parts, not {key!r:.50}")
        return tuple(_cell(column, part) for column, part in zip(self._key_columns, key, strict=True))

    def key_of(self, row: Row) -> Key:
        return tuple(row[place] for place in self._key_places)


def _cell(column: Column, value: Cell) -> Cell:
    """Admit what both databases keep as it is, so that a projection does not work on one of them only."""
    if value is None:
        if not column.optional:
            raise invalid(column.name, "a value is missing")
        return None
    if type(value) is not _TYPES[column.kind]:
        raise invalid(column.name, f"{column.kind} is kept there, not {value!r:.50}")
    if isinstance(value, str):
        if "\0" in value or not _is_unicode(value):
            raise invalid(column.name, "text without NUL and lone surrogates is kept there")
    elif isinstance(value, int) and not -_HIGHEST <= value <= _HIGHEST:
        raise invalid(column.name, "a number of 64 bits is kept there")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _gid(record: Record) -> int:
    if record.global_position is None:
        raise invalid("record", "a row comes from a record that was read from the ledger")
    return record.global_position
