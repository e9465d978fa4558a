"""A SQLite file that somebody opened with another program: triggers dropped, rows changed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger.integrity.verify import Check, Standing
from tests.integrity.book import altered
from tests.integrity.conftest import OTHER, POLICY, RUN, Look, Meddle


def events(file: Path, run: str) -> Iterator[tuple[int, bytes]]:
    with closing(sqlite3.connect(file)) as connection:
        yield from connection.execute(
            "SELECT position, record FROM events WHERE run = ? ORDER BY position", (run,)
        )


def test_what_the_ledger_wrote_is_sound(look: Look) -> None:
    report = look()
    assert report.findings == ()
    assert report.exit_code == 0
    assert not report.anchored
    assert report.checked[Check.SNAPSHOTS] > 0
    assert {stream.stream for stream in report.streams} == {RUN, OTHER, POLICY}
    assert all(stream.extent.startswith("open up to") for stream in report.streams)


def test_a_dropped_trigger_alone_changes_no_event(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE events SET run = run WHERE gid = 1") == 1
    assert look().standing is Standing.SOUND


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", "acme"),
        ("run", "another"),
        ("position", 9000),
        ("hash", bytes(32)),
        ("hash", "text"),
        ("key", bytes(16)),
        ("key", None),
        ("act", bytes(16)),
        ("claim", bytes(16)),
        ("record", b"{}"),
        ("record", b""),
        ("record", "text"),
        ("gid", 9000),
    ],
)
@pytest.mark.parametrize("position", [1, 2, 20, 43])
def test_every_altered_column_names_the_first_broken_event(
    look: Look, meddle: Meddle, position: int, column: str, value: Any
) -> None:
    if column == "key" and value is None and position in (1, 2, 43):
        assert meddle("UPDATE events SET key = NULL WHERE run = ? AND position = ?", RUN, position) == 1
        assert look().standing is Standing.SOUND
        return
    assert meddle(f"UPDATE events SET {column} = ? WHERE run = ? AND position = ?", value, RUN, position) == 1
    report = look(streams=[RUN])
    assert (report.standing, report.exit_code) == (Standing.ALTERED, 1)
    # A global position that was raised shows at the next event, which stands below it.
    assert report.streams[0].first_broken == position + (column == "gid")


def test_every_altered_byte_of_an_event_names_it(file: Path, look: Look, meddle: Meddle) -> None:
    record = dict(events(file, RUN))[5]
    for place in range(0, len(record), 23):
        changed = bytearray(record)
        changed[place] ^= 0x20
        meddle("UPDATE events SET record = ? WHERE run = ? AND position = 5", bytes(changed), RUN)
        report = look(streams=[RUN])
        assert altered(report)[0] == (Check.CONTENT, RUN, 5)
        assert report.streams[0].first_broken == 5


def test_deleted_events_are_missed(look: Look, meddle: Meddle) -> None:
    assert meddle("DELETE FROM events WHERE run = ? AND position IN (7, 8)", RUN) == 2
    report = look()
    assert (Check.LINKAGE, RUN, 7) in altered(report)
    assert {stream.stream for stream in report.streams if stream.standing is Standing.ALTERED} == {RUN}


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


def test_a_head_set_back_is_found(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE heads SET position = 1 WHERE stream = ?", POLICY) == 1
    assert altered(look()) == [(Check.HEADS, POLICY, 2)]
    assert meddle("DELETE FROM heads WHERE stream = ?", POLICY) == 1
    assert altered(look()) == [(Check.HEADS, POLICY, 2)]


def test_altered_snapshots_are_found_and_deleted_ones_are_not_missed(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE snapshots SET state = replace(state, 'order 17', 'order 18')") > 0
    report = look()
    assert {finding.check for finding in report.findings} == {Check.SNAPSHOTS}
    assert all(stream.first_broken is None for stream in report.streams)
    assert meddle("DELETE FROM snapshots") > 0
    assert look().standing is Standing.SOUND


def test_altered_content_is_found_and_of_deleted_content_nothing_can_be_told(
    look: Look, meddle: Meddle
) -> None:
    assert look().checked[Check.BLOBS] == 40
    assert meddle("UPDATE blobs SET content = x'00' WHERE rowid = 1") == 1
    assert {finding.check for finding in look().findings} == {Check.BLOBS}
    assert meddle("DELETE FROM blobs WHERE rowid = 1") == 1
    report = look()
    assert (report.standing, report.missing_blobs, report.exit_code) == (Standing.UNSUPPORTED, 1, 2)
