"""`verify`: what it says, and with which code it ends. What it finds is tested with the verifier."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.cli.verdict import UNANCHORED
from tests.adapters.cli.command import Answer, at_terminal, run
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import RAISE_THE_LIMIT


def test_a_sound_ledger(call: Call, good: Path) -> None:
    answer = call("verify", "--all", "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("SOUND: 20 events in 5 streams, ")
    assert answer.out.rstrip().endswith(UNANCHORED)


def test_counts_what_was_looked_at(call: Call, good: Path) -> None:
    document = call("verify", "--all", "--ledger", good, "--json").document
    assert (document["standing"], document["anchored"]) == ("sound", False)
    assert (document["streams"], document["events"]) == (5, 20)
    assert document["checked"]["content"] == document["checked"]["linkage"] == 20
    assert document["checked"]["heads"] == 1
    assert document["findings"] == document["broken"] == []


def test_one_run(call: Call, good: Path) -> None:
    document = call("verify", "other", "--ledger", good, "--json").document
    assert (document["standing"], document["streams"], document["events"]) == ("sound", 1, 2)


def test_an_altered_record_is_named_with_its_first_position(call: Call, good: Path, alter: Alter) -> None:
    alter(good, RAISE_THE_LIMIT)
    answer = call("verify", "--all", "--ledger", good)
    assert answer.code == 1
    assert answer.out.startswith("ALTERED: 1 of 5 streams not as written")
    assert "run refund-17: altered from position 2" in answer.out
    document = call("verify", "refund-17", "--ledger", good, "--json").document
    assert document["broken"] == [
        {"stream": "refund-17", "standing": "altered", "first_broken": 2, "events": 11}
    ]
    assert call("verify", "other", "--ledger", good).code == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET record = replace(record, '100 EUR', '900 EUR') WHERE position = 2",
        "DELETE FROM events WHERE run = 'refund-17' AND position = 5",
        "UPDATE events SET hash = zeroblob(32) WHERE run = 'refund-17' AND position = 11",
        "UPDATE events SET run = 'refund-71' WHERE run = 'refund-17'",
        "UPDATE events SET key = zeroblob(16) WHERE key IS NOT NULL",
        "UPDATE heads SET position = 1",
        "DELETE FROM events WHERE run = '$source:policy:refunds'",
        "UPDATE blobs SET content = CAST('\"other\"' AS BLOB)",
    ],
)
def test_tampering_is_bad_news(call: Call, good: Path, alter: Alter, statement: str) -> None:
    alter(good, statement)
    answer = call("verify", "--all", "--ledger", good, "--json")
    assert answer.code == 1
    assert answer.document["standing"] == "altered"
    assert answer.document["findings"]


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Return a ledger with a run that is long enough for a snapshot."""
    path = tmp_path / "long.db"
    with open_ledger(path) as ledger:
        opened = ledger.open_run("long", "g")
        for number in range(40):
            opened.move("n", round=number)
    return path


def test_a_detected_truncation_does_not_share_the_code_of_could_not_run(
    call: Call, long: Path, alter: Alter
) -> None:
    alter(long, "DELETE FROM events WHERE position > 3")
    assert call("verify", "--all", "--ledger", long).code == 1
    alter(long, "DELETE FROM events")
    assert call("verify", "long", "--ledger", long).code == 1


def test_what_left_no_trace_cannot_be_told(call: Call, long: Path, alter: Alter) -> None:
    alter(long, "DELETE FROM events; DELETE FROM snapshots; DELETE FROM heads")
    for arguments in (["long"], ["--all"]):
        assert call("verify", *arguments, "--ledger", long).code == 2
    assert call("verify", "--all", "--ledger", long).out.startswith(
        "CANNOT TELL: tenant default has no event"
    )
    answer = call("verify", "long", "--ledger", long, "--json")
    assert (answer.out, answer.error["code"]) == ("", "run_not_found")


def test_a_file_that_was_emptied_cannot_be_told(call: Call, long: Path) -> None:
    long.write_bytes(b"")
    answer = call("verify", "--all", "--ledger", long, "--json")
    assert (answer.code, answer.error["data"]["reason"]) == (2, "empty")
    assert long.stat().st_size == 0


def test_a_file_that_was_cut_is_bad_news(call: Call, long: Path) -> None:
    long.write_bytes(long.read_bytes()[:-8192])
    assert call("verify", "--all", "--ledger", long).code == 1


def test_a_newer_record_cannot_be_told(call: Call, good: Path, alter: Alter) -> None:
    from ledger.record import digest

    with closing(sqlite3.connect(good)) as connection:
        (record,) = connection.execute(
            "SELECT record FROM events WHERE run = 'done' AND position = 2"
        ).fetchone()
    newer = record.replace(b'"v":1', b'"v":2')
    assert newer != record
    alter(
        good,
        f"UPDATE events SET record = x'{newer.hex()}', hash = x'{digest(newer).hex()}' "
        "WHERE run = 'done' AND position = 2",
    )
    answer = call("verify", "--all", "--ledger", good)
    assert answer.code == 2
    assert answer.out.startswith("CANNOT TELL: something is newer")
    assert call("verify", "refund-17", "--ledger", good).code == 0


@pytest.mark.parametrize("arguments", [[], ["refund-17", "--all"]])
def test_one_run_or_all_must_be_asked_for(call: Call, good: Path, arguments: list[str]) -> None:
    assert call("verify", *arguments, "--ledger", good).code == 64


def test_writers_are_not_kept_waiting(good: Path) -> None:
    with closing(sqlite3.connect(good, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        answer: Answer = run("verify", "--all", "--ledger", good)
        writer.execute("ROLLBACK")
    assert answer.code == 0


def test_many_findings_are_counted_beyond_those_that_are_shown(
    call: Call, tmp_path: Path, alter: Alter
) -> None:
    path = tmp_path / "many.db"
    with open_ledger(path) as ledger:
        opened = ledger.open_run("many", "g")
        for number in range(120):
            opened.move("n", round=number)
    alter(path, "UPDATE events SET hash = zeroblob(32)")
    answer = call("verify", "--all", "--ledger", path)
    assert answer.code == 1
    assert "more; --json lists those that were kept" in answer.out
    assert len(answer.out.splitlines()) < 100


def test_progress_is_shown_where_somebody_watches(long: Path) -> None:
    assert "verifying" in at_terminal("verify", "--all", "--ledger", long).out
