"""A SQLite file that somebody opened with another program: triggers dropped, rows changed."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Source, open_ledger
from ledger.integrity.verify import Check, Report, Standing, verify
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from tests.integrity.book import altered

RUN, OTHER, POLICY = "refund-17", "refund-18", "$source:policy:refunds"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a ledger through its public names."""
    path = tmp_path / "ledger.db"
    with open_ledger(path, actor=Actor("agent:refunds", session="s-1")) as ledger:
        policy = ledger.source("policy:refunds", actor=Actor("human:kim"))
        policy.publish("1", {"limit": "Never more than 100 EUR", "kind": "Be kind"})
        run = ledger.open_run(RUN, goal="Refund order 17")
        run.accept(
            "limit",
            "Never more than 100 EUR",
            source=Source("policy", "refunds", revision="1"),
            asserted_by="human:kim",
        )
        for number in range(40):
            run.record_message(f"m-{number}", "user", {"text": "x" * 100, "n": number})
        run.revise_goal("Refund order 17 and say so", reason="asked", by="human:kim")
        reviewed = ledger.run(RUN, actor=Actor("human:lee"))
        reviewed.sign_review("reviewed", by="human:lee")
        ledger.open_run(OTHER, goal="Refund order 18")
    return path


@pytest.fixture
def meddle(file: Path) -> Callable[..., int]:
    """Run a statement on the file as somebody with its password could; return how many rows it touched."""

    def run(statement: str, *parameters: Any) -> int:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            return connection.execute(statement, parameters).rowcount

    return run


@pytest.fixture
def look(file: Path) -> Callable[..., Report]:
    """Verify the file."""

    def run(**options: Any) -> Report:
        store: FullStore = open_store(file)
        with closing(store):
            return verify(store, "default", **options)

    return run


Look = Callable[..., Report]
Meddle = Callable[..., int]


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


def test_a_deleted_tail_is_missed_only_where_something_remembers_it(look: Look, meddle: Meddle) -> None:
    assert meddle("DELETE FROM events WHERE run = ? AND position >= 43", RUN) == 2
    report = look()
    assert report.standing is Standing.SOUND
    assert not report.anchored
    assert meddle("DELETE FROM events WHERE run = ? AND position >= 10", RUN) == 33
    assert (Check.LINKAGE, RUN, 10) in altered(look())


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


def test_altered_content_is_found_and_deleted_content_is_counted(look: Look, meddle: Meddle) -> None:
    assert look().checked[Check.BLOBS] == 40
    assert meddle("UPDATE blobs SET content = x'00' WHERE rowid = 1") == 1
    assert {finding.check for finding in look().findings} == {Check.BLOBS}
    assert meddle("DELETE FROM blobs WHERE rowid = 1") == 1
    report = look()
    assert (report.standing, report.missing_blobs) == (Standing.SOUND, 1)
