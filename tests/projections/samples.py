"""Projections of the tests, and what they must come to: the rows of a fold over all records, naively."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar

from ledger import Ledger
from ledger.application.ledger import edge_of
from ledger.errors import LedgerError
from ledger.events import GoalRevised, RunOpened
from ledger.record import Record
from ledger.stores.read_models import Model, Row
from projections.base import Column, Projection, Rows, Table
from projections.runner import Runner
from projections.serving import followed
from projections.standing import Standing, status
from tests.stores.builder import shown

Place = tuple[str, int]


class Counts(Projection):
    """Each record, and how many there are of each run: a row that is read again to be changed."""

    name = "counts"
    version = 1
    by_run = True
    tables: ClassVar[tuple[Table, ...]] = (
        Table(
            "said", (Column("run"), Column("position", "integer"), Column("name")), key=("run", "position")
        ),
        Table("runs", (Column("run"), Column("records", "integer"), Column("names")), key=("run",)),
    )

    def handle(self, record: Record, rows: Rows) -> None:
        rows.put("said", {"run": record.run, "position": record.position, "name": record.name}, record)
        known = rows.get("runs", [record.run]) or {"records": 0, "names": ""}
        names = f"{known['names']}{record.name};"
        rows.put("runs", {"run": record.run, "records": known["records"] + 1, "names": names}, record)


class Fragile(Counts):
    """The same, until records at some places come; those of `broken` places keep it from storing a row."""

    name = "fragile"

    def __init__(
        self, *poison: Place, broken: Collection[Place] = (), at_end: Collection[Place] = ()
    ) -> None:
        self.poison = set(poison)
        self.broken = set(broken)
        self.at_end = set(at_end)
        self.handled: list[Place] = []
        self._page: list[Place] = []

    def handle(self, record: Record, rows: Rows) -> None:
        place = record.run, record.position
        self.handled.append(place)
        self._page.append(place)
        if place in self.poison:
            raise ValueError(f"cannot read {place}\0 \udcff")
        super().handle(record, rows)
        if place in self.broken:
            # What only the database notices: this column may not be missing.
            rows._pending["said"][place] = (*place, None, record.global_position or 0)

    def finish(self, rows: Rows) -> None:
        page, self._page = self._page, []
        if self.at_end & set(page):
            raise KeyError("at the end")

    def begin(self) -> Fragile:
        self._page = []
        return self


class Goals(Projection):
    """The goal of each run: of events it wants, and rows that go again."""

    name = "goals"
    version = 3
    wants = frozenset({RunOpened, GoalRevised})
    tables = (Table("goals", (Column("run"), Column("goal")), key=("run",), indexes=(("goal",),)),)

    def handle(self, record: Record, rows: Rows) -> None:
        event = record.event
        goal = event.goal if isinstance(event, RunOpened) else event.text  # type: ignore[attr-defined]
        if goal == "gone":
            rows.delete("goals", [record.run])
        else:
            rows.put("goals", {"run": record.run, "goal": goal}, record)


def catch_up(ledger: Ledger, *projections: Projection, page: int = 500, **options: Any) -> None:
    """Run projections until they have handled all that is stored."""
    shown(ledger.store)
    Runner(ledger, projections, page=page, **options).run(until_current=True)


def kept(ledger: Ledger, projection: Projection) -> dict[str, list[Row]]:
    """Read every row that a projection keeps of the tenant in the build that is followed."""
    return kept_in(ledger, followed(edge_of(ledger), projection.model))


def kept_in(ledger: Ledger, model: Model) -> dict[str, list[Row]]:
    """Read every row that a build keeps of the tenant; none before its tables are made."""
    models = ledger.store.read_models()
    there = models.columns(model)
    return {
        table.name: models.page(ledger.tenant, model, table.name, limit=10**6) if table.name in there else []
        for table in model.tables
    }


def naive(ledger: Ledger, projection: Projection, upto: int | None = None) -> dict[str, list[Row]]:
    """Fold all records of the tenant, up to a global position, in one page that is never stored."""
    rows = Rows(projection.model, lambda table, keys: {})
    records = [
        record for record in everything(ledger) if upto is None or (record.global_position or 0) <= upto
    ]
    handler = projection.begin()
    for record in records:
        if projection.wants_event(record.event):
            handler.handle(record, rows)
    handler.finish(rows)
    found = {table.name: rows.changes.get(table.name, {}) for table in projection.tables}
    return {name: [row for _, row in sorted(of.items()) if row is not None] for name, of in found.items()}


def everything(ledger: Ledger) -> Iterable[Record]:
    """Read all records of the tenant, those too that followers are not shown yet."""
    shown(ledger.store)
    return list(ledger.follow())


def standing(ledger: Ledger, projection: Projection) -> Standing:
    """Tell how the build of a projection stands that is followed."""
    model = followed(edge_of(ledger), projection.model)
    place = model.projection, model.version, model.slot
    found = status(ledger, [projection])
    return next(one for one in found if (one.projection, one.version, one.slot) == place)


def raised(call: Callable[[], object]) -> LedgerError | None:
    """Return what of the ledger's errors a call raises."""
    try:
        call()
    except LedgerError as error:
        return error
    return None


def fill(ledger: Ledger, runs: int = 3, events: int = 5) -> None:
    """Let some runs live at the same time."""
    opened = [ledger.open_run(f"run-{number}", f"goal {number}") for number in range(runs)]
    for number in range(1, events):
        for run in opened:
            run.revise_goal(f"goal {number}", reason="it changed", by="human:kim")
