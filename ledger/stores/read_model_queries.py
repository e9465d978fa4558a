"""Queries over read models: one text for every database, made from declarations and never from data.

A query is one SELECT in the words that SQLite and PostgreSQL share. What differs is filled in here:

- `{effects.intents}` stands for a table. It becomes the rows of one tenant, and of a table of facts those
  that were there at the moment that is asked about; nothing in a query can reach others.
- `:run` stands for a value, never for text of the query. A tuple stands behind `IN`, in brackets.

A colon before a letter stands nowhere else in a query, also not within quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ledger.canonical import invalid
from ledger.stores.read_model_sql import column_names, listed, table_name
from ledger.stores.read_models import Cell, Model, Table, Tables, Value, Values

_TABLE = re.compile(r"\{([a-z0-9_]+\.[a-z0-9_]+)\}")
_VALUE = re.compile(r":([a-z][a-z0-9_]*)")


class Query(NamedTuple):
    """A query as a database takes it."""

    text: str
    values: list[Cell]
    """In the order of their marks; None stands in the text."""


class Dialect(NamedTuple):
    """How a database writes what differs."""

    mark: Callable[[int, Cell], str]
    """Write the mark of the n-th value, from 1."""
    within: str = ""
    """The schema and a dot."""


def rendered(
    query: str,
    tables: Tables,
    values: Values,
    dialect: Dialect,
    tenant: str,
    *,
    upto: int | None = None,
    until: str | None = None,
) -> Query:
    """Write a query for a database.

    Raises:
        InvalidInput: it names a table or a value that is not given.
    """

    def table(found: re.Match[str]) -> str:
        if found[1] not in tables:
            raise invalid("query", f"there is no table {found[1]!r:.60} to ask")
        model, declared = tables[found[1]]
        return _rows(model, declared, dialect.within, upto, until)

    given: Values = {**values, "of_tenant": tenant, "of_gid": upto, "of_at": until}
    marked: dict[str, str] = {}
    listed_values: list[Cell] = []

    def written(cell: Cell) -> str:
        if cell is None:
            return "NULL"
        listed_values.append(cell)
        return dialect.mark(len(listed_values), cell)

    def mark(found: re.Match[str]) -> str:
        name = found[1]
        if name not in given:
            raise invalid("query", f"no value is given for {name!r:.60}")
        if name not in marked:
            marked[name] = _bracketed(given[name], written)
        return marked[name]

    text = _VALUE.sub(mark, _TABLE.sub(table, query))
    return Query(text, listed_values)


def _rows(model: Model, table: Table, within: str, upto: int | None, until: str | None) -> str:
    conditions = ['"tenant" = :of_tenant']
    if table.facts and upto is not None:
        conditions.append('"gid" <= :of_gid')
    if table.facts and until is not None:
        conditions.append('"at" <= :of_at')
    name = f'{within}"{table_name(model, table)}"'
    return f"(SELECT {listed(column_names(table))} FROM {name} WHERE {' AND '.join(conditions)})"


def _bracketed(value: Value, written: Callable[[Cell], str]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value)) or 'NULL'})"
    return written(value)
