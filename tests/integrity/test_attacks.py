"""What somebody with the rights of a database administrator can do, in each store that keeps a ledger."""

from typing import Any

import pytest

from ledger.integrity.findings import WHOLE
from ledger.integrity.verify import Check, Standing
from tests.integrity.book import altered
from tests.integrity.conftest import LAST, OTHER, POLICY, RUN, Attacked

OF_RUN = "WHERE run = ? AND position = ?"
ONE_CONTENT = "WHERE digest = (SELECT digest FROM blobs ORDER BY digest LIMIT 1)"


def test_what_the_ledger_wrote_is_sound(attacked: Attacked) -> None:
    report = attacked.look()
    assert report.findings == ()
    assert report.exit_code == 0
    assert not report.anchored
    assert report.unguarded == ()
    assert report.checked[Check.SNAPSHOTS] > 0
    assert {stream.stream for stream in report.streams} == {RUN, OTHER, POLICY}
    assert all(stream.extent.startswith("open up to") for stream in report.streams)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", "acme"),
        ("run", "another"),
        ("position", 9000),
        ("hash", bytes(32)),
        ("hash", "text"),
        ("key", bytes(16)),
        ("act", bytes(16)),
        ("claim", bytes(16)),
        ("record", b"{}"),
        ("record", b""),
        ("record", "text"),
    ],
)
@pytest.mark.parametrize("position", [1, 20, 43])
def test_every_altered_column_names_the_first_broken_event(
    attacked: Attacked, position: int, column: str, value: Any
) -> None:
    assert attacked.meddle(f"UPDATE events SET {column} = ? {OF_RUN}", value, RUN, position) == 1
    report = attacked.look(streams=[RUN])
    assert (report.standing, report.exit_code) == (Standing.ALTERED, 1)
    assert report.streams[0].first_broken == position


def test_a_key_that_was_taken_away_names_its_event(attacked: Attacked) -> None:
    assert attacked.meddle(f"UPDATE events SET key = NULL {OF_RUN}", RUN, 20) == 1
    assert altered(attacked.look(streams=[RUN])) == [(Check.COLUMNS, RUN, 20)]


def test_every_altered_byte_of_an_event_names_it(attacked: Attacked) -> None:
    ((record,),) = attacked.rows(f"SELECT record FROM events WHERE run = '{RUN}' AND position = 5")
    for place in range(0, len(record), 23):
        changed = bytearray(record)
        changed[place] ^= 0x20
        attacked.meddle(f"UPDATE events SET record = ? {OF_RUN}", bytes(changed), RUN, 5)
        report = attacked.look(streams=[RUN])
        assert altered(report)[0] == (Check.CONTENT, RUN, 5)
        assert report.streams[0].first_broken == 5


def test_two_events_that_changed_places_are_found(attacked: Attacked) -> None:
    for now, then in ((6, 9006), (7, 6), (9006, 7)):
        assert attacked.meddle(f"UPDATE events SET position = ? {OF_RUN}", then, RUN, now) == 1
    report = attacked.look()
    assert {(Check.COLUMNS, RUN, 6), (Check.COLUMNS, RUN, 7)} <= set(altered(report))
    # The record that now follows the fifth names another one, so nothing from there on is certain.
    assert next(stream for stream in report.streams if stream.stream == RUN).first_broken == 5


def test_deleted_events_are_missed(attacked: Attacked) -> None:
    assert attacked.meddle("DELETE FROM events WHERE run = ? AND position IN (7, 8)", RUN) == 2
    report = attacked.look()
    assert (Check.LINKAGE, RUN, 7) in altered(report)
    assert {stream.stream for stream in report.streams if stream.standing is Standing.ALTERED} == {RUN}


def test_a_run_deleted_whole_leaves_its_snapshots(attacked: Attacked) -> None:
    assert attacked.meddle("DELETE FROM events WHERE run = ?", RUN) == LAST
    report = attacked.look()
    assert Check.LINKAGE in {check for check, stream, _ in altered(report) if stream == RUN}
    assert next(stream for stream in report.streams if stream.stream == RUN).events == 0


def test_a_source_deleted_whole_leaves_its_head(attacked: Attacked) -> None:
    assert attacked.meddle("DELETE FROM events WHERE run = ?", POLICY) == 2
    assert {(Check.LINKAGE, POLICY, 1), (Check.HEADS, POLICY, 0)} <= set(altered(attacked.look()))


