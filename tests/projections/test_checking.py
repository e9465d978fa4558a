"""Rows of read models that somebody has changed are found, and nothing else is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from ledger import Ledger
from ledger.application.ledger import edge_of
from ledger.errors import InvalidInput
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.read_models import Look
from ledger.stores.sqlite import SQLiteStore
from projections.base import Projection
from projections.built_in import BUILT_IN
from projections.checking import BAD, Checked, check
from projections.effects import Effects
from projections.errors import ProjectionStopped
from projections.obligations import Obligations
from projections.rebuilding import rebuild, serve_previous
from projections.runner import Progress, Runner
from projections.runs import Runs
from projections.standing import forget, resume_projection
from projections.timeline import Timeline
from tests.projections.conftest import OpenLedger
from tests.projections.samples import Counts, Fragile, Goals, catch_up, fill, raised
from tests.servers import cluster
from tests.stores.conftest import schema_of
from tests.stores.place import administer, database_for

ALL = list(BUILT_IN.values())
Meddle = Callable[..., None]


class Parking(Fragile):
    """Counts, which sets aside what it cannot handle."""

    on_poison = "park"


@pytest.fixture
def meddle(store: FullStore, tmp_path: Path) -> Meddle:
    """Return a function that changes tables past the store, as somebody with the database may."""

    def meddled(*statements: str) -> None:
        if isinstance(store, MemoryStore):
            pytest.fail("there is no SQL to meddle with")
        if isinstance(store, SQLiteStore):
            with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as database:
                for statement in statements:
                    assert database.execute(statement.replace("{s}", "main")).rowcount
        else:
            server = cluster.shared("postgres")
            url = f"{database_for(server, tmp_path)}?schema={schema_of(tmp_path)}"
            administer(url, *statements)

    return meddled


def live(ledger: Ledger) -> None:
    """Let there be rows in several tables."""
    for number in range(3):
        run = ledger.open_run(f"run-{number}", f"goal {number}", labels={"team": "a"})
        run.promise("mail", "Mail the customer", owed_to="customer:17")
        run.accept("limit", "Never more than 100 EUR", asserted_by="human:kim")
        run.perform("pay", {"order": number}, lambda **args: {"paid": True}, step="pay")
    ledger.run("run-2").discharge("mail", evidence="sent", by="human:kim")


def one(ledger: Ledger, projection: Projection, **options: Any) -> Checked:
    (found,) = check(ledger, [projection], **options)
    return found


@pytest.mark.parametrize("page", [2, 500])
def test_what_comes_from_the_records_is_found_so(ledger: Ledger, open_on: OpenLedger, page: int) -> None:
    live(open_on("another"))
    live(ledger)
    catch_up(open_on("another"), Timeline())
    catch_up(ledger, *ALL)
    told: list[Progress] = []
    found = check(ledger, ALL, page=page, progress=told.append)
    assert {one.state for one in found} == {"same"}
    assert [one.projection for one in found] == list(BUILT_IN)
    assert all(one.events == told[-1].events == told[-1].known for one in found)
    assert sum(one.rows for one in found) > 30


def test_what_was_never_built_or_is_not_that_far_is_no_difference(ledger: Ledger) -> None:
    live(ledger)
    assert one(ledger, Runs()).state == "new"
    stop = Event()
    Runner(ledger, [Runs()], page=4).run(stop=stop, progress=lambda now: stop.set())
    found = one(ledger, Runs())
    assert (found.state, found.events) == ("same", 4)
    forget(ledger, Runs())
    assert one(ledger, Runs()).state == "new"


INTENT = "{s}.projection_effects_v2_intents"
MEDDLING = {
    "deleted": (f"DELETE FROM {INTENT}", "missing", ()),
    "changed": (f"UPDATE {INTENT} SET tool = 'mail'", "differs", ("tool",)),
    "emptied": (f"UPDATE {INTENT} SET step = NULL", "differs", ("step",)),
    "moved in time": (f"UPDATE {INTENT} SET gid = 1", "differs", ("gid",)),
    "moved away": (f"UPDATE {INTENT} SET tenant = 'x'", "missing", ()),
}


@pytest.mark.parametrize("how", MEDDLING)
@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_a_row_that_was_meddled_with_is_named(ledger: Ledger, meddle: Meddle, how: str) -> None:
    statement, kind, columns = MEDDLING[how]
    live(ledger)
    catch_up(ledger, Effects(), Timeline())
    meddle(f"{statement} WHERE run = 'run-1'")
    effects, timeline = check(ledger, [Effects(), Timeline()])
    assert (effects.state, timeline.state) == ("differs", "same")
    (found,) = effects.first
    assert (found.table, found.kind, tuple(found.cells)) == ("intents", kind, columns)
    assert found.key == {"run": "run-1", "position": 4}
    assert effects.counts == {"differs": 0, "missing": 0, "unfounded": 0, kind: 1}
    rebuild(ledger, [Effects()])
    assert one(ledger, Effects()).state == "same"


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_a_row_without_a_record_and_a_changed_run_are_named(ledger: Ledger, meddle: Meddle) -> None:
    live(ledger)
    catch_up(ledger, Obligations(), Runs())
    table = f"{{s}}.projection_runs_v{Runs.version}"
    meddle(
        "UPDATE {s}.projection_obligations_v1_obligations SET run = 'run-9' WHERE run = 'run-0'",
        f"UPDATE {table}_runs SET status = 'closed' WHERE run = 'run-1'",
        f"DELETE FROM {table}_obligations WHERE run = 'run-0'",
        f"UPDATE {table}_constraints SET id = 'none' WHERE run = 'run-2'",
    )
    owed, runs = check(ledger, [Obligations(), Runs()])
    assert [(one.kind, one.key["run"]) for one in owed.first] == [
        ("missing", "run-0"),
        ("unfounded", "run-9"),
    ]
    assert {(one.table, one.kind, one.key["run"]) for one in runs.first} == {
        ("runs", "differs", "run-1"),
        ("obligations", "missing", "run-0"),
        ("constraints", "missing", "run-2"),
        ("constraints", "unfounded", "run-2"),
    }
    (status,) = (one.cells for one in runs.first if one.table == "runs")
    assert status == {"status": ("closed", "open")}


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_tables_that_are_gone_or_a_place_that_is_wrong_is_told(ledger: Ledger, meddle: Meddle) -> None:
    live(ledger)
    catch_up(ledger, Effects(), Timeline(), Obligations())
    meddle("UPDATE {s}.projections SET gid = 5, seen = 5, seen_hash = NULL WHERE projection = 'obligations'")
    meddle("ALTER TABLE {s}.projection_effects_v2_refusals RENAME TO away")
    found = check(ledger, [Effects(), Timeline(), Obligations()])
    assert [one.state for one in found] == ["tables", "same", "ahead"]
    assert found[0].why == "its tables are gone: refusals"
    assert all(one.state in BAD for one in found[::2])


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_cells_of_another_type_are_found_where_the_database_takes_them(
    ledger: Ledger, meddle: Meddle
) -> None:
    live(ledger)
    catch_up(ledger, Timeline())
    events = "UPDATE projection_timeline_v1_events SET"
    meddle(
        f"{events} position = 'x' WHERE run = 'run-0' AND position = 1",
        f"{events} name = CAST(name AS BLOB) WHERE run = 'run-1' AND position = 2",
        f"{events} position = 2.5 WHERE run = 'run-2' AND position = 2",
    )
    found = one(ledger, Timeline(), page=2)
    assert [(one.kind, one.key["run"], one.key["position"]) for one in found.first] == [
        ("missing", "run-0", 1),
        ("unfounded", "run-0", "x"),
        ("differs", "run-1", 2),
        ("missing", "run-2", 2),
        ("unfounded", "run-2", 2.5),
    ]


def test_on_the_store_that_forgets_it_is_the_same(clock: Any, open_on: OpenLedger) -> None:
    store = MemoryStore()
    ledger = open_on(store=store)
    live(ledger)
    catch_up(ledger, Effects())
    rows = store.read_models()._rows["default", "projection_effects_v2_intents"]
    key, *_ = rows
    rows[*key[:1], 99] = (*key[:1], 99, *rows.pop(key)[2:])
    assert [one.kind for one in one(ledger, Effects()).first] == ["missing", "unfounded"]


def test_only_the_first_hundred_are_named(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(ledger, runs=12, events=10)
    catch_up(ledger, Goals(), Counts())

    class Other(Counts):
        """The same tables, and other rows."""

        def handle(self, record: Any, rows: Any) -> None:
            rows.put("said", {"run": record.run, "position": record.position, "name": "x"}, record)

    found = one(ledger, Other())
    assert found.counts == {"differs": 120, "missing": 0, "unfounded": 12}
    assert (len(found.first), found.first[0].cells) == (100, {"name": ("run.opened", "x")})
    assert one(ledger, Goals()).state == "same"


def test_what_was_set_aside_is_not_missed(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Parking(("run-1", 3))
    catch_up(ledger, fragile)
    mended = Parking()
    found = one(ledger, mended, page=2)
    assert (found.state, [stream.position for stream in found.parked]) == ("same", [3])
    # It is set aside at a later record.
    fragile.poison = {("run-1", 5)}
    resume_projection(ledger, fragile)
    catch_up(ledger, fragile)
    found = one(ledger, mended)
    assert (found.state, [stream.position for stream in found.parked]) == ("same", [5])
    resume_projection(ledger, mended)
    catch_up(ledger, mended)
    assert (one(ledger, mended).state, one(ledger, mended).parked) == ("same", ())


@pytest.mark.parametrize("look", [2, 3])
@pytest.mark.parametrize("projection", [Parking(), Goals(), Runs()], ids=lambda one: str(one.name))
def test_whatever_happens_before_it_is_compared_is_taken_along(
    ledger: Ledger, projection: Projection, look: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before they are compared others go on, take up what was aside, or go back to another build."""
    fill(ledger)
    if isinstance(projection, Parking):
        projection.poison = {("run-1", 3), ("run-2", 2)}
    catch_up(ledger, projection)
    rebuild(ledger, [projection])
    fill_more(ledger)

    def caught_up() -> None:
        if isinstance(projection, Parking):
            projection.poison = {("run-1", 4), ("run-0", 6)}
            resume_projection(ledger, projection)
        catch_up(ledger, projection)

    steps = [
        lambda: None,
        caught_up,
        lambda: serve_previous(ledger, projection),
        lambda: catch_up(ledger, projection),
        lambda: forget(ledger, projection),
    ]
    states = []
    for step in steps:
        found = _between(ledger, projection, step, look, monkeypatch)
        assert not any(found.counts.values()), found
        states.append(found.state)
    assert states == ["same", "same", "same", "same", "new"]


