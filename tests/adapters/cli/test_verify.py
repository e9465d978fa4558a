"""`verify`: what it says, and with which code it ends. What it finds is tested with the verifier."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.cli.verdict import UNANCHORED, where_words
from ledger.adapters.threads.dropping import delete
from ledger.integrity.verify import Standing
from tests.adapters.cli.command import Answer, at_terminal, run
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import RAISE_THE_LIMIT, respelt
from tests.adapters.threads.plain import chat, states_of
from tests.integrity.book import Torn


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


@pytest.mark.parametrize("name", ["source:policy:refunds", "$source:policy:refunds"])
def test_one_source(call: Call, good: Path, name: str) -> None:
    document = call("verify", name, "--ledger", good, "--json").document
    assert (document["standing"], document["streams"], document["events"]) == ("sound", 1, 2)
    assert document["checked"]["heads"] == 1


def test_a_run_that_is_called_like_a_source_comes_first(call: Call, good: Path) -> None:
    with open_ledger(good) as ledger:
        ledger.open_run("source:policy:refunds", "g")
    assert call("verify", "source:policy:refunds", "--ledger", good, "--json").document["events"] == 1


def test_who_names_a_source_like_a_run_is_told_how_to_ask(call: Call, good: Path) -> None:
    answer = call("verify", "policy:refunds", "--ledger", good)
    assert answer.code == 2
    assert "source:policy:refunds" in answer.err


@pytest.mark.parametrize("name", ["source:policy:other", "$source:policy:other"])
def test_a_source_that_is_not_there_is_called_one(call: Call, good: Path, name: str) -> None:
    answer = call("verify", name, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (2, "not_found")
    assert answer.error["data"] == {"source": "policy:other"}
    assert "no source 'policy:other' was opened" in answer.error["message"]


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
        "DELETE FROM events WHERE run = 'done'",
        "UPDATE events SET run = CAST(run AS BLOB) WHERE run = 'done' AND position = 2",
        "UPDATE events SET position = 'two' WHERE run = 'done' AND position = 2",
        "UPDATE events SET gid = 1000 + gid WHERE run = 'done' AND position = 2",
        "UPDATE events SET tenant = 'acme' WHERE run = 'done'",
        "UPDATE heads SET stream = CAST(stream AS BLOB)",
        "UPDATE blobs SET content = CAST('\"other\"' AS BLOB)",
    ],
)
def test_tampering_is_bad_news(call: Call, good: Path, alter: Alter, statement: str) -> None:
    alter(good, statement)
    answer = call("verify", "--all", "--ledger", good, "--json")
    assert answer.code == 1
    assert answer.document["standing"] == "altered"
    assert answer.document["findings"]


def test_what_belongs_to_no_stream_is_said_of_the_whole(call: Call, good: Path, alter: Alter) -> None:
    alter(good, "DELETE FROM events WHERE run = 'done'")
    answer = call("verify", "--all", "--ledger", good)
    assert answer.out.startswith("ALTERED: 0 of 4 streams not as written, nor is the ledger as a whole (")
    assert "altered: the ledger as a whole: order: global positions" in answer.out
    (finding,) = call("verify", "--all", "--ledger", good, "--json").document["findings"]
    assert (finding["stream"], finding["position"]) == ("", None)


def test_where_a_stream_is_altered_is_said(call: Call, good: Path, alter: Alter) -> None:
    alter(good, "UPDATE heads SET position = 1")
    assert "source policy:refunds: altered beside its events" in call("verify", "--all", "--ledger", good).out
    torn = Torn.sample()
    torn.unordered = (("r-2", 3),)
    report = torn.verify()
    (stream,) = (stream for stream in report.streams if stream.standing is Standing.ALTERED)
    assert where_words(report, stream) == "in the global order"


def test_content_that_is_not_here_cannot_be_told(call: Call, tmp_path: Path, alter: Alter) -> None:
    path = tmp_path / "contents.db"
    with open_ledger(path) as ledger:
        ledger.open_run("r", "g").record_message("m", "user", "x" * 100_000)
    assert call("verify", "--all", "--ledger", path).code == 0
    alter(path, "DELETE FROM blobs")
    answer = call("verify", "r", "--ledger", path)
    assert answer.code == 2
    assert answer.out.startswith(
        "CANNOT TELL: what is here is what was written, and some content is not here"
    )
    assert "MISSING: 1 content" in answer.out
    document = call("verify", "--all", "--ledger", path, "--json").document
    assert (document["standing"], document["missing_contents"]) == ("unsupported", 1)
    assert document["findings"][0]["position"] == 2


def test_ids_that_were_given_twice_are_said_beside_the_verdict(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ids.db"
    with open_ledger(path, ids=lambda: "same") as ledger:
        ledger.open_run("r", "g").move("n")
    answer = call("verify", "--all", "--ledger", path)
    assert (answer.code, "REPEATED: 1 event " in answer.out) == (0, True)
    assert call("verify", "r", "--ledger", path, "--json").document["repeated_ids"] == 1


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
    alter(good, respelt(good, b'"v":1', b'"v":2'))
    answer = call("verify", "--all", "--ledger", good)
    assert answer.code == 2
    assert answer.out.startswith("CANNOT TELL: something is newer")
    assert call("verify", "refund-17", "--ledger", good).code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "intent-ledger: name a run, or say --all"),
        (["refund-17", "--all"], "intent-ledger: both a run and --all were given"),
    ],
)
def test_one_run_or_all_must_be_asked_for(call: Call, good: Path, arguments: list[str], told: str) -> None:
    answer = call("verify", *arguments, "--ledger", good)
    assert answer.code == 64
    assert told in answer.err.replace("Invalid value: ", "")


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


def test_states_that_were_given_up_are_looked_for_in_the_log_of_their_run(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "threads.db"
    with open_ledger(path) as ledger:
        states = states_of(ledger)
        for thread in ("a b", "c"):
            chat(states, thread, 9 if thread == "a b" else 3)
            delete(states.threads, thread, by="human:kim")
    told = call("verify", "--all", "--ledger", path)
    assert (told.code, "EXPIRED" in told.out) == (0, False)
    assert (
        "GIVEN UP: 12 contents of saved states of run 'a b#1' and 1 other run, dropped on purpose" in told.out
    )
    (look,) = re.findall(r"`intent-ledger (.*)`", told.out.replace("\n", " "), re.DOTALL)[-1:]
    found = call(*shlex.split(look), "--ledger", path)
    assert "state.dropped" in found.out
    document = call("verify", "--all", "--ledger", path, "--json").document
    assert document["given_up_contents"] == {"a b#1": 9, "c#1": 3}
    assert document["expired_contents"] == 12
