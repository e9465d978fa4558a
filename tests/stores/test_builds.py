"""Which build of a projection is served: of every store the same moves, each in one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import LeaseLost
from ledger.stores import sqlite_read_models
from ledger.stores.base import FullStore
from ledger.stores.builds import Build, Parked, Served
from ledger.stores.postgres import builds as postgres_builds
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.read_models import Advance, Changes, Column, Cursor, Mark, Model, Reached, Table
from ledger.stores.scripts import migrations, statements
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import TENANT, together
from tests.stores.made import make
from tests.stores.place import address, administer
from tests.stores.test_postgres_migrations import make as make_older

NOW = datetime(2031, 5, 6, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)
TABLE = Table("names", (Column("id"),), key=("id",))
FIRST = Model("sample", 1, (TABLE,))
BESIDE = FIRST._replace(slot=1)
NEWER = FIRST._replace(version=2)
ABC = [("a", 1), ("b", 2), ("c", 3)]


def take(store: FullStore, model: Model, holder: str = "a") -> Cursor:
    make(store, model)
    taken = store.read_models().take(TENANT, model, holder=holder, seconds=30, now=NOW)
    assert taken is not None
    return taken


def go_to(store: FullStore, model: Model, taken: Cursor, gid: int, *, rows: int = 0) -> Cursor:
    reached = Reached(Mark(gid, "run", gid, b"h" * 32))
    changes: Changes = {"names": {(f"{number}",): (f"{number}", 1) for number in range(rows)}}
    page = Advance(taken.fence, taken.reached.gid, reached, changes, 30)
    store.read_models().advance(TENANT, model, page, now=NOW)
    return taken._replace(reached=reached)


def served(store: FullStore) -> Served | None:
    found = store.read_models().served(TENANT)
    assert len(found) < 2
    return found[0] if found else None


def test_the_first_is_served_and_a_newer_one_is_next_until_it_is(store: FullStore) -> None:
    assert served(store) is None
    take(store, FIRST)
    one = Served(TENANT, "sample", Build(1), NOW)
    assert served(store) == one
    take(store, NEWER)
    assert served(store) == one._replace(next=Build(2))
    # An older one is not, nor the same once more.
    take(store, FIRST)
    take(store, FIRST._replace(version=3))
    take(store, NEWER)
    assert served(store) == one._replace(next=Build(3))
    assert store.read_models().served("other") == []
    assert store.read_models().look(TENANT, lambda look: look.served()) == [one._replace(next=Build(3))]


def test_a_swap_takes_place_once_it_is_as_far_and_by_who_works_on_it(store: FullStore) -> None:
    models = store.read_models()
    old = go_to(store, FIRST, take(store, FIRST), 7)
    models.plan(TENANT, BESIDE, now=NOW)
    new = go_to(store, BESIDE, take(store, BESIDE, "b"), 6)
    assert served(store) == Served(TENANT, "sample", Build(1), NOW, None, Build(1, 1))
    assert not models.serve(TENANT, BESIDE, fence=new.fence, now=LATER)
    new = go_to(store, BESIDE, new, 7)
    with pytest.raises(LeaseLost):
        models.serve(TENANT, BESIDE, fence=new.fence + 1, now=LATER)
    assert models.serve(TENANT, BESIDE, fence=new.fence, now=LATER)
    swapped = Served(TENANT, "sample", Build(1, 1), LATER, Build(1), None)
    assert served(store) == swapped
    # The same once more is no other, and who worked on the old one finds out.
    assert models.serve(TENANT, BESIDE, fence=new.fence, now=LATER + timedelta(1))
    assert served(store) == swapped
    with pytest.raises(LeaseLost):
        go_to(store, FIRST, old, 8)
    # Back again, also from behind.
    go_to(store, BESIDE, new, 9)
    assert not models.serve(TENANT, FIRST, now=LATER)
    assert models.serve(TENANT, FIRST, even_behind=True, now=LATER)
    assert served(store) == Served(TENANT, "sample", Build(1), LATER, Build(1, 1), None)


def test_a_swap_of_versions_leaves_the_lease_of_the_old_one(store: FullStore) -> None:
    old = go_to(store, FIRST, take(store, FIRST), 7)
    new = go_to(store, NEWER, take(store, NEWER), 7)
    assert store.read_models().serve(TENANT, NEWER, fence=new.fence, now=LATER)
    go_to(store, FIRST, old, 8)


def test_what_is_not_there_is_not_served(store: FullStore) -> None:
    take(store, FIRST)
    with pytest.raises(LeaseLost):
        store.read_models().serve(TENANT, BESIDE, even_behind=True)
    assert served(store) == Served(TENANT, "sample", Build(1), NOW)


def test_pages_and_swaps_that_race_never_lose_what_was_read(store: FullStore) -> None:
    models = store.read_models()
    old = go_to(store, FIRST, take(store, FIRST), 1)
    new = go_to(store, BESIDE, take(store, BESIDE, "b"), 3)
    models.plan(TENANT, BESIDE, now=NOW)

    def move() -> None:
        cursor = old
        with suppress(LeaseLost):
            for gid in (2, 3, 4):
                cursor = go_to(store, FIRST, cursor, gid)

    together(move, lambda: models.serve(TENANT, BESIDE, fence=new.fence, now=LATER))
    found = {one.build: one.reached.gid for one in models.cursors(TENANT)}
    one = served(store)
    assert one is not None
    assert found[one.build] == max(found.values())


@pytest.mark.parametrize("rows", [0, 5_000, 5_001])
def test_what_is_forgotten_is_served_no_more_and_what_is_next_is(store: FullStore, rows: int) -> None:
    models = store.read_models()
    old = go_to(store, FIRST, take(store, FIRST), 7, rows=rows)
    models.plan(TENANT, BESIDE, now=NOW)
    go_to(store, BESIDE, take(store, BESIDE), 7, rows=2)
    models.forget(TENANT, FIRST)
    one = served(store)
    assert one is not None
    assert (one.build, one.previous, one.next) == (Build(1, 1), None, None)
    assert models.page(TENANT, FIRST, "names") == []
    assert [cursor.build for cursor in models.cursors(TENANT)] == [Build(1, 1)]
    assert len(models.page(TENANT, BESIDE, "names")) == 2
    with pytest.raises(LeaseLost):
        go_to(store, FIRST, old, 8)
    models.forget(TENANT, BESIDE)
    assert served(store) is None
    models.forget(TENANT, BESIDE)


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_who_forgets_late_takes_nothing_from_who_has_begun_anew(
    store: FullStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite_read_models, postgres_builds):
        monkeypatch.setattr(module, "BATCH", 1)
    models: Any = store.read_models()
    go_to(store, FIRST, take(store, FIRST), 7, rows=3)
    place, name = (models._writer, "run") if hasattr(models, "_writer") else (models._side, "use")
    step, calls = getattr(place, name), list[int]()

    def stepped(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            # After its first row: another does all that is left, and somebody begins.
            store.read_models().forget(TENANT, FIRST)
            go_to(store, FIRST, take(store, FIRST, "b"), 9, rows=2)
        return step(*arguments, **options)

    monkeypatch.setattr(place, name, stepped)
    models.forget(TENANT, FIRST)
    assert len(calls) > 3
    assert len(models.page(TENANT, FIRST, "names")) == 2
    assert [(one.reached.gid, one.holder) for one in models.cursors(TENANT)] == [(9, "b")]
    assert served(store) is not None


def test_streams_that_are_aside_are_kept_with_the_page_and_go_with_the_build(store: FullStore) -> None:
    models = store.read_models()
    taken = take(store, FIRST)
    one, two = Parked("r-1", 4, 2, "E: ✗", 1), Parked("r-0", 5, 1, "E: x", 3)

    def store_page(parked: dict[str, Parked | None], fence: int = taken.fence) -> None:
        models.advance(TENANT, FIRST, Advance(fence, 0, Reached(), {}, 30, parked), now=NOW)

    store_page({"r-1": one, "r-0": two})
    assert models.parked(TENANT, FIRST) == [two, one]
    assert models.look(TENANT, lambda look: look.parked(FIRST)) == [two, one]
    assert models.parked("other", FIRST) == models.parked(TENANT, BESIDE) == []
    with pytest.raises(LeaseLost):
        store_page({"r-1": None}, taken.fence + 1)
    models.resume(TENANT, FIRST)
    # What somebody has said in between stands, until it was tried.
    store_page({"r-1": one._replace(events=2, again=True), "r-0": two})
    assert models.parked(TENANT, FIRST) == [two, one._replace(events=2, again=True)]
    store_page({"r-1": None, "r-0": two._replace(again=True)})
    assert models.parked(TENANT, FIRST) == [two]
    models.forget(TENANT, FIRST)
    assert models.parked(TENANT, FIRST) == []


def test_cursors_of_an_older_program_are_served_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    older = [step for step in migrations("sqlite") if step.version <= 3]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for step in older:
            for statement in statements(step.script, sqlite3.complete_statement):
                database.execute(statement)
            database.execute("INSERT INTO ledger_migrations VALUES (?, ?)", (step.version, step.name))
        for version in (1, 3):
            database.execute(
                "INSERT INTO projections (tenant, projection, version, shape, gid, run, position, hash, "
                "events, updated_at, fence) VALUES (?, 'sample', ?, ?, 7, 'run', 7, x'00', 4, ?, 2)",
                (TENANT, version, FIRST.shape, "2031-05-06T12:00:00.000000Z"),
            )
    with closing(SQLiteStore(path)) as store:
        are_served(store)


def test_so_they_are_on_postgresql(tmp_path: Path) -> None:
    url = address("postgres", tmp_path)
    make_older(url, migrations("postgres")[:4])
    for version in (1, 3):
        administer(
            url,
            "INSERT INTO {s}.projections (tenant, projection, version, shape, gid, run, position, hash, "
            f"events, updated_at, fence) VALUES ('{TENANT}', 'sample', {version}, '{FIRST.shape}', 7, 'run', "
            "7, '', 4, '2031-05-06T12:00:00Z', 2)",
        )
    PostgresStore(url).close()
    with closing(PostgresStore(url)) as store:
        are_served(store)


def are_served(store: FullStore) -> None:
    models = store.read_models()
    assert [(one.build, one.reached.events, one.fence) for one in models.cursors(TENANT)] == [
        (Build(1), 4, 2),
        (Build(3), 4, 2),
    ]
    assert models.served(TENANT) == [Served(TENANT, "sample", Build(3), NOW)]
    taken = take(store, FIRST)
    assert taken.fence == 3
    assert models.cursors(TENANT)[0].tables == ("names",)
