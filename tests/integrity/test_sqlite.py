"""A SQLite file that somebody opened with another program: triggers dropped, rows changed."""

import pytest

from ledger.integrity.verify import Check, Standing
from tests.integrity.book import altered
from tests.integrity.conftest import OTHER, RUN, Look, Meddle


def test_a_dropped_trigger_alone_changes_no_event(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE events SET run = run WHERE gid = 1") == 1
    assert look().standing is Standing.SOUND


@pytest.mark.parametrize("position", [1, 2, 20, 43])
def test_a_global_position_that_was_raised_shows_at_the_next_event(
    look: Look, meddle: Meddle, position: int
) -> None:
    assert meddle("UPDATE events SET gid = 9000 WHERE run = ? AND position = ?", RUN, position) == 1
    report = look(streams=[RUN])
    assert (report.standing, report.exit_code) == (Standing.ALTERED, 1)
    assert report.streams[0].first_broken == position + 1


def test_a_deleted_tail_is_missed_where_something_remembers_it(look: Look, meddle: Meddle) -> None:
    assert meddle("DELETE FROM events WHERE run = ? AND position >= 43", RUN) == 2
    # The run of its own is sound; the global order, which goes on behind it, has a hole.
    report = look(streams=[RUN])
    assert report.standing is Standing.SOUND
    assert not report.anchored
    assert [f.check for f in look().findings] == [Check.ORDER]
    assert meddle("DELETE FROM events WHERE run = ? AND position >= 10", RUN) == 33
    assert (Check.LINKAGE, RUN, 10) in altered(look())


def test_the_last_events_of_all_leave_no_trace(look: Look, meddle: Meddle) -> None:
    """Why a seal outside the database is needed: this verdict is sound and not anchored."""
    assert meddle("DELETE FROM events WHERE run = ?", OTHER) == 1
    report = look()
    assert (report.standing, report.anchored) == (Standing.SOUND, False)


def test_an_event_put_in_twice_is_found(look: Look, meddle: Meddle) -> None:
    meddle("DROP INDEX events_place")
    columns = "tenant, run, position, hash, key, act, claim, record"
    again = f"INSERT INTO events ({columns}) SELECT {columns} FROM events WHERE run = ? AND position = 5"
    assert meddle(again, RUN) == 1
    report = look(page=5)
    assert (Check.LINKAGE, RUN, 5) in altered(report)