def fill_more(ledger: Ledger) -> None:
    for number in range(3):
        ledger.run(f"run-{number}").revise_goal("later", reason="it changed", by="human:kim")


def _between(
    ledger: Ledger,
    projection: Projection,
    step: Callable[[], object],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> Checked:
    """Check a projection, and do something when its rows were made and are not compared yet."""
    models = ledger.store.read_models()
    kind, looks = type(models), list[str]()
    look = kind.look

    def looked(self: Any, tenant: str, read: Callable[[Look], Any]) -> Any:
        looks.append(tenant)
        if len(looks) == number:
            step()
        return look(self, tenant, read)

    mended = Parking() if isinstance(projection, Parking) else projection
    with monkeypatch.context() as patched:
        patched.setattr(kind, "look", looked)
        (found,) = check(ledger, [mended], page=2)
    assert len(looks) >= number
    return found


def test_it_raises_no_false_alarm_beside_a_runner_and_writers(ledger: Ledger, open_on: OpenLedger) -> None:
    live(ledger)
    other, stop = open_on(), Event()
    catch_up(ledger, *ALL)

    def write() -> None:
        for number in range(1200):  # more than it has time for
            if stop.is_set():
                return
            run = other.open_run(f"more-{number}", "goal")
            run.promise("mail", "Mail", owed_to="customer:17")
            run.discharge("mail", evidence="sent", by="human:kim")

    writer = Thread(target=write)
    with Runner(open_on(), ALL, page=7).in_background():
        writer.start()
        try:
            places = set()
            for _ in range(3):
                found = check(ledger, ALL)
                assert {one.state for one in found} == {"same"}, found
                places |= {one.position for one in found}
        finally:
            stop.set()
            writer.join()
    assert len(places) > 1


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
def test_a_record_that_was_altered_since_is_told_and_the_others_are_compared(
    ledger: Ledger, meddle: Meddle
) -> None:
    live(ledger)
    catch_up(ledger, *ALL)
    if isinstance(ledger.store, SQLiteStore):
        meddle("DROP TRIGGER events_refuse_update")
        change = "substr(record, 1, 40) || CAST('x' AS BLOB) || substr(record, 42)"
        meddle(
            f"UPDATE {{s}}.events SET record = CAST({change} AS BLOB) WHERE run = 'run-1' AND position = 4"
        )
    else:
        meddle(
            "ALTER TABLE {s}.events DISABLE TRIGGER USER",
            "UPDATE {s}.events SET record = overlay(record placing 'x'::bytea from 41) "
            "WHERE run = 'run-1' AND position = 4",
        )
    states = {one.projection: one.state for one in check(ledger, ALL)}
    assert set(states.values()) == {"unreadable"}


def test_numbers_out_of_range_are_refused(ledger: Ledger) -> None:
    for options in ({"page": 0}, {"page_bytes": 0}):
        assert isinstance(raised(lambda given=options: check(ledger, [], **given)), InvalidInput)  # type: ignore[misc]


def test_it_takes_no_lease_and_changes_nothing(ledger: Ledger) -> None:
    live(ledger)
    catch_up(ledger, Runs())
    models, tenant = ledger.store.read_models(), edge_of(ledger).tenant
    before = models.cursors(tenant), models.served(tenant)
    check(ledger, ALL)
    assert (models.cursors(tenant), models.served(tenant)) == before
    assert raised(lambda: catch_up(ledger, Fragile(("run-1", 2)))).__class__ is ProjectionStopped
    assert one(ledger, Fragile()).state == "same"
