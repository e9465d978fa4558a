"""Attacks on a SQLite file that leave every chain whole and yet break, blind or feed a follower."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.application.verifying import verify
from ledger.integrity.findings import WHOLE
from ledger.integrity.verify import Check, Progress, Report, Standing
from tests.integrity.book import altered
from tests.integrity.conftest import LAST, OTHER, POLICY, RUN, Look, Meddle


def found(report: Report) -> set[tuple[Check, str]]:
    assert (report.standing, report.exit_code) == (Standing.ALTERED, 1)
    return {(check, stream) for check, stream, _ in altered(report)}


# --- columns of another kind ---
def test_an_event_under_a_name_that_is_no_text(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE events SET run = CAST(run AS BLOB) WHERE run = ?", OTHER) == 1
    assert found(look()) == {(Check.COLUMNS, WHOLE)}


def test_an_event_under_a_tenant_that_is_no_text(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE events SET tenant = CAST(tenant AS BLOB) WHERE run = ?", OTHER) == 1
    assert found(look()) == {(Check.COLUMNS, WHOLE)}


def test_an_event_at_a_position_that_is_text(look: Look, meddle: Meddle) -> None:
    assert meddle("UPDATE events SET position = 'last' WHERE run = ? AND position = ?", RUN, LAST) == 1
    report = look()
    assert found(report) == {(Check.COLUMNS, RUN)}
    assert next(stream for stream in report.streams if stream.stream == RUN).first_broken == LAST


@pytest.mark.parametrize("value", [b"\xff", b"$source:policy:refunds"])
def test_a_head_under_a_name_that_is_no_text(look: Look, meddle: Meddle, value: bytes) -> None:
    assert meddle("UPDATE heads SET stream = ?", value) == 1
    assert {(Check.HEADS, WHOLE), (Check.HEADS, POLICY)} <= found(look())


@pytest.mark.parametrize("column", ["tenant", "run"])
def test_an_event_under_bytes_that_are_no_utf_8(look: Look, meddle: Meddle, column: str) -> None:
    assert meddle(f"UPDATE events SET {column} = CAST(x'ff' AS TEXT) WHERE run = ?", OTHER) == 1
    assert (Check.STORE, WHOLE) in found(look())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE heads SET stream = CAST(x'ff' AS TEXT)",
        "UPDATE heads SET tenant = x'00'",
        "UPDATE snapshots SET run = CAST(run AS BLOB)",
        "UPDATE snapshots SET run = CAST(x'ff' AS TEXT)",
        "UPDATE snapshots SET tenant = x'00'",
        "UPDATE blobs SET digest = hex(digest) WHERE rowid = 1",
        "UPDATE blobs SET tenant = x'00' WHERE rowid = 1",
    ],
)
def test_what_is_kept_under_no_name(look: Look, meddle: Meddle, statement: str) -> None:
    assert meddle(statement) > 0
    assert (Check.STORE, WHOLE) in found(look())


# --- the global order ---
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET gid = -gid - 1000 WHERE gid > 0; UPDATE events SET gid = -gid",
        "UPDATE events SET gid = gid + 100 WHERE gid = (SELECT max(gid) FROM events)",
        "UPDATE events SET gid = 5000 WHERE run = '$source:policy:refunds' AND position = 2",
    ],
)
def test_global_positions_that_were_shifted(file: Path, look: Look, meddle: Meddle, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        (check,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'events'").fetchone()
    assert "CHECK (gid > 0)" in check
    meddle("PRAGMA user_version")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.executescript(statement)
        connection.commit()
    assert (Check.ORDER, WHOLE) in found(look())


def test_a_run_deleted_whole_leaves_a_hole_and_its_snapshots(look: Look, meddle: Meddle) -> None:
    assert meddle("DELETE FROM events WHERE run = ?", RUN) == LAST
    assert {(Check.ORDER, WHOLE), (Check.LINKAGE, RUN)} <= found(look())


def test_a_run_deleted_whole_from_the_end_leaves_its_snapshots(look: Look, meddle: Meddle) -> None:
    meddle("DELETE FROM events WHERE run = ?", OTHER)
    assert meddle("DELETE FROM events WHERE run = ?", RUN) == LAST
    report = look()
    assert found(report) == {(Check.LINKAGE, RUN)}
    assert next(stream for stream in report.streams if stream.stream == RUN).events == 0


# --- the file ---
def without_index(file: Path, name: str, statement: str) -> None:
    """Change rows behind the back of an index, so that it still holds what was there before."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        kept = connection.execute("SELECT * FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = ?", (name,))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert connection.execute(statement).rowcount > 0
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", kept)


def test_an_index_that_does_not_hold_what_its_table_holds(file: Path, look: Look, meddle: Meddle) -> None:
    meddle("PRAGMA user_version")
    without_index(file, "snapshots_place", "DELETE FROM snapshots")
    report = look()
    assert (Check.STORE, WHOLE) in found(report)
    assert any("snapshots_place" in finding.what for finding in report.findings)


def test_an_event_that_the_index_of_places_does_not_hold(file: Path, look: Look, meddle: Meddle) -> None:
    meddle("PRAGMA user_version")
    columns = "tenant, run, position, hash, key, act, claim, record"
    again = columns.replace("position", "position + 1")
    copied = f"INSERT INTO events ({columns}) SELECT {again} FROM events WHERE run = '{OTHER}'"
    without_index(file, "events_place", copied)
    assert {(Check.STORE, WHOLE), (Check.ORDER, OTHER)} <= found(look())


# --- while others write, and what is no attack ---
def test_appends_and_runs_that_come_meanwhile_are_no_alteration(file: Path) -> None:
    with open_ledger(file) as ledger, open_ledger(file) as writer:
        numbers = count()

        def go_on(progress: Progress) -> None:
            number = next(numbers)
            writer.run(RUN).record_message(f"new-{number}", "user", "and?")
            late = writer.open_run(f"a-{number}", goal="Come late")
            for step in range(20):
                late.move(str(step))

        report = verify(ledger, progress=go_on)
        assert report.findings == ()
        assert next(numbers) > 2
        assert verify(ledger).findings == ()


@pytest.mark.parametrize("address", [":memory:", "file"])
def test_ids_that_are_given_twice_are_no_alteration(address: str, tmp_path: Path) -> None:
    where: Any = address if address == ":memory:" else tmp_path / "ids.db"
    with open_ledger(where, ids=lambda: "always the same") as ledger:
        run = ledger.open_run("r", goal="g")
        for step in range(3):
            run.move(str(step))
        report = verify(ledger)
        assert (report.standing, report.repeated_ids, report.findings) == (Standing.SOUND, 3, ())


def test_each_store_is_walked(tmp_path: Path) -> None:
    walked: list[int] = []
    for address in (":memory:", tmp_path / "ledger.db"):
        with open_ledger(address) as ledger:
            ledger.open_run("r", goal="g").move("n")
            walked.append(verify(ledger).checked[Check.ORDER])
    # Of two events: place in the stream, time, place in the order; and the stream once as a whole.
    assert walked == [7, 7]


def test_a_verification_leaves_no_connection_behind(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def watched(*arguments: Any, **named: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    with open_ledger(file) as ledger:
        verify(ledger)
    assert len(opened) > 1
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
