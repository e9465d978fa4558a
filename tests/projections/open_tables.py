"""What stands in the tables of what is open, and what contracts say should."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ledger import Ledger
from ledger.run.contract import Contract
from ledger.stores.read_models import Key, Row
from projections.open_now import KINDS, open_rows
from projections.runs import Runs

Found = dict[str, dict[Key, dict[str, Any]]]
TABLES = [kind.table for kind in KINDS]


def naive(contracts: Iterable[Contract]) -> Found:
    """Write every member of every contract."""
    found: Found = {table.name: {} for table in TABLES}
    keys = {table.name: table.key for table in TABLES}
    for contract in contracts:
        for table, cells in open_rows(contract):
            found[table][tuple(cells[name] for name in keys[table])] = cells
    return found


def cells_of(rows: Mapping[str, Iterable[Row]]) -> Found:
    """Give rows of the open tables by key, without the place in the global order that they come from."""
    found: Found = {}
    for table in TABLES:
        names = [column.name for column in table.columns]
        cells = [dict(zip(names, row[:-1], strict=True)) for row in rows[table.name]]
        found[table.name] = {tuple(one[name] for name in table.key): one for one in cells}
    return found


def kept(ledger: Ledger) -> Found:
    """Read what the projection keeps."""
    models = ledger.store.read_models()
    return cells_of(
        {table.name: models.page(ledger.tenant, Runs().model, table.name, limit=10**6) for table in TABLES}
    )
