"""A record that cannot be handled stops its projection, there, and nothing else."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.record import digest
from ledger.stores.read_models import Row
from projections.base import Column, Projection, Table
from projections.errors import ProjectionStopped
from projections.runner import Runner
from projections.standing import resume_projection, status
from tests.projections.conftest import OpenLedger
from tests.projections.samples import Counts, Fragile, Goals, Place, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown, until

POISON: Place = ("run-1", 3)


def places(ledger: Ledger) -> list[Place]:
    shown(ledger.store)
    return [(record.run, record.position) for record in ledger.follow()]


def said(ledger: Ledger, projection: Projection) -> list[Row]:
    return kept(ledger, projection)["said"]


def stopped(ledger: Ledger, *projections: Projection, page: int = 500) -> ProjectionStopped:
    with pytest.raises(ProjectionStopped) as raised:
        catch_up(ledger, *projections, page=page)
    return raised.value


@pytest.mark.parametrize("page", [1, 2, 3, 5, 8, 500])
@pytest.mark.parametrize("how", ["poison", "broken", "at_end"])
def test_rows_are_kept_up_to_the_record_before_it(ledger: Ledger, page: int, how: str) -> None:
    fill(ledger)
    fragile = Fragile(POISON) if how == "poison" else Fragile(**{how: [POISON]})
    error = stopped(ledger, fragile, page=page)
    before = places(ledger).index(POISON)
    upto = list(ledger.follow())[before].global_position or 0
    assert (error.run, error.position, error.gid) == (*POISON, upto)
    assert kept(ledger, fragile) == naive(ledger, Counts(), upto - 1)
    one = standing(ledger, fragile)
    assert (one.state, one.events, one.lag_events, one.holder) == ("stopped", before, 15 - before, None)
    assert one.stopped is not None
    assert one.stopped[:3] == (upto, *POISON)
    # After the fix it goes on there, without loss or repetition.
    mended = Fragile()
    catch_up(ledger, mended, page=page)
    assert mended.handled == places(ledger)[before:]
    assert kept(ledger, mended) == naive(ledger, Counts())
    assert standing(ledger, mended).state == "active"


def test_the_error_is_named_in_text_that_every_database_keeps(ledger: Ledger) -> None:
    ledger.open_run("run", "goal")
    error = stopped(ledger, Fragile(("run", 1)))
    assert error.error == "ValueError: cannot read ('run', 1)\\0 \\udcff"
    assert standing(ledger, Fragile()).stopped == (error.gid, "run", 1, error.error)


def test_the_first_record_of_all_can_be_the_one(ledger: Ledger) -> None:
    fill(ledger)
    stopped(ledger, Fragile(("run-0", 1)))
    one = standing(ledger, Fragile())
    assert (one.state, one.position, one.events, said(ledger, Fragile())) == ("stopped", 0, 0, [])
    catch_up(ledger, Fragile())
    assert kept(ledger, Fragile()) == naive(ledger, Counts())


def test_two_poisons_stop_it_one_after_the_other(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Fragile(POISON, ("run-2", 5))
    assert stopped(ledger, fragile, page=4).position == 3
    fragile.poison.remove(POISON)
    assert stopped(ledger, fragile, page=4).position == 5
    fragile.poison.clear()
    catch_up(ledger, fragile, page=4)
    assert kept(ledger, fragile) == naive(ledger, Counts())


def test_the_others_go_on_and_so_does_a_follower(ledger: Ledger) -> None:
    fill(ledger)
    fragile, goals = Fragile(POISON), Goals()
    with Runner(ledger, [fragile, goals, Counts()]).in_background():
        until(lambda: standing(ledger, fragile).state == "stopped")
        ledger.run("run-0").revise_goal("later", reason="it changed", by="human:kim")
        until(lambda: kept(ledger, goals) == naive(ledger, goals))
        until(lambda: kept(ledger, Counts()) == naive(ledger, Counts()))
        # The runner does not try it again by itself …
        tried = fragile.handled.count(POISON)
        assert standing(ledger, fragile).state == "stopped"
        # … and does when somebody says so, however often.
        resume_projection(ledger, fragile)
        until(lambda: fragile.handled.count(POISON) > tried and standing(ledger, fragile).state == "stopped")
        fragile.poison.clear()
        resume_projection(ledger, fragile)
        until(lambda: kept(ledger, fragile) == naive(ledger, Counts()))


def test_a_runner_ends_with_what_it_could_do_and_names_who_stopped(ledger: Ledger) -> None:
    fill(ledger)
    error = stopped(ledger, Fragile(POISON), Goals())
    assert (error.projection, error.code) == ("fragile", "projection_stopped")
    assert kept(ledger, Goals()) == naive(ledger, Goals())
    assert {one.projection: one.state for one in status(ledger)} == {"fragile": "stopped", "goals": "active"}


def test_it_stops_for_one_tenant_alone(open_on: OpenLedger) -> None:
    mine, other = open_on("mine"), open_on("other")
    fill(mine)
    fill(other)
    stopped(mine, Fragile(POISON))
    catch_up(other, Fragile())
    assert standing(other, Fragile()).state == "active"
    assert standing(mine, Fragile()).state == "stopped"
    resume_projection(other, Fragile())
    assert standing(mine, Fragile()).state == "stopped"


def test_one_that_is_told_to_end_leaves_it_stopped(ledger: Ledger) -> None:
    ledger.open_run("run", "goal")
    stopped(ledger, Fragile(("run", 1)))
    stop = Event()
    stop.set()
    Runner(ledger, [Fragile()]).run(stop=stop)
    assert standing(ledger, Fragile()).state == "stopped"


# --- records that cannot be read -----------------------------------------------------------------------


def altered(path: Path, *, rename: bool) -> None:
    """Change a record past the ledger: into an event of a newer program, or into other bytes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER events_refuse_update")
        gid, record = database.execute(
            "SELECT gid, record FROM events WHERE run = 'r' AND position = 2"
        ).fetchone()
        fields = json.loads(record)
        if rename:
            fields["name"] = "run.sang"
            record = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
            database.execute(
                "UPDATE events SET record = ?, hash = ? WHERE gid = ?", (record, digest(record), gid)
            )
        else:
            database.execute("UPDATE events SET record = ? WHERE gid = ?", (record[:-2] + b"9}", gid))


