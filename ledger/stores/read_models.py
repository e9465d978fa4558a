"""What projections keep beside the events: tables of their own, and how far each has read.

A read model is declared as plain data, so that every store can make the same tables: names, columns of
three kinds, a key. Each table begins with the tenant and ends with `gid`, the global position of the
record that a row comes from; no statement reads or changes rows of another tenant.

A cursor and the rows it stands for change in one transaction. Nothing here is a fact: all of it can be made
again from the events.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from ledger.canonical import invalid
from ledger.errors import LeaseLost
from ledger.stores.builds import Build, Parked, Served
from ledger.stores.looking import Records
from ledger.values.times import read_time, write_time

T = TypeVar("T")

Kind = Literal["text", "integer", "bytes"]
Cell = str | int | bytes | None
Key = tuple[Cell, ...]
"""What a row is known by, in the order of the table's key, without the tenant."""
Row = tuple[Cell, ...]
"""Cells in the order of the table's columns, then `gid`."""
Changes = Mapping[str, Mapping[Key, Row | None]]
"""By table and key what a row becomes; None: there is none any more."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: Kind = "text"
    """Text compares byte by byte; an integer has 64 bits."""
    optional: bool = False
    """A row need not have it."""


class Table(NamedTuple):
    """A table of a read model."""

    name: str
    columns: tuple[Column, ...]
    """Without `tenant` and `gid`, which every table has."""
    key: tuple[str, ...]
    """Columns that tell the rows of a tenant apart; none of them is optional."""
    indexes: tuple[tuple[str, ...], ...] = ()
    """Columns to look rows up by, behind the tenant."""
    facts: bool = False
    """Rows are put once and never change, so that what the table held earlier can be read from it: it has a
    column `at`, the time of the record a row comes from."""


class Model(NamedTuple):
    """A read model: what one version of one projection keeps."""

    projection: str
    version: int
    tables: tuple[Table, ...]
    slot: int = 0
    """0 or 1: a version that is made once more is made beside the one that is read."""

    @property
    def build(self) -> Build:
        """Which build of the projection it is."""
        return Build(self.version, self.slot)

    @property
    def shape(self) -> str:
        """Name the shape of its tables: two that differ are not the same version."""
        return hashlib.sha256(repr(self.tables).encode()).hexdigest()

    def table(self, name: str) -> Table:
        """Return a table by its name.

        Raises:
            InvalidInput: there is none.
        """
        for table in self.tables:
            if table.name == name:
                return table
        raise invalid("table", f"{self.projection} version {self.version} has no table {name!r:.50}")


Tables = Mapping[str, tuple[Model, Table]]
"""By the name that a query uses, which table of which read model is meant."""
Value = Cell | tuple[Cell, ...]
"""What a query is given; a tuple stands in brackets, behind IN."""
Values = Mapping[str, Value]


class Mark(NamedTuple):
    """One record of the ledger."""

    gid: int
    run: str
    position: int
    hash: bytes


class Stop(NamedTuple):
    """The record that a projection could not handle, and why."""

    gid: int
    run: str
    position: int
    error: str


class Reached(NamedTuple):
    """How far a projection has come."""

    mark: Mark | None = None
    """The record that was handled last, of those of the tenant."""
    seen: int = 0
    """Up to this global position the tenant has no other."""
    seen_hash: bytes | None = None
    """Hash of the record at `seen`, whosever it is; None: it was not shown."""
    events: int = 0
    """How many records of the tenant were handled."""
    at: datetime | None = None
    """Time of the last of them."""
    built: bool = False
    """It had once caught up with the ledger."""
    stop: Stop | None = None

    @property
    def gid(self) -> int:
        """Global position of the record that was handled last; 0: none was."""
        return 0 if self.mark is None else self.mark.gid

    @property
    def position(self) -> int:
        """Global position up to which everything is handled."""
        return max(self.gid, self.seen)


class Cursor(NamedTuple):
    """How far one version of one projection has come with the records of one tenant, and who works on it."""

    tenant: str
    projection: str
    version: int
    shape: str
    reached: Reached
    updated_at: datetime
    holder: str | None
    """Who works on it; None: nobody."""
    until: datetime | None
    """When somebody else may take over."""
    fence: int
    """How often it was taken: a page is kept only under the last number."""
    slot: int = 0
    tables: tuple[str, ...] = ()
    """Names of its tables."""

    @property
    def build(self) -> Build:
        """Which build of the projection it is of."""
        return Build(self.version, self.slot)

    @property
    def is_going(self) -> bool:
        """Whether what it stands for is being deleted; then nobody works on it."""
        return not self.shape


class Advance(NamedTuple):
    """A page that was handled."""

    fence: int
    before: int
    """`gid` of what was reached before it."""
    reached: Reached
    changes: Changes
    lease_seconds: float
    """For how long the worker goes on holding the projection."""
    parked: Mapping[str, Parked | None] = {}
    """What becomes of streams that are set aside, by name; None: they are not any more."""


class Behind(NamedTuple):
    """What a projection has yet to handle."""

    events: int
    first: bytes | None
    """The first of these records."""


class Look(Records, Protocol):
    """Read models and records of one tenant as of one moment."""

    def cursors(self) -> list[Cursor]:
        """List the cursors of the tenant, by projection, version and slot."""

    def served(self) -> list[Served]:
        """List which builds are served, by projection."""

    def parked(self, model: Model) -> list[Parked]:
        """List the streams that a build has set aside, by name."""

    def select(
        self, query: str, tables: Tables, values: Values, *, upto: int | None = None, until: str | None = None
    ) -> list[tuple[Any, ...]]:
        """Run a query; see `ledger.stores.read_model_queries` for how it is written.

        Args:
            query: one SELECT.
            tables: what the names in its braces stand for.
            values: what its `:names` stand for.
            upto: facts of later global positions are left out.
            until: facts of later times are left out.

        Raises:
            InvalidInput: it names a table or a value that is not given.
        """


class Kept(Protocol):
    """Tables of read models."""

    def columns(self, model: Model) -> dict[str, tuple[str, ...]]:
        """Name the columns of those tables that are there, `tenant` and `gid` included, in their order."""

    def create(self, model: Model) -> None:
        """Make the tables that are missing.

        Raises:
            StoreUnavailable: this login may not make tables; `reason` is `no_privilege`.
        """

    def analyze(self, model: Model) -> None:
        """Let the database learn how large the tables are, where it plans by that, and this login may.

        Raises:
            StoreBusy: it is learnt already, or the tables are being changed.
        """

    def rows(self, tenant: str, model: Model, table: str, keys: Iterable[Key]) -> dict[Key, Row]:
        """Read rows by key; those that are not there are left out."""

    def page(
        self, tenant: str, model: Model, table: str, *, after: Key | None = None, limit: int = 500
    ) -> list[Row]:
        """Read rows in the order of their keys, after a key."""

    def forget(self, tenant: str, model: Model) -> None:
        """Delete the tenant's rows and cursor, a bounded number of rows at a time.

        Who works on it loses its lease with the first step; with that it is also not served any more, and
        nobody takes it until all is gone. Where this is interrupted, it goes on when it is called again.
        """

    def look(self, tenant: str, step: Callable[[Look], T]) -> T:
        """Run a step that reads as of one moment; it may be run again, from another moment.

        It reads by what it is given alone: who takes another connection meanwhile waits for others who do.
        """


class Cursors(Protocol):
    """How far projections have read, and who reads.

    A projection is held by one worker at a time: by lease, judged by the store's clock, or by `now` from
    callers that have a clock of their own.
    """

    def cursors(self, tenant: str) -> list[Cursor]:
        """List the cursors of a tenant, by projection, version and slot."""

    def take(
        self, tenant: str, model: Model, *, holder: str, seconds: float, now: datetime | None = None
    ) -> Cursor | None:
        """Begin to work on a build, durably; None while another holder's lease has not ended.

        Where no build of the projection is served, this one is from now on; where an older version is, it is
        the next from its first time on.
        """

    def advance(self, tenant: str, model: Model, page: Advance, *, now: datetime | None = None) -> None:
        """Store what a page changes and move the cursor, in one transaction.

        It may be lost in a crash of the machine, rows and cursor together.

        Raises:
            LeaseLost: another worker has taken over, or the cursor is gone: nothing was stored.
            InvalidInput: a row cannot be stored.
        """

    def release(self, tenant: str, model: Model, fence: int) -> None:
        """Let others take it at once; where another has taken it nothing happens."""

    def resume(self, tenant: str, model: Model) -> None:
        """Forget that it was stopped by a record, so that whoever works on it tries again.

        Streams that were set aside are to be tried again, too.
        """

    def behind(self, tenant: str, after: int) -> Behind:
        """Count the records of a tenant with gid > after, shown to followers or not."""


class Serving(Protocol):
    """Which builds are read, and what they left aside."""

    def served(self, tenant: str) -> list[Served]:
        """List which builds are served, by projection."""

    def plan(self, tenant: str, model: Model, *, now: datetime | None = None) -> None:
        """Let a build be served once it has caught up; nothing changes where it is served already."""

    def serve(
        self,
        tenant: str,
        model: Model,
        *,
        fence: int | None = None,
        even_behind: bool = False,
        now: datetime | None = None,
    ) -> bool:
        """Serve a build in the place of another, in one transaction; return whether it is served.

        It is not where it has come less far than the served one, unless `even_behind`: what was read once is
        not to be gone again. Who works on another build of the same version loses its lease.

        Args:
            tenant: whose.
            model: the build.
            fence: the number under which the caller works on it; None: somebody else may work on it.
            even_behind: also where the served one has come further.
            now: the time, from callers that have a clock of their own.

        Raises:
            LeaseLost: it is not there, or another works on it.
        """

    def parked(self, tenant: str, model: Model) -> list[Parked]:
        """List the streams that a build has set aside, by name."""


class ReadModels(Kept, Cursors, Serving, Protocol):
    """What a store offers to projections."""


class Projected(Protocol):
    """A store that keeps read models."""

    def read_models(self) -> ReadModels:
        """Return the tables and cursors of projections."""


def may_take(found: Cursor, holder: str, now: datetime) -> bool:
    """Tell whether a worker may begin on a projection: nobody else holds it, or not any more."""
    free = found.holder is None or found.holder == holder or found.until is None or found.until <= now
    return free and not found.is_going


def new_cursor(tenant: str, model: Model, moment: datetime) -> Cursor:
    """Return the cursor of a build that nobody has worked on."""
    tables = tuple(table.name for table in model.tables)
    return Cursor(
        tenant,
        model.projection,
        model.version,
        model.shape,
        Reached(),
        moment,
        None,
        None,
        0,
        model.slot,
        tables,
    )


def may_serve(
    tenant: str,
    model: Model,
    found: Served | None,
    cursors: Mapping[Build, Cursor],
    *,
    fence: int | None,
    even_behind: bool,
) -> bool:
    """Tell whether a build may be served now, given the cursors of its projection.

    Raises:
        LeaseLost: it is not there, or another works on it.
    """
    mine = cursors.get(model.build)
    if mine is None or mine.is_going or fence not in (None, mine.fence):
        raise fenced(tenant, model)
    old = None if found is None else cursors.get(found.build)
    return even_behind or old is None or old.reached.position <= mine.reached.position


def is_replaced(found: Served, model: Model) -> bool:
    """Tell whether who works on what was served is to go on with a build that takes its place."""
    return found.build != model.build and found.build.version == model.version


def fenced(tenant: str, model: Model) -> LeaseLost:
    """Build the error of a worker whose page comes after another has taken over."""
    return LeaseLost(
        f"the projection {model.projection} {model.build} of tenant {tenant!r} was taken over by "
        "another worker, or begun anew: nothing of this page was stored",
        projection=model.projection,
        version=model.version,
    )


def cells_of(reached: Reached) -> tuple[Any, ...]:
    """Write what was reached as the cells of a cursor, from `gid` to `stopped_error`."""
    mark, stop = reached.mark, reached.stop
    return (
        *((0, None, None, None) if mark is None else mark),
        reached.seen,
        reached.seen_hash,
        reached.events,
        None if reached.at is None else write_time(reached.at),
        reached.built,
        *((None, None, None, None) if stop is None else stop),
    )


def reached_of(cells: Sequence[Any]) -> Reached:
    """Read what was reached out of these cells."""
    gid, run, position, hash, seen, seen_hash, events, at, built, *stop = cells
    return Reached(
        mark=None if run is None else Mark(gid, run, position, hash),
        seen=seen,
        seen_hash=seen_hash,
        events=events,
        at=None if at is None else read_time(at),
        built=bool(built),
        stop=None if stop[0] is None else Stop(*stop),
    )
