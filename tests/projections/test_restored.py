"""A cursor that stands at a record which is not there, and tables that are not what they were."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.stores.read_models import Column
from projections.asking import ask
from projections.errors import ProjectionAhead, ProjectionChanged
from projections.rebuilding import drop, rebuild, serve_previous
from projections.runner import Progress, Runner
from projections.standing import forget, status, wait_for
from projections.timeline import Timeline
from tests.projections.samples import Counts, Goals, catch_up, fill, kept, naive, standing
from tests.stores.place import address, administer

SAY = "make it anew: intent-ledger project rebuild counts"


def opened(path: Path | str, tenant: str = "default") -> Ledger:
    return open_ledger(path, tenant=tenant, actor=Actor("service:tests"))


def graft(source: Path, target: Path) -> None:
    """Put what a ledger keeps for projections into another file: its log was restored, they were not."""
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.execute("ATTACH ? AS source", (str(source),))
        query = (
            "SELECT name, sql FROM source.sqlite_master WHERE type = 'table' "
            "AND (name LIKE 'projection%' OR name IN ('served', 'parked'))"
        )
        for name, sql in database.execute(query).fetchall():
            if name.startswith("projection_"):
                database.execute(sql)
            database.execute(f'INSERT INTO main."{name}" SELECT * FROM source."{name}"')


@pytest.fixture
def restored(tmp_path: Path) -> Callable[[int], Path]:
    """Return a function that restores the log to fewer records than a projection has handled."""

    def restore(more: int) -> Path:
        live, copy = tmp_path / "live.db", tmp_path / f"copy-{more}.db"
        with opened(live) as ledger:
            fill(ledger, runs=2, events=3)
        shutil.copy(live, copy)
        with opened(live) as ledger:
            for number in range(more):
                ledger.open_run(f"lost-{number}", "goal")
            catch_up(ledger, Counts())
        graft(live, copy)
        return copy

    return restore


@pytest.mark.parametrize("appended", [0, 2, 3, 9])
def test_a_log_that_ends_before_its_cursor_is_told_and_not_passed_over(
    restored: Callable[[int], Path], appended: int
) -> None:
    with opened(restored(3)) as ledger:
        for number in range(appended):
            # Other records take the places of those that are lost, and more.
            ledger.open_run(f"found-{number}", "goal")
        before = kept(ledger, Counts())
        with pytest.raises(ProjectionAhead) as ahead:
            catch_up(ledger, Counts(), Goals())
        assert (ahead.value.run, ahead.value.position) == ("lost-2", 1)
        assert SAY in str(ahead.value)
        assert kept(ledger, Counts()) == before
        one = standing(ledger, Counts())
        assert (one.state, one.holder) == ("ahead", None)
        with pytest.raises(ProjectionAhead):
            wait_for(ledger, Counts(), timeout=60)
        # The others go on.
        assert kept(ledger, Goals()) == naive(ledger, Goals())
        # And what it says to do helps.
        forget(ledger, Counts())
        catch_up(ledger, Counts())
        assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_a_record_of_the_same_place_that_is_another_is_told(restored: Callable[[int], Path]) -> None:
    with opened(restored(1)) as ledger:
        ledger.open_run("lost-0", "another goal")
        with pytest.raises(ProjectionAhead):
            catch_up(ledger, Counts())


def test_a_runner_with_nothing_else_to_do_ends_at_once(restored: Callable[[int], Path]) -> None:
    with opened(restored(1)) as ledger, pytest.raises(ProjectionAhead):
        Runner(ledger, [Counts()]).run()


def test_a_log_that_was_restored_with_its_cursor_goes_on(tmp_path: Path) -> None:
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with opened(live) as ledger:
        fill(ledger, runs=2, events=3)
        catch_up(ledger, Counts())
    shutil.copy(live, copy)
    with opened(live) as ledger:
        ledger.open_run("lost", "goal")
        catch_up(ledger, Counts())
    with opened(copy) as ledger:
        ledger.open_run("found", "goal")
        catch_up(ledger, Counts())
        assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_records_of_others_that_are_lost_hide_nothing(tmp_path: Path) -> None:
    """A cursor may be far behind its tenant's last record: what is there now is looked at again."""
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with opened(live) as ledger:
        fill(ledger, runs=1, events=3)
    shutil.copy(live, copy)
    with opened(live, "others") as others:
        fill(others, runs=3, events=3)
    with opened(live) as ledger:
        catch_up(ledger, Counts())
        assert standing(ledger, Counts()).position == 12
    graft(live, copy)
    with opened(copy) as ledger:
        for number in range(5):
            ledger.open_run(f"found-{number}", "goal")
    with opened(copy, "others") as others:
        fill(others, runs=3, events=2)
    with opened(copy) as ledger:
        catch_up(ledger, Counts())
        assert kept(ledger, Counts()) == naive(ledger, Counts())
        assert len(kept(ledger, Counts())["said"]) == 8


