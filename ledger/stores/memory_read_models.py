"""Read models of the store that forgets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TypeVar

from ledger.canonical import invalid
from ledger.stores.base import StoredRow
from ledger.stores.builds import (
    Parked,
    Served,
    when_forgotten,
    when_planned,
    when_served,
    when_taken,
)
from ledger.stores.read_model_sql import all_columns, table_name
from ledger.stores.read_models import (
    Advance,
    Behind,
    Cursor,
    Key,
    Look,
    Model,
    Row,
    Table,
    fenced,
    is_replaced,
    may_serve,
    may_take,
    new_cursor,
)
from ledger.stores.stamps import system_clock

T = TypeVar("T")

Place = tuple[str, str, int, int]


class MemoryReadModels:
    """See `ledger.stores.read_models.ReadModels`. `opened` lends the events under the store's lock."""

    def __init__(self, opened: Callable[[], AbstractContextManager[list[StoredRow]]]) -> None:
        self._opened = opened
        self._cursors: dict[Place, Cursor] = {}
        self._served: dict[tuple[str, str], Served] = {}
        self._parked: defaultdict[Place, dict[str, Parked]] = defaultdict(dict)
        self._made: dict[str, tuple[str, ...]] = {}
        self._rows: defaultdict[tuple[str, str], dict[Key, Row]] = defaultdict(dict)

    def columns(self, model: Model) -> dict[str, tuple[str, ...]]:
        with self._opened():
            names = {table.name: table_name(model, table) for table in model.tables}
            return {name: self._made[made] for name, made in names.items() if made in self._made}

    def create(self, model: Model) -> None:
        with self._opened():
            for table in model.tables:
                self._made.setdefault(table_name(model, table), all_columns(table))

    def analyze(self, model: Model) -> None:
        """Nothing is planned by that here."""

    def rows(self, tenant: str, model: Model, table: str, keys: Iterable[Key]) -> dict[Key, Row]:
        with self._opened():
            found = self._rows[tenant, table_name(model, model.table(table))]
            return {key: found[key] for key in keys if key in found}

    def page(
        self, tenant: str, model: Model, table: str, *, after: Key | None = None, limit: int = 500
    ) -> list[Row]:
        with self._opened():
            found = self._rows[tenant, table_name(model, model.table(table))]
            # Of one type in each place, since no part of a key is missing.
            keys = sorted(key for key in found if after is None or key > after)
            return [found[key] for key in keys[:limit]]

    def forget(self, tenant: str, model: Model) -> None:
        with self._opened():
            one = Served(tenant, model.projection, model.build, system_clock())
            left = when_forgotten(self._served.pop((tenant, model.projection), None), one)
            if left is not None:
                self._served[tenant, model.projection] = left
            self._cursors.pop(_place(tenant, model), None)
            self._parked.pop(_place(tenant, model), None)
            for table in model.tables:
                self._rows.pop((tenant, table_name(model, table)), None)

    def look(self, tenant: str, step: Callable[[Look], T]) -> T:
        with self._opened() as opened:
            events = list(opened)
            cursors = self._cursors_of(tenant)
            served = self._served_of(tenant)
            parked = {place[1:]: self._parked_of(place) for place in self._parked if place[0] == tenant}
            rows = {made: list(kept.values()) for (of, made), kept in self._rows.items() if of == tenant}
        # Most who keep nothing ask nothing either: no database is loaded before.
        from ledger.stores.memory_look import MemoryLook

        return step(MemoryLook(tenant, cursors, served, parked, rows, events))

    def cursors(self, tenant: str) -> list[Cursor]:
        with self._opened():
            return self._cursors_of(tenant)

    def _cursors_of(self, tenant: str) -> list[Cursor]:
        return [self._cursors[place] for place in sorted(self._cursors) if place[0] == tenant]

    def take(
        self, tenant: str, model: Model, *, holder: str, seconds: float, now: datetime | None = None
    ) -> Cursor | None:
        with self._opened():
            place = _place(tenant, model)
            moment = system_clock() if now is None else now
            found = self._cursors.get(place)
            if found is None:
                found = new_cursor(tenant, model, moment)
            elif not may_take(found, holder, moment):
                return None
            until = moment + timedelta(seconds=seconds)
            taken = found._replace(holder=holder, until=until, fence=found.fence + 1)
            self._cursors[place] = taken
            one = Served(tenant, model.projection, model.build, moment)
            served = self._served.get(place[:2])
            self._served[place[:2]] = when_taken(served, one, first=taken.fence == 1)
            return taken

    def advance(self, tenant: str, model: Model, page: Advance, *, now: datetime | None = None) -> None:
        with self._opened():
            place = _place(tenant, model)
            found = self._cursors.get(place)
            if found is None or (found.fence, found.reached.gid) != (page.fence, page.before):
                raise fenced(tenant, model)
            moment = system_clock() if now is None else now
            for name, changes in page.changes.items():
                _check(model.table(name), changes.values())
            for name, changes in page.changes.items():
                rows = self._rows[tenant, table_name(model, model.table(name))]
                for key, row in changes.items():
                    if row is None:
                        rows.pop(key, None)
                    else:
                        rows[key] = row
            for run, parked in page.parked.items():
                self._park(place, run, parked)
            until = moment + timedelta(seconds=page.lease_seconds)
            self._cursors[place] = found._replace(reached=page.reached, updated_at=moment, until=until)

    def release(self, tenant: str, model: Model, fence: int) -> None:
        with self._opened():
            place = _place(tenant, model)
            found = self._cursors.get(place)
            if found is not None and found.fence == fence:
                self._cursors[place] = found._replace(holder=None, until=None)

    def resume(self, tenant: str, model: Model) -> None:
        with self._opened():
            place = _place(tenant, model)
            found = self._cursors.get(place)
            if found is not None:
                self._cursors[place] = found._replace(reached=found.reached._replace(stop=None))
            for run, parked in list(self._parked.get(place, {}).items()):
                self._parked[place][run] = parked._replace(again=True)

    def served(self, tenant: str) -> list[Served]:
        with self._opened():
            return self._served_of(tenant)

    def plan(self, tenant: str, model: Model, *, now: datetime | None = None) -> None:
        with self._opened():
            one = Served(tenant, model.projection, model.build, system_clock() if now is None else now)
            found = self._served.get((tenant, model.projection))
            self._served[tenant, model.projection] = when_planned(found, one)

    def serve(
        self,
        tenant: str,
        model: Model,
        *,
        fence: int | None = None,
        even_behind: bool = False,
        now: datetime | None = None,
    ) -> bool:
        with self._opened():
            found = self._served.get((tenant, model.projection))
            cursors = {
                cursor.build: cursor
                for cursor in self._cursors_of(tenant)
                if cursor.projection == model.projection
            }
            if not may_serve(tenant, model, found, cursors, fence=fence, even_behind=even_behind):
                return False
            one = Served(tenant, model.projection, model.build, system_clock() if now is None else now)
            self._served[tenant, model.projection] = when_served(found, one)
            if found is not None and is_replaced(found, model) and found.build in cursors:
                old = cursors[found.build]
                lost = old._replace(holder=None, until=None, fence=old.fence + 1)
                self._cursors[tenant, model.projection, *found.build] = lost
            return True

    def parked(self, tenant: str, model: Model) -> list[Parked]:
        with self._opened():
            return self._parked_of(_place(tenant, model))

    def _served_of(self, tenant: str) -> list[Served]:
        return [self._served[place] for place in sorted(self._served) if place[0] == tenant]

    def _parked_of(self, place: Place) -> list[Parked]:
        return sorted(self._parked.get(place, {}).values())

    def _park(self, place: Place, run: str, parked: Parked | None) -> None:
        kept = self._parked[place]
        before = kept.pop(run, None)
        if parked is not None:
            again = parked.again and (before is None or before.again)
            kept[run] = parked._replace(again=again)

    def behind(self, tenant: str, after: int) -> Behind:
        with self._opened() as events:
            # The gid is the index plus one.
            left = [row for row in events[max(after, 0) :] if row.tenant == tenant]
            return Behind(len(left), left[0].record if left else None)


def _check(table: Table, rows: Iterable[Row | None]) -> None:
    for row in rows:
        for column, cell in zip(table.columns, row or (), strict=False):
            if cell is None and not column.optional:
                raise invalid("rows", f"{table.name}.{column.name} is missing in {row!r:.100}")


def _place(tenant: str, model: Model) -> Place:
    return tenant, model.projection, model.version, model.slot
