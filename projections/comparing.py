"""Comparing the rows that a projection keeps with those that come from the records, table by table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from ledger.stores.read_model_sql import column_names, listed
from ledger.stores.read_models import Cell, Key, Look, Model, Row, Table
from projections.making import Making

MOST = 100
"""How many differences of a projection are named."""

_ROWS = 500
_ROWS_WITH_BYTES = 50
"""Rows read at once from a table with a column of bytes: such a row is large."""

Kind = Literal["differs", "missing", "unfounded"]
"""`differs`: it is not the row that comes from the records. `missing`: it should be there. `unfounded`: it
comes from no record."""


class Difference(NamedTuple):
    """A row that is not what the records make of it."""

    table: str
    key: dict[str, Cell]
    """By the columns of the table's key."""
    kind: Kind
    cells: dict[str, tuple[Cell, Cell]]
    """Of one that differs, by column: what is kept, and what comes from the records. `gid` is the global
    position of the record that the row comes from."""


class Compared:
    """What came of comparing the tables of one projection."""

    def __init__(self) -> None:
        self.rows = 0
        """How many rows are kept, of those tables that were compared."""
        self.counts: dict[Kind, int] = {"differs": 0, "missing": 0, "unfounded": 0}
        self.first: list[Difference] = []

    def note(self, found: Difference) -> None:
        """Count a difference, and keep the first ones."""
        self.counts[found.kind] += 1
        if len(self.first) < MOST:
            self.first.append(found)


def compare(look: Look, model: Model, making: Making) -> Compared:
    """Compare every table of a build, as of one moment, with rows that were made up to the same place."""
    compared = Compared()
    for table in model.tables:
        _compare(look, model, table, making, compared)
    return compared


def _compare(look: Look, model: Model, table: Table, making: Making, compared: Compared) -> None:
    names = column_names(table)
    places = [names.index(name) for name in table.key]

    def key_of(row: Row) -> Key:
        return tuple([row[place] for place in places])

    kept = _all(lambda after, limit: _kept(look, model, table, after, limit), key_of, table)
    made = _all(lambda after, limit: making.page(table.name, after=after, limit=limit), key_of, table)
    one, other = next(kept, None), next(made, None)
    while one is not None or other is not None:
        before = _before(one, other, key_of)
        compared.rows += before <= 0
        if before < 0 and one is not None:
            compared.note(Difference(table.name, _named(table, key_of(one)), "unfounded", {}))
        elif before > 0 and other is not None:
            compared.note(Difference(table.name, _named(table, key_of(other)), "missing", {}))
        elif one is not None and other is not None:
            cells = _differing(names, one, other)
            if cells:
                compared.note(Difference(table.name, _named(table, key_of(one)), "differs", cells))
        one = next(kept, None) if before <= 0 else one
        other = next(made, None) if before >= 0 else other


def _before(one: Row | None, other: Row | None, key_of: Callable[[Row], Key]) -> int:
    """Tell which of two rows comes first: below 0 the one, above 0 the other; 0: they have the same key."""
    if one is None:
        return 1
    if other is None:
        return -1
    first, second = (tuple(map(_order, key_of(row))) for row in (one, other))
    return (first > second) - (first < second)


def _order(cell: Any) -> tuple[int, Any]:
    """Order cells as databases do, also those of a type that the column is not to hold."""
    if cell is None:
        return 0, 0
    if isinstance(cell, str):
        return 2, cell.encode("utf-8", "surrogatepass")
    return (3, cell) if isinstance(cell, bytes) else (1, cell)


def _differing(names: Sequence[str], one: Row, other: Row) -> dict[str, tuple[Cell, Cell]]:
    if one == other and list(map(type, one)) == list(map(type, other)):
        return {}
    pairs = zip(names, one, other, strict=True)
    return {name: (kept, made) for name, kept, made in pairs if kept != made or type(kept) is not type(made)}


def _named(table: Table, key: Key) -> dict[str, Cell]:
    return dict(zip(table.key, key, strict=True))


def _all(
    page: Callable[[Key | None, int], list[Row]], key_of: Callable[[Row], Key], table: Table
) -> Iterator[Row]:
    """Read all rows in the order of their keys, a bounded number at a time."""
    limit = _ROWS_WITH_BYTES if any(column.kind == "bytes" for column in table.columns) else _ROWS
    after: Key | None = None
    while True:
        rows = page(after, limit)
        yield from rows
        if len(rows) < limit:
            return
        after = key_of(rows[-1])


def _kept(look: Look, model: Model, table: Table, after: Key | None, limit: int) -> list[Row]:
    key = listed(table.key)
    marks = {f"after_{number}": cell for number, cell in enumerate(after or ())}
    behind = f"WHERE ({key}) > ({', '.join(f':{name}' for name in marks)})" if marks else ""
    query = (
        f"SELECT {listed(column_names(table))} FROM {{kept.rows}} AS kept {behind} ORDER BY {key} LIMIT :most"
    )
    return look.select(query, {"kept.rows": (model, table)}, {**marks, "most": limit})