def test_on_postgresql_it_is_told_as_well(tmp_path: Path) -> None:
    live, copy = address("postgres", tmp_path / "live"), address("postgres", tmp_path / "copy")
    for url, run in ((live, "lost"), (copy, "found")):
        with opened(url) as ledger:
            ledger.open_run("run", "goal")
            ledger.open_run(run, "goal")
            catch_up(ledger, Counts())
    schema = live.partition("?schema=")[2]
    administer(
        copy,
        "DELETE FROM {s}.projections",
        f"INSERT INTO {{s}}.projections SELECT * FROM {schema}.projections",
    )
    with opened(copy) as ledger, pytest.raises(ProjectionAhead) as ahead:
        catch_up(ledger, Counts())
    assert (ahead.value.run, ahead.value.position) == ("lost", 1)


def test_it_is_made_anew_beside_the_rows_of_another_history_which_no_question_reads(
    restored: Callable[[int], Path],
) -> None:
    path = restored(3)
    with opened(path) as ledger:
        ledger.open_run("found", "goal")
        stop, told = Event(), list[Progress]()

        def progress(now: Progress) -> None:
            told.append(now)
            if len(told) == 2:
                stop.set()

        rebuild(ledger, [Counts()], page=2, stop=stop, progress=progress)
        # It is on its way, and nothing else is read meanwhile.
        with pytest.raises(ProjectionAhead):
            wait_for(ledger, Counts(), timeout=60)
        rebuild(ledger, [Counts()])
        assert wait_for(ledger, Counts(), timeout=60)
        assert kept(ledger, Counts()) == naive(ledger, Counts())
        # There is no way back to the other history.
        with pytest.raises(ProjectionAhead):
            serve_previous(ledger, Counts())
        drop(ledger, Counts())
        assert [one.state for one in status(ledger)] == ["active"]


def test_no_question_is_answered_from_rows_of_another_history(tmp_path: Path) -> None:
    live, copy = tmp_path / "live.db", tmp_path / "copy.db"
    with opened(live) as ledger:
        ledger.open_run("run", "goal")
    shutil.copy(live, copy)
    with opened(live) as ledger:
        ledger.open_run("lost", "goal")
        ask(ledger, "writers", run="lost")
    graft(live, copy)
    with opened(copy) as ledger:
        ledger.open_run("found", "goal")
        for how in (True, False):
            with pytest.raises(ProjectionAhead):
                ask(ledger, "writers", run="found", catch_up=how)
        rebuild(ledger, [Timeline()])
        assert len(ask(ledger, "writers", run="found").rows) == 1


def test_a_build_that_was_under_way_in_another_history_begins_anew(restored: Callable[[int], Path]) -> None:
    """Not only what is read: also what was being made comes from records that are not there."""
    path = restored(2)
    with opened(path) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE projections SET built = 0")
        ledger.open_run("found", "goal")
        rebuild(ledger, [Counts()])
        assert kept(ledger, Counts()) == naive(ledger, Counts())


# --- tables ----------------------------------------------------------------------------------------------


def changed(ledger: Ledger, projection: Counts) -> ProjectionChanged:
    with pytest.raises(ProjectionChanged) as raised:
        catch_up(ledger, projection)
    return raised.value


class Wider(Counts):
    tables = (
        Counts.tables[0],
        Counts.tables[1]._replace(columns=(*Counts.tables[1].columns, Column("more"))),
    )


class Indexed(Counts):
    tables = (Counts.tables[0]._replace(indexes=(("name",),)), Counts.tables[1])


@pytest.mark.parametrize("other", [Wider(), Indexed()])
def test_a_version_has_the_tables_it_was_begun_with(ledger: Ledger, other: Counts) -> None:
    fill(ledger)
    catch_up(ledger, Counts())
    assert "new version" in str(changed(ledger, other))
    assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_other_columns_under_the_same_version_are_told_also_when_it_begins_anew(ledger: Ledger) -> None:
    ledger.open_run("run", "goal")
    catch_up(ledger, Counts())
    forget(ledger, Counts())
    assert "new version" in str(changed(ledger, Wider()))


def test_a_new_version_is_built_beside_the_old_one(ledger: Ledger) -> None:
    class Next(Counts):
        version = 2

    fill(ledger)
    catch_up(ledger, Counts())
    catch_up(ledger, Next())
    forget(ledger, Counts())
    assert kept(ledger, Next()) == naive(ledger, Counts())
    assert kept(ledger, Counts()) == {"said": [], "runs": []}


def test_tables_that_are_lost_are_told_and_not_made_empty(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        fill(ledger)
        catch_up(ledger, Counts())
    with closing(sqlite3.connect(tmp_path / "l.db")) as database:
        database.execute("DROP TABLE projection_counts_v1_runs")
    with opened(tmp_path / "l.db") as ledger:
        for _ in range(2):
            assert f"has handled 15 events, and its tables are gone (runs): {SAY}" in str(
                changed(ledger, Counts())
            )
        forget(ledger, Counts())
        catch_up(ledger, Counts())
        assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_tables_that_are_lost_on_postgresql_are_told_as_well(tmp_path: Path) -> None:
    url = address("postgres", tmp_path)
    with opened(url) as ledger:
        run = ledger.open_run("run", "goal")
        catch_up(ledger, Counts())
        administer(url, "DROP TABLE {s}.projection_counts_v1_runs")
        run.revise_goal("other", reason="it changed", by="human:kim")
        with pytest.raises(ProjectionChanged):
            Runner(ledger, [Counts()]).run()
