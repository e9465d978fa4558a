"""What every store keeps for projections: tables, and cursors that move with what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ledger.errors import InvalidInput, LeaseLost, StoreUnavailable
from ledger.stores.base import FullStore
from ledger.stores.read_model_checks import check_model
from ledger.stores.read_models import (
    Advance,
    Behind,
    Changes,
    Column,
    Cursor,
    Key,
    Mark,
    Model,
    Reached,
    Row,
    Stop,
    Table,
)
from tests.stores.builder import TENANT, one, part, together
from tests.stores.made import make

NOW = datetime(2031, 5, 6, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=31)
NAMES = Table(
    "names",
    (Column("run"), Column("number", "integer"), Column("text", optional=True), Column("raw", "bytes")),
    key=("run", "number"),
    indexes=(("text",),),
)
OTHERS = Table("others", (Column("id"),), key=("id",))
MODEL = Model("sample", 1, (NAMES, OTHERS))
MARK = Mark(7, "run-1", 3, b"h" * 32)


def take(store: FullStore, holder: str = "a", now: datetime = NOW, model: Model = MODEL) -> Cursor:
    taken = store.read_models().take(TENANT, model, holder=holder, seconds=30, now=now)
    assert taken is not None
    return taken


def advance(
    store: FullStore,
    taken: Cursor,
    changes: Changes,
    reached: Reached | None = None,
    *,
    tenant: str = TENANT,
    now: datetime = NOW,
) -> None:
    page = Advance(taken.fence, taken.reached.gid, reached or taken.reached, changes, 30)
    store.read_models().advance(tenant, MODEL, page, now=now)


def rows(*found: Row) -> dict[Key, Row]:
    return {row[:2]: row for row in found}


def names(store: FullStore, tenant: str = TENANT) -> list[Row]:
    return store.read_models().page(tenant, MODEL, "names")


def begun(store: FullStore) -> Cursor:
    make(store, MODEL)
    return take(store)


def test_tables_are_made_once_and_have_the_columns_that_were_declared(store: FullStore) -> None:
    models = store.read_models()
    assert models.columns(MODEL) == {}
    together(*[lambda: make(store, MODEL)] * 4)
    assert models.columns(MODEL) == {
        "names": ("tenant", "run", "number", "text", "raw", "gid"),
        "others": ("tenant", "id", "gid"),
    }
    make(store, MODEL)
    assert models.columns(MODEL._replace(version=2)) == {}


def test_rows_are_put_replaced_and_deleted_and_come_by_key(store: FullStore) -> None:
    taken = begun(store)
    first, second = ("a", 1, None, b"\0"), ("a", 2, "ä\u2028", b"")
    advance(store, taken, {"names": rows((*first, 5), (*second, 6)), "others": {("x",): ("x", 5)}})
    assert names(store) == [(*first, 5), (*second, 6)]
    advance(store, taken, {"names": {**rows(("a", 2, "b", b"z", 9), ("B", -3, "", b"", 8)), ("a", 1): None}})
    assert names(store) == [("B", -3, "", b"", 8), ("a", 2, "b", b"z", 9)]
    models = store.read_models()
    wanted: list[Key] = [("a", 1), ("a", 2), ("B", -3), ("c", 0)]
    assert models.rows(TENANT, MODEL, "names", wanted) == {
        ("a", 2): ("a", 2, "b", b"z", 9),
        ("B", -3): ("B", -3, "", b"", 8),
    }
    assert models.rows(TENANT, MODEL, "names", []) == {}
    assert models.page(TENANT, MODEL, "others") == [("x", 5)]
    # What is not there need not be deleted.
    advance(store, taken, {"names": {("none", 1): None}})
    assert len(names(store)) == 2


@pytest.mark.parametrize(
    "numbers", [(1, 2**62), (2**62, 1), (-(2**63) + 1, 2**63 - 1), (40_000, 3_000_000_000)]
)
def test_numbers_of_any_size_stand_side_by_side(store: FullStore, numbers: tuple[int, int]) -> None:
    taken = begun(store)
    first, second = numbers
    all_rows = [("a", first, None, b"", second), ("b", second, None, b"", first)]
    for row in all_rows:
        advance(store, taken, {"names": rows(row)})
    assert names(store) == all_rows
    assert len(store.read_models().rows(TENANT, MODEL, "names", [("a", first), ("b", second)])) == 2
    advance(store, taken, {"names": {("a", first): None}})
    assert names(store) == all_rows[1:]


def test_a_page_of_rows_goes_on_behind_a_key(store: FullStore) -> None:
    taken = begun(store)
    runs = ("A", "a", "e\u0301", "\u00e9")
    all_rows = [(run, number, None, b"", 1) for run in runs for number in (-1, 2**40)]
    advance(store, taken, {"names": rows(*all_rows)})
    found: list[Row] = []
    after: Key | None = None
    while page := store.read_models().page(TENANT, MODEL, "names", after=after, limit=1):
        found += page
        after = page[-1][:2]
    assert found == all_rows


def test_rows_of_another_tenant_are_never_read_changed_or_deleted(store: FullStore) -> None:
    make(store, MODEL)
    taken = {
        tenant: store.read_models().take(tenant, MODEL, holder="a", seconds=30, now=NOW)
        for tenant in (TENANT, TENANT.upper(), "other")
    }
    for tenant, cursor in taken.items():
        assert cursor is not None
        advance(store, cursor, {"names": rows(("run", 1, tenant, b"", 1))}, tenant=tenant)
    assert {tenant: [row[2] for row in names(store, tenant)] for tenant in taken} == {
        tenant: [tenant] for tenant in taken
    }
    mine = taken[TENANT]
    assert mine is not None
    advance(store, mine, {"names": {("run", 1): None}})
    store.read_models().forget("other", MODEL)
    assert [len(names(store, tenant)) for tenant in taken] == [0, 1, 0]
    assert [bool(store.read_models().cursors(tenant)) for tenant in taken] == [True, True, False]


def test_a_cursor_comes_back_as_it_was_stored(store: FullStore) -> None:
    taken = begun(store)
    end = NOW + timedelta(0, 30)
    assert taken == Cursor(
        TENANT, "sample", 1, MODEL.shape, Reached(), NOW, "a", end, 1, 0, ("names", "others")
    )
    stop = Stop(9, "run-2", 4, "ValueError: ✗ 'x'")
    reached = Reached(MARK, 2**50, b"s" * 32, 12, NOW - timedelta(microseconds=1), True, stop)
    advance(store, taken, {}, reached, now=NOW + timedelta(0, 5))
    found = store.read_models().cursors(TENANT)
    assert found == [
        taken._replace(reached=reached, updated_at=NOW + timedelta(0, 5), until=NOW + timedelta(0, 35))
    ]
    assert (found[0].reached.gid, found[0].reached.position) == (7, 2**50)
    store.read_models().resume(TENANT, MODEL)
    assert store.read_models().cursors(TENANT)[0].reached == reached._replace(stop=None)


def test_one_holds_a_projection_until_it_lets_go_or_its_lease_ends(store: FullStore) -> None:
    first = begun(store)
    models = store.read_models()

    def tried(holder: str, now: datetime) -> Cursor | None:
        return models.take(TENANT, MODEL, holder=holder, seconds=30, now=now)

    assert tried("b", NOW + timedelta(seconds=29, microseconds=999_999)) is None
    # Who holds it may begin again, as after an error.
    again = tried("a", NOW)
    assert again is not None
    assert again.fence == first.fence + 1
    second = tried("b", NOW + timedelta(seconds=30))
    assert second is not None
    assert (second.holder, second.fence) == ("b", first.fence + 2)
    # What the first lets go it does not hold any more.
    models.release(TENANT, MODEL, again.fence)
    assert tried("c", NOW + timedelta(seconds=31)) is None
    models.release(TENANT, MODEL, second.fence)
    third = tried("c", NOW + timedelta(seconds=31))
    assert third is not None
    # The number goes on, also where nobody held it in between.
    assert third.fence == first.fence + 3


def test_a_page_prolongs_the_lease(store: FullStore) -> None:
    taken = begun(store)
    advance(store, taken, {}, now=NOW + timedelta(seconds=20))
    models = store.read_models()
    assert models.take(TENANT, MODEL, holder="b", seconds=30, now=NOW + timedelta(seconds=49)) is None
    assert models.take(TENANT, MODEL, holder="b", seconds=30, now=NOW + timedelta(seconds=50)) is not None


def test_without_a_clock_of_the_caller_the_one_of_the_store_counts(store: FullStore) -> None:
    models = store.read_models()
    make(store, MODEL)
    assert models.take(TENANT, MODEL, holder="a", seconds=3600) is not None
    assert models.take(TENANT, MODEL, holder="b", seconds=3600) is None
    cursor = models.cursors(TENANT)[0]
    assert cursor.until is not None
    # Of one moment where the store reads its clock once, of two that follow one another elsewhere.
    assert cursor.until - cursor.updated_at >= timedelta(hours=1)


def test_nothing_is_stored_of_a_page_that_comes_after_a_take_over(store: FullStore) -> None:
    old = begun(store)
    advance(store, old, {"names": rows(("a", 1, "old", b"", 1))})
    new = take(store, "b", LATER)
    with pytest.raises(LeaseLost):
        advance(store, old, {"names": rows(("a", 1, "late", b"", 2), ("a", 2, "late", b"", 2))})
    assert names(store) == [("a", 1, "old", b"", 1)]
    assert store.read_models().cursors(TENANT)[0].holder == "b"
    advance(store, new, {"names": rows(("a", 1, "new", b"", 3))}, Reached(MARK), now=LATER)
    # Nor of one that was computed from another place.
    with pytest.raises(LeaseLost):
        advance(store, new, {"names": {("a", 1): None}}, now=LATER)
    store.read_models().forget(TENANT, MODEL)
    with pytest.raises(LeaseLost):
        advance(store, new._replace(reached=Reached(MARK)), {"names": rows(("a", 1, "late", b"", 4))})
    assert names(store) == []


def test_of_many_who_take_at_once_one_does(store: FullStore) -> None:
    make(store, MODEL)

    def tried(holder: str) -> Callable[[], Cursor | None]:
        return lambda: store.read_models().take(TENANT, MODEL, holder=holder, seconds=3600)

    found = together(*map(tried, "abcdefgh"))
    assert len([one for one in found if one is not None]) == 1


def test_rows_and_cursor_are_stored_together_or_not_at_all(store: FullStore) -> None:
    taken = begun(store)
    missing: Row = ("b", 2, "x", None, 1)
    with pytest.raises(InvalidInput):
        advance(store, taken, {"others": {("o",): ("o", 1)}, "names": rows(missing)}, Reached(MARK))
    assert store.read_models().page(TENANT, MODEL, "others") == []
    assert store.read_models().cursors(TENANT)[0].reached == Reached()
    advance(store, taken, {"others": {("o",): ("o", 1)}}, Reached(MARK))
    assert store.read_models().cursors(TENANT)[0].reached == Reached(MARK)


def test_what_is_behind_is_counted_for_one_tenant(store: FullStore) -> None:
    models = store.read_models()
    assert models.behind(TENANT, 0) == Behind(0, None)
    mine = part("run", "a", "b")
    gids = store.append(one(mine)).gids
    other = part("run", "a", tenant="other")
    store.append(one(other, tenant="other"))
    last = store.append(one(part("run", "c", after=mine))).gids[0]
    assert models.behind(TENANT, 0) == Behind(3, mine.rows[0].record)
    assert models.behind(TENANT, gids[0]) == Behind(2, mine.rows[1].record)
    assert models.behind(TENANT, last) == Behind(0, None)
    assert models.behind("other", last) == Behind(0, None)
    assert models.behind("other", 0).events == 1


def test_a_closed_store_says_so(store: FullStore) -> None:
    models = store.read_models()
    taken = begun(store)
    store.close()
    for call in (
        lambda: models.cursors(TENANT),
        lambda: models.columns(MODEL),
        lambda: models.create(MODEL._replace(version=2)),
        lambda: models.take(TENANT, MODEL, holder="a", seconds=1),
        lambda: advance(store, taken, {}),
        lambda: models.release(TENANT, MODEL, 1),
        lambda: models.behind(TENANT, 0),
    ):
        with pytest.raises(StoreUnavailable) as closed:
            call()
        assert closed.value.data["reason"] == "closed"


def test_what_was_stored_is_there_when_the_store_is_opened_again(opened: Callable[[], FullStore]) -> None:
    first = opened()
    taken = begun(first)
    advance(first, taken, {"names": rows(("a", 1, "x", b"y", 3))}, Reached(MARK, seen=9, events=1))
    first.close()
    second = opened()
    assert names(second) == [("a", 1, "x", b"y", 3)]
    cursor = second.read_models().cursors(TENANT)[0]
    assert (cursor.reached, cursor.holder) == (Reached(MARK, seen=9, events=1), "a")


@pytest.mark.parametrize(
    "model",
    [
        Model("Sample", 1, (OTHERS,)),
        Model("a" * 21, 1, (OTHERS,)),
        Model('x" (a)', 1, (OTHERS,)),
        Model("sample", 0, (OTHERS,)),
        Model("sample", 100_000, (OTHERS,)),
        Model("sample", 1, ()),
        Model("sample", 1, (OTHERS, OTHERS)),
        Model("sample", 1, (OTHERS._replace(name="o;drop"),)),
        Model("sample", 1, (OTHERS._replace(name="o" * 17),)),
        Model("sample", 1, (OTHERS._replace(columns=(Column("id"), Column("id"))),)),
        Model("sample", 1, (OTHERS._replace(columns=(Column("id"), Column("gid"))),)),
        Model("sample", 1, (OTHERS._replace(columns=(Column("id"), Column("tenant"))),)),
        Model("sample", 1, (OTHERS._replace(columns=(Column("id"), Column('"'))),)),
        Model("sample", 1, (OTHERS._replace(key=()),)),
        Model("sample", 1, (OTHERS._replace(key=("none",)),)),
        Model("sample", 1, (OTHERS._replace(key=("id", "id")),)),
        Model("sample", 1, (OTHERS._replace(columns=(Column("id", optional=True),)),)),
        Model("sample", 1, (OTHERS._replace(indexes=(("none",),)),)),
    ],
)
def test_a_declaration_that_makes_no_tables_is_refused(model: Model) -> None:
    with pytest.raises(InvalidInput):
        check_model(model)


def test_the_longest_names_and_words_of_sql_make_tables(store: FullStore) -> None:
    words = ("select", "order", "user", "group", "primary", "values")
    columns = (*(Column(word) for word in words), Column("c" * 40))
    table = Table("t" * 16, columns, key=words, indexes=tuple((word,) for word in words))
    twin = table._replace(name="t" * 15 + "u")
    model = Model("p" * 20, 99_999, (table, twin))
    check_model(model)
    models = store.read_models()
    make(store, model)
    taken = take(store, model=model)
    key: Key = tuple("123456")
    row: Row = (*key, "x", 1)
    page = Advance(taken.fence, 0, Reached(), {table.name: {key: row}}, 30)
    models.advance(TENANT, model, page, now=NOW)
    assert models.rows(TENANT, model, table.name, [key]) == {key: row}
    assert models.page(TENANT, model, twin.name) == []
