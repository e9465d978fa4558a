"""All read models of a tenant as they have to be, and as they are kept, in a form that can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ledger import Ledger
from ledger.application.ledger import edge_of
from ledger.stores.read_models import Cell, Cursor, Model
from projections.base import Projection
from projections.serving import find_cursor
from tests.projections.plain_facts import Cells, Told, plain_rows, told
from tests.projections.plain_runs import PlainRuns
from tests.stores.builder import shown

Rows = Counter[tuple[str, frozenset[tuple[str, Cell]]]]
"""Rows by table, with their cells by column; empty cells are left out."""


def _rows(table: str, cells: Cells) -> tuple[str, frozenset[tuple[str, Cell]]]:
    return table, frozenset(cells.items())


class PlainModels:
    """What the read models of one tenant have to hold; what is appended meanwhile is read when needed."""

    def __init__(self) -> None:
        self._records: list[Told] = []
        self._facts: dict[str, list[tuple[Told, str, Cells]]] = {}
        self._handled: Counter[str] = Counter()
        self._runs = PlainRuns()

    def rows(self, ledger: Ledger, projection: str, upto: int, parked: Mapping[str, int]) -> Rows:
        """Return all rows of a projection once all up to a global position is handled.

        Args:
            ledger: the tenant's.
            projection: its name.
            upto: the global position.
            parked: by stream, the position from where on it is set aside.
        """
        self._read(ledger)

        def is_handled(one: Told) -> bool:
            return one.gid <= upto and one.position < parked.get(one.run, one.position + 1)

        if projection == "runs":
            known = [one for one in self._records if is_handled(one)]
            return Counter(_rows(*row) for row in self._runs.rows(ledger, known))
        facts = self._facts.setdefault(projection, [])
        for one in self._records[self._handled[projection] :]:
            facts += ((one, *row) for row in plain_rows(projection, one))
        self._handled[projection] = len(self._records)
        return Counter(_rows(table, cells) for one, table, cells in facts if is_handled(one))

    def _read(self, ledger: Ledger) -> None:
        while True:
            after = self._records[-1].gid if self._records else 0
            page = ledger.store.tail(after=after, limit=1_000, tenant=ledger.tenant)
            if not page:
                return
            self._records += map(told, page)


def kept_rows(ledger: Ledger, model: Model) -> Rows:
    """Read all rows that a build keeps of the tenant; none before its tables are made."""
    models = ledger.store.read_models()
    there = models.columns(model)
    found: Rows = Counter()
    for table in model.tables:
        if table.name in there:
            names = [*(column.name for column in table.columns), "gid"]
            for row in models.page(ledger.tenant, model, table.name, limit=10**6):
                cells = dict(zip(names, row, strict=True))
                found[
                    _rows(table.name, {name: cell for name, cell in cells.items() if cell is not None})
                ] += 1
    return found


def check_builds(ledger: Ledger, projection: Projection, plain: PlainModels) -> list[Cursor]:
    """Compare every build of a projection with what it has to hold where its cursor stands.

    Returns the cursors of its builds. One whose rows are being deleted is no build any more.
    """
    shown(ledger.store)
    edge = edge_of(ledger)
    models = ledger.store.read_models()
    cursors = models.cursors(edge.tenant)
    found: list[Cursor] = []
    for slot in (0, 1):
        model = projection.model._replace(slot=slot)
        cursor = find_cursor(cursors, model)
        if cursor is None:
            assert not kept_rows(ledger, model), "rows without a cursor"
        elif not cursor.is_going:
            parked = {one.run: one.position for one in models.parked(edge.tenant, model)}
            wanted = plain.rows(ledger, projection.name, cursor.reached.gid, parked)
            kept = kept_rows(ledger, model)
            assert (wanted - kept, kept - wanted) == (Counter(), Counter()), "missing, and too much"
            found.append(cursor)
    return found