@pytest.mark.parametrize("position", [7, LAST])
def test_an_event_given_to_a_tenant_that_nobody_asks_about(attacked: Attacked, position: int) -> None:
    assert attacked.meddle(f"UPDATE events SET tenant = 'acme' {OF_RUN}", RUN, position) == 1
    assert (Check.COLUMNS, RUN, position) in altered(attacked.look())


def test_a_run_given_to_a_tenant_that_nobody_asks_about(attacked: Attacked) -> None:
    assert attacked.meddle("UPDATE events SET tenant = 'acme' WHERE run = ?", OTHER) == 1
    assert altered(attacked.look()) == [(Check.COLUMNS, WHOLE, None)]


def test_a_head_set_back_is_found(attacked: Attacked) -> None:
    for position in (1, 3):
        assert attacked.meddle("UPDATE heads SET position = ? WHERE stream = ?", position, POLICY) == 1
        assert altered(attacked.look())[-1] == (Check.HEADS, POLICY, 2)
    assert attacked.meddle("DELETE FROM heads WHERE stream = ?", POLICY) == 1
    assert altered(attacked.look()) == [(Check.HEADS, POLICY, 2)]


def test_a_forged_snapshot_is_found_whatever_hash_it_has(attacked: Attacked) -> None:
    ((position, state),) = attacked.rows(
        f"SELECT position, state FROM snapshots WHERE run = '{RUN}' ORDER BY position DESC LIMIT 1"
    )
    forged = bytes(state).replace(b"order 17", b"order 18")
    assert forged != state
    # Its hash is the one of the event it stands for: loading takes it.
    change = f"UPDATE snapshots SET state = ? {OF_RUN}"
    assert attacked.meddle(change, forged, RUN, position) == 1
    report = attacked.look()
    assert altered(report) == [(Check.SNAPSHOTS, RUN, position)]
    assert all(stream.first_broken is None for stream in report.streams)
    attacked.meddle("DELETE FROM snapshots")
    assert attacked.look().standing is Standing.SOUND


def test_a_snapshot_bound_to_another_event_is_found(attacked: Attacked) -> None:
    moved = "UPDATE snapshots SET position = position - 1"
    assert attacked.meddle(moved) > 0
    assert {finding.check for finding in attacked.look().findings} == {Check.SNAPSHOTS}


def test_a_snapshot_of_no_run_is_found(attacked: Attacked) -> None:
    assert attacked.meddle("UPDATE snapshots SET run = 'gone'") > 0
    assert (Check.LINKAGE, "gone", 1) in altered(attacked.look())


def test_altered_content_is_found_and_of_deleted_content_nothing_can_be_told(attacked: Attacked) -> None:
    assert attacked.look().checked[Check.BLOBS] == 40
    assert attacked.meddle(f"UPDATE blobs SET content = ? {ONE_CONTENT}", b"\0") == 1
    assert {finding.check for finding in attacked.look().findings} == {Check.BLOBS}
    assert attacked.meddle(f"DELETE FROM blobs {ONE_CONTENT}") == 1
    report = attacked.look()
    assert (report.standing, report.missing_blobs, report.exit_code) == (Standing.UNSUPPORTED, 1, 2)


def test_of_content_kept_in_two_classes_each_row_is_looked_at(attacked: Attacked) -> None:
    again = (
        f"INSERT INTO blobs SELECT tenant, digest, 'a class', content, expires_at FROM blobs {ONE_CONTENT}"
    )
    assert attacked.meddle(again) == 1
    assert attacked.look().standing is Standing.SOUND
    assert attacked.meddle("UPDATE blobs SET content = ? WHERE kind = 'a class'", b"\0") == 1
    assert {check for check, _, _ in altered(attacked.look())} == {Check.BLOBS}


@pytest.mark.parametrize(("column", "value"), [("digest", b"short"), ("expires_at", "soon")])
def test_content_under_what_is_no_digest_or_until_what_is_no_time(
    attacked: Attacked, column: str, value: Any
) -> None:
    assert attacked.meddle(f"UPDATE blobs SET {column} = ? {ONE_CONTENT}", value) == 1
    found = {(check, stream) for check, stream, _ in altered(attacked.look())}
    assert found == {(Check.STORE, WHOLE) if column == "digest" else (Check.BLOBS, RUN)}


def test_a_guard_that_is_missing_is_said_and_alters_nothing(attacked: Attacked) -> None:
    attacked.meddle("DROP INDEX events_key")
    report = attacked.look()
    assert (report.standing, report.exit_code) == (Standing.SOUND, 0)
    assert any("events_key" in what for what in report.unguarded)
