"""Checking whether the rows of read models are those that come from the records.

    with open_ledger("ledger.db") as ledger:
        for one in check(ledger, BUILT_IN.values()):
            print(one.projection, one.state, one.counts)

A read model is not the record: no hash covers its rows, and questions believe them. `verify` looks at the
record; this makes the rows once more from it, and compares. What is kept stays as it is, and whoever works on
it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Literal, NamedTuple

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.canonical import invalid
from ledger.stores.builds import Parked
from ledger.stores.read_model_sql import all_columns
from ledger.stores.read_models import Cursor, Look, Model
from ledger.stores.scratch import scratch
from projections.base import Projection
from projections.comparing import Compared, Difference, Kind, compare
from projections.cursors import ahead
from projections.handling import words
from projections.history import counted, is_lost
from projections.making import Making
from projections.reading import PAGE_BYTES, PageSize, Reader
from projections.rounds import Progress
from projections.serving import find_cursor, find_served, slot_of

PAGE = 2_000
"""Records of a page, where nothing else was asked for."""

_TRIES = 5

State = Literal["same", "differs", "tables", "ahead", "unreadable", "new", "going"]
"""`same`: the rows are those that come from the records. `differs`: some are not. `tables`: a table is gone,
or has other columns. `ahead`: they come from another history than this ledger's. `unreadable`: a record that
was handled cannot be handled any more, so that it is not known which rows are right. `new`: nothing was ever
built in this version. `going`: it is being deleted."""

BAD: frozenset[State] = frozenset({"differs", "tables", "ahead", "unreadable"})
"""States of a projection whose answers are not to be believed."""


_NONE: Mapping[Kind, int] = {"differs": 0, "missing": 0, "unfounded": 0}


class Checked(NamedTuple):
    """What came of checking one projection, in the build that is read."""

    projection: str
    version: int
    slot: int
    state: State
    position: int = 0
    """Global position up to which its rows stand for the records."""
    events: int = 0
    """How many records that were."""
    rows: int = 0
    """How many rows are kept."""
    counts: Mapping[Kind, int] = _NONE
    """How many rows differ, are missing, or come from no record."""
    first: tuple[Difference, ...] = ()
    """The first hundred of these."""
    parked: tuple[Parked, ...] = ()
    """Streams that were set aside: from there on there are no rows of them, and none are missed."""
    why: str = ""
    """What is wrong, where no row was compared."""


def check(
    ledger: Ledger,
    projections: Iterable[Projection],
    *,
    page: int = PAGE,
    page_bytes: int = PAGE_BYTES,
    progress: Callable[[Progress], None] | None = None,
) -> list[Checked]:
    """Make the rows of projections once more, and compare them with those that are kept.

    Each is compared as of one moment, up to the place that it has come to: who works on it is not kept
    waiting, and what it adds meanwhile is compared, too, or not looked at. The rows that are made lie in a
    temporary database, which needs as much room as they take; nothing of the ledger is changed, and no lease
    is taken. It takes about as long as making them anew.

    Args:
        ledger: the tenant's.
        projections: which, in the version of this program.
        page: most records that are handled at once.
        page_bytes: most bytes of records in a page, apart from the first.
        progress: told how far they are.

    Raises:
        InvalidInput: a number is out of range.
        StoreUnavailable, StoreBusy: the store is away or busy, or there is no room for temporary files.
    """
    for name, value in (("page", page), ("page_bytes", page_bytes)):
        if not value > 0:
            raise invalid(name, "a number above 0 is needed")
    edge = edge_of(ledger)
    reader = Reader(edge)
    with scratch() as rows:

        def size() -> PageSize:
            return PageSize(page, page_bytes)

        makings = [Making(one, edge, rows, size, reader.decode) for one in projections]
        _make(edge, makings, reader, size(), progress)
        return [_checked(edge, making) for making in makings]


class _Found(NamedTuple):
    """The build of a projection that is read, and how it stands."""

    model: Model
    cursor: Cursor | None
    parked: dict[str, Parked]

    @property
    def place(self) -> int:
        return 0 if self.cursor is None or self.cursor.is_going else self.cursor.reached.position


def _make(
    edge: Edge,
    makings: list[Making],
    reader: Reader,
    size: PageSize,
    progress: Callable[[Progress], None] | None,
) -> None:
    """Make the rows of all as far as they have come now, reading and decoding each record once."""
    models = edge.store.read_models()

    def all_found(look: Look) -> list[_Found]:
        return [_find(look, making.projection.model) for making in makings]

    found = models.look(edge.tenant, all_found)
    upto = max((one.place for one in found), default=0)
    known = models.behind(edge.tenant, 0).events if progress is not None else 0
    after = 0
    while after < upto:
        read = reader.page(after, size.now)
        rows = read.rows[: size.fit(read.rows)]
        if not rows:
            break
        for making, one in zip(makings, found, strict=True):
            making.take(rows, one.place, one.parked)
            if progress is not None:
                progress(Progress(making.model.projection, making.events, max(known, making.events)))
        size.learn(rows)
        after = rows[-1].gid


def _checked(edge: Edge, making: Making) -> Checked:
    models = edge.store.read_models()
    for left in reversed(range(_TRIES)):
        # Most is made before the look that compares: a transaction that is long idle is ended.
        now = models.look(edge.tenant, lambda look: _find(look, making.projection.model))
        making.catch_up(now.place, now.parked)
        found = models.look(edge.tenant, partial(_compared, edge, making, anew=not left))
        if found is not None:
            return found
    raise AssertionError("the last one is made as it is found")


def _compared(edge: Edge, making: Making, look: Look, *, anew: bool) -> Checked | None:
    """Compare as of one moment; None where another build is read than a moment ago, unless made `anew`."""
    found = _find(look, making.projection.model)
    model, cursor = found.model, found.cursor
    one = Checked(model.projection, model.version, model.slot, "new")
    if cursor is None:
        return one
    if cursor.is_going:
        return one._replace(state="going")
    one = one._replace(position=cursor.reached.position, parked=tuple(found.parked.values()))
    if is_lost(look, cursor):
        return one._replace(state="ahead", why=str(ahead(cursor)))
    wrong = _wrong_tables(edge, model, cursor)
    if wrong:
        return one._replace(state="tables", why=wrong)
    if not anew and not making.fits(cursor.reached.position, found.parked):
        return None
    making.catch_up(cursor.reached.position, found.parked)
    if making.error is not None:
        return one._replace(state="unreadable", why=words(making.error))
    compared: Compared = compare(look, model, making)
    return one._replace(
        state="differs" if any(compared.counts.values()) else "same",
        events=making.events,
        rows=compared.rows,
        counts=compared.counts,
        first=tuple(compared.first),
    )


def _find(look: Look, model: Model) -> _Found:
    """Find the build that answers questions of this program."""
    cursors = look.cursors()
    build = model._replace(slot=slot_of(model, find_served(look.served(), model), cursors))
    cursor = find_cursor(cursors, build)
    if cursor is not None:
        cursor = counted(look, cursor)
    return _Found(build, cursor, {one.run: one for one in look.parked(build)})


def _wrong_tables(edge: Edge, model: Model, cursor: Cursor) -> str:
    """Say which tables are not those of the version; empty: all are."""
    if cursor.shape != model.shape:
        return "it was begun with other tables than this program has for its version"
    there = edge.store.read_models().columns(model)
    gone = [table.name for table in model.tables if table.name not in there]
    if gone:
        return f"its tables are gone: {', '.join(gone)}"
    other = [table.name for table in model.tables if there[table.name] != all_columns(table)]
    return f"its tables have other columns: {', '.join(other)}" if other else ""
