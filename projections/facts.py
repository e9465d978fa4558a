"""Read models of facts: rows that are put once, each from one record, and never change.

A fact says what one event said: that an effect was intended, that a constraint was withdrawn. What holds at a
moment is left to the query, which puts beginnings and ends together. So rows depend on nothing but their own
record, and what the ledger said at any earlier moment is read by leaving out what came later.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ledger.canonical import canonical_text
from ledger.record import Record
from ledger.stores.read_models import Cell, Column, Table
from ledger.values.times import write_time
from projections.base import Projection, Rows

PLACE = (Column("run"), Column("position", "integer"), Column("at"))
"""What every fact begins with: the stream and position of its record, and the ledger's time of it."""


class Fact(NamedTuple):
    """A row of a table of facts, without the columns that come from its record."""

    table: str
    values: Mapping[str, Cell]


class Facts(Projection):
    """A projection whose every table is of facts."""

    by_run = True

    @abstractmethod
    def facts(self, record: Record) -> Iterable[Fact]:
        """Return what a record says, in any order."""

    def handle(self, record: Record, rows: Rows) -> None:
        place: dict[str, Cell] = {"run": record.run, "position": record.position, "at": write_time(record.at)}
        for table, values in self.facts(record):
            rows.put(table, {**place, **values}, record)


def fact_table(
    name: str,
    *columns: Column,
    more_key: tuple[str, ...] = (),
    indexes: tuple[tuple[str, ...], ...] = (),
) -> Table:
    """Declare a table of facts: one row for each record, or several that `more_key` tells apart."""
    key = ("run", "position", *more_key)
    return Table(name, (*PLACE, *columns), key=key, indexes=indexes, facts=True)


def text_or_none(value: Any) -> str | None:
    """Write a value as canonical JSON; None stays None, and so does what holds nothing."""
    return canonical_text(value) if value else None