def lived(path: Path) -> None:
    with open_ledger(path, actor=Actor("service:tests")) as ledger:
        run = ledger.open_run("r", "goal")
        run.record_message("m", "user", "hello")
        ledger.open_run("s", "goal")


def test_an_event_of_a_newer_program_stops_those_that_may_want_it(tmp_path: Path) -> None:
    lived(tmp_path / "l.db")
    altered(tmp_path / "l.db", rename=True)
    with open_ledger(tmp_path / "l.db") as ledger:
        error = stopped(ledger, Counts())
        assert (error.run, error.position) == ("r", 2)
        assert "UnknownEventName" in error.error
        # Who has said which events it wants does not want this one.
        catch_up(ledger, Goals())
        assert [row[0] for row in kept(ledger, Goals())["goals"]] == ["r", "s"]


@pytest.mark.parametrize("projection", [Goals(), Counts()])
def test_a_record_that_was_altered_stops_them_all(tmp_path: Path, projection: Projection) -> None:
    lived(tmp_path / "l.db")
    altered(tmp_path / "l.db", rename=False)
    with open_ledger(tmp_path / "l.db") as ledger:
        assert "ChainBroken" in stopped(ledger, projection).error


def test_a_defect_of_a_handler_is_no_defect_of_the_runner(ledger: Ledger) -> None:
    class Wrong(Counts):
        name = "wrong"
        tables = (Table("said", (Column("run"),), key=("run",)),)

    ledger.open_run("run", "goal")
    assert "InvalidInput" in stopped(ledger, Wrong()).error
