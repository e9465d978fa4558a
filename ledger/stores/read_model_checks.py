"""Which declarations of read models make tables, on every database."""

from __future__ import annotations

import re

from ledger.canonical import invalid
from ledger.stores.read_models import Column, Model, Table

_NAME = re.compile(r"[a-z][a-z0-9_]*")
LONGEST_PROJECTION, LONGEST_TABLE, LONGEST_COLUMN = 20, 16, 40
"""Names of tables and what is named after them hold in the 63 bytes of a name in PostgreSQL."""
HIGHEST_VERSION = 99_999


def check_model(model: Model) -> None:
    """Refuse a declaration that makes no tables, before any is made.

    Raises:
        InvalidInput: a name is malformed or stands twice, or a key or an index names no column.
    """
    _named("projection", model.projection, LONGEST_PROJECTION)
    if type(model.version) is not int or not 0 < model.version <= HIGHEST_VERSION:
        raise invalid("version", f"a version is a number from 1 to {HIGHEST_VERSION}")
    if model.slot not in (0, 1):
        raise invalid("slot", "a version is made in one of two slots, 0 and 1")
    if not model.tables or len({table.name for table in model.tables}) != len(model.tables):
        raise invalid("tables", "a projection has at least one table, each with a name of its own")
    for table in model.tables:
        _check_table(table)


def _check_table(table: Table) -> None:
    _named("table", table.name, LONGEST_TABLE)
    columns = {column.name: column for column in table.columns}
    for name in columns:
        _named("column", name, LONGEST_COLUMN)
        if name in {"tenant", "gid"}:
            raise invalid("column", f"every table has a column {name!r} already")
    if len(columns) != len(table.columns):
        raise invalid("column", f"in the table {table.name} a column stands twice")
    for names in (table.key, *table.indexes):
        if not names or not columns.keys() >= set(names) or len(set(names)) != len(names):
            raise invalid("key", f"{names!r:.100} names no columns of the table {table.name}")
    if table.facts and columns.get("at") != Column("at"):
        raise invalid("table", f"facts have a time each, and {table.name} has no column 'at' of text")
    if any(columns[name].optional for name in table.key):
        raise invalid("key", f"what rows of {table.name} are told apart by cannot be missing")


def _named(what: str, name: str, longest: int) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > longest:
        raise invalid(what, f"{name!r:.50} is no name: lower-case letters, digits and _, at most {longest}")
