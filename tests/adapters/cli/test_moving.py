"""`export`, `import` of what it wrote, and `expire`."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ledger import Source, open_ledger
from ledger.application import adding_runs
from ledger.stores.base import Restore
from ledger.stores.sqlite import SQLiteStore
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import HOSTILE_ID

WHY = ("--by", "human:kim", "--reason", "kept long enough")


@pytest.fixture
def file(call: Call, good: Path, tmp_path: Path) -> Path:
    path = tmp_path / "out.jsonl"
    assert call("export", "--all", "--output", path, "--ledger", good).code == 0
    return path


@pytest.fixture
def talked(tmp_path: Path) -> Path:
    """Return a ledger with two messages."""
    path = tmp_path / "talked.db"
    with open_ledger(path) as ledger:
        run = ledger.open_run("r", "goal")
        run.record_message("m-1", "user", "hello")
        run.record_message("m-2", "assistant", "good day")
    return path


def test_what_was_exported_is_imported(call: Call, file: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    done = call("import", file, "--ledger", there)
    assert (done.code, done.err) == (0, "")
    assert "here already" in done.out
    assert call("verify", "--all", "--ledger", there).code == 0
    again = call("import", file, "--ledger", there, "--json").document
    assert (again["added"], again["differing"]) == (0, [])
    assert again["records"] > 0
    # Of the one and of the other the same lines, but for the time in the first.
    back = call("export", "--all", "--ledger", there)
    assert back.out.splitlines()[1:-1] == file.read_text().splitlines()[1:-1]
    assert "record" in back.err


def test_an_import_deletes_nothing_and_says_what_was_dropped_there(
    call: Call, talked: Path, tmp_path: Path
) -> None:
    file, there = tmp_path / "out.jsonl", tmp_path / "there.db"
    call("export", "--all", "-o", file, "--ledger", talked)
    call("import", file, "--ledger", there)
    call("expire", "--class", "message", *WHY, "--ledger", talked)
    wrote = call("export", "r", "-o", file, "--ledger", talked)
    assert wrote.out.splitlines()[1:] == [
        "with it: what the ledger says of itself ($ledger)",
        "2 contents that records name were dropped on purpose",
    ]
    took = call("import", file, "--ledger", there)
    assert took.out.splitlines()[1:] == [
        "2 contents that records name were dropped on purpose",
        "2 contents still here that events name as dropped; to follow them: intent-ledger expire --finish",
    ]
    for more in (("--dry-run",), WHY):
        asked = call("expire", "--class", "evidence", *more, "--ledger", there)
        assert asked.out.startswith("0 contents ")
        assert "apart from that, 2 contents still here that events name as dropped" in asked.out
    left = call("expire", "--older-than", "9d", "--dry-run", "--json", "--ledger", there).document["left"]
    assert left == {"message": {"contents": 2, "bytes": 17}}
    assert "STILL HERE: 2 contents" in call("verify", "--all", "--ledger", there).out
    told = call("verify", "--all", "--json", "--ledger", there).document
    assert (told["unfinished_contents"], told["missing_contents"]) == (2, 0)
    assert call("expire", "--finish", "--dry-run", "--ledger", there).out.startswith(
        "2 contents would go, 17"
    )
    assert call("expire", "--finish", "--ledger", there).out.startswith("2 contents dropped, 17 bytes\n")
    assert call("verify", "--all", "--json", "--ledger", there).document["unfinished_contents"] == 0


def test_it_names_what_went_with_what_was_asked_for(call: Call, tmp_path: Path) -> None:
    path, file = tmp_path / "rules.db", tmp_path / "out.jsonl"
    with open_ledger(path) as ledger:
        rules = [ledger.source(f"policy:p{number}") for number in range(7)]
        run = ledger.open_run("r", goal="goal")
        for number, source in enumerate(rules):
            source.publish("1", {"rule": "Do"}, by="human:kim")
            of = Source("policy", f"p{number}", revision="1")
            run.accept(f"c-{number}", "Do", source=of, asserted_by="human:kim")
        ledger.open_run("alone", goal="goal")
    wrote = call("export", "r", "-o", file, "--ledger", path)
    names = ", ".join(f"policy:p{number}" for number in range(5))
    assert wrote.out.splitlines()[1] == f"with it: sources {names} and 2 more, all of them with --json"
    everything = call("export", "--all", "-o", file, "--ledger", path)
    assert everything.out.splitlines()[1].startswith("in it: runs alone, r; sources policy:p0, ")
    document = call("export", "r", "-o", file, "--ledger", path, "--json").document
    assert (document["runs"], len(document["sources"]), document["own"]) == (["r"], 7, False)
    assert call("export", "r", "--ledger", path).err.splitlines()[1].startswith("with it: sources ")


def test_what_is_lost_is_told_from_what_was_dropped(
    call: Call, talked: Path, tmp_path: Path, alter: Alter
) -> None:
    file = tmp_path / "out.jsonl"
    alter(talked, "DELETE FROM blobs WHERE CAST(content AS TEXT) = '\"hello\"'")
    wrote = call("export", "r", "-o", file, "--ledger", talked)
    lost = "1 content that records name is not {}, and no event says that it was dropped"
    assert wrote.out.splitlines()[1:] == [lost.format("here")]
    assert call("import", file, "--ledger", tmp_path / "there.db").out.splitlines()[1:] == [
        lost.format("in the file")
    ]
    # An older program did not tell one from the other.
    *lines, last = file.read_text().splitlines(keepends=True)
    end = json.loads(last)
    del end["dropped"]
    file.write_text("".join(lines) + json.dumps(end) + "\n")
    took = call("import", file, "--ledger", tmp_path / "older.db")
    assert took.out.splitlines()[1].endswith("is not in the file; whether dropped on purpose is not said")


def test_it_says_what_it_wrote_and_leaves_nothing_else_behind(call: Call, good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "out.jsonl"
    told = call("export", "refund-17", "--output", path, "--ledger", good, "--json").document
    end = json.loads(path.read_text().splitlines()[-1])
    assert {name: told[name] for name in ("records", "streams", "digest")} == {
        name: end[name] for name in ("records", "streams", "digest")
    }
    assert told["bytes"] == path.stat().st_size
    path.write_text("before")
    assert call("export", "nobody", "--output", path, "--ledger", good).code == 3
    assert [one.name for one in folder.iterdir()] == ["out.jsonl"]
    assert path.read_text() == "before"
    for target, why in (
        (folder, "Is a directory"),
        (Path(), "Is a directory"),
        (folder / "no" / "x.jsonl", "No such file or directory"),
    ):
        refused = call("export", "refund-17", "--output", target, "--ledger", good)
        assert (refused.code, refused.err) == (3, f"intent-ledger: {target}: {why}\n")


def test_an_import_is_not_for_agents(
    call: Call, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENT_LEDGER_ACTOR", "agent:a")
    there = tmp_path / "there.db"
    refused = call("import", file, "--ledger", there, "--json")
    assert (refused.code, refused.error["code"], there.exists()) == (4, "not_for_agents", False)


def test_an_import_that_was_interrupted_says_to_repeat_it_and_then_that_it_adds_the_rest(
    call: Call, talked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, file = tmp_path / "there.db", tmp_path / "out.jsonl"
    call("export", "--all", "-o", file, "--ledger", talked)
    add = SQLiteStore.restore

    def stopped(store: SQLiteStore, restore: Restore) -> tuple[int, ...]:
        if restore.rows[0].row.position > 1:
            raise KeyboardInterrupt
        return add(store, restore)

    with monkeypatch.context() as patch:
        patch.setattr(adding_runs, "BATCH", 1)
        patch.setattr(SQLiteStore, "restore", stopped)
        refused = call("import", file, "--ledger", there)
    assert refused.code == 130
    assert "repeat the import before anybody goes on" in refused.err
    done = call("import", file, "--ledger", there)
    assert (done.code, done.err) == (0, "1 stream of the file here in part: adding the rest\n")
    assert done.out.startswith("2 records and 2 contents added, 1 record here already")


def test_standard_input_is_read(
    call: Call, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(file.read_bytes())))
    assert call("import", "-", "--ledger", tmp_path / "there.db").code == 0


def test_a_run_that_went_on_differently_is_bad_news(call: Call, talked: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "out.jsonl", tmp_path / "there.db"
    call("export", "r", "-o", file, "--ledger", talked)
    call("import", file, "--ledger", there)
    for path, words in ((talked, "here"), (there, "there")):
        with open_ledger(path) as ledger:
            ledger.run("r").record_message("m-3", "user", words)
    call("export", "r", "-o", file, "--ledger", talked)
    answer = call("import", file, "--ledger", there)
    assert answer.code == 1
    assert "run r: another event at position 4" in answer.out
    document = call("import", file, "--ledger", there, "--json").document
    assert document["differing"] == [{"stream": "r", "position": 4}]


def test_what_cannot_be_is_said(call: Call, file: Path, good: Path, tmp_path: Path, alter: Alter) -> None:
    there = tmp_path / "there.db"
    assert call("export", "--ledger", good).code == 64
    assert call("export", "refund-17", "--all", "--ledger", good).code == 64
    assert call("export", "--all", "--json", "--ledger", good).code == 64
    assert call("import", file, "--actor", "human:kim", "--ledger", there).code == 64
    other = call("import", file, "--tenant", "acme", "--ledger", there)
    assert (other.code, "tenant" in other.err) == (3, True)
    assert not there.exists()
    alter(good, "UPDATE events SET record = replace(record, 'a', 'b') WHERE run = 'refund-17'")
    assert call("export", "refund-17", "--ledger", good).code == 1


def test_a_file_that_is_refused_is_named_and_leaves_no_ledger_behind(
    call: Call, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, bad, whole = tmp_path / "there.db", tmp_path / "bad", file.read_bytes()
    lines = whole.splitlines(keepends=True)
    record = next(number for number, line in enumerate(lines) if b"run.opened" in line)
    packed = "it is compressed (gzip): gunzip < FILE | intent-ledger import -"
    end = f"line {len(lines)}: "
    where = f"line {record + 1}: the file is not what was exported: in it "
    cases = [
        (b"", "it is empty: neither an export nor a transcript"),
        (gzip.compress(whole), packed),
        (lines[0][:5], "line 1: the export ends within its first line: it was cut"),
        (lines[0][:-1], "line 1: the export ends within its first line: it was cut"),
        (whole[:-20], end + "the file ends within this line: it was cut"),
        (
            whole.replace(b'"records":', b'"others":'),
            end + "it is not a line of an export: it has no 'records'",
        ),
        (
            b"".join([*lines[:record], lines[record].replace(b"opened", b"Opened"), *lines[record + 1 :]]),
            where,
        ),
    ]
    for content, why in cases:
        bad.write_bytes(content)
        answer = call("import", bad, "--ledger", there)
        assert answer.code == 1
        assert f"{bad}: {why}" in answer.err
        assert not there.exists()
    for content, why in ((b"", "line 1: the file is empty"), (gzip.compress(whole), packed)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        answer = call("import", "-", "--ledger", there)
        assert (answer.code, why in answer.err, there.exists()) == (1, True, False)
    bad.write_text("no transcript\n")
    answer = call("import", bad, "--ledger", there)
    assert (answer.code, answer.err, there.exists()) == (1, "", False)
    assert "broken: line 1" in answer.out


def test_what_is_written_steers_no_terminal(call: Call, hostile: Path) -> None:
    out = call("export", HOSTILE_ID, "--ledger", hostile).out
    assert out.isascii()
    assert all(character.isprintable() or character == "\n" for character in out)


def test_contents_are_dropped_and_said_to_be(call: Call, talked: Path) -> None:
    dry = call(
        "expire", "--class", "message", "--older-than", "0s", "--dry-run", "--json", "--ledger", talked
    )
    assert dry.document["contents"] == 2
    assert dry.document["events"] == 0
    young = call("expire", "--older-than", "1d", *WHY, "--json", "--ledger", talked).document
    assert (young["contents"], young["kept"]) == (0, 2)
    assert young["kept_because"] == {"named_since": 2, "other_runs": 0, "wanted": 0}
    stay = call("expire", "--older-than", "1d", "--dry-run", "--ledger", talked).out
    assert re.search(r"; 2 stay: 2 named by a record of [\d :-]+Z or later\n", stay)
    done = call("expire", "--class", "message,result", "--older-than", "0s", *WHY, "--ledger", talked)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 contents dropped, 17 bytes")
    assert call("expire", "--class", "message", *WHY, "--json", "--ledger", talked).document["contents"] == 0
    log = call("log", "r", "--ledger", talked).out
    assert log.count("by human:kim: 'kept long enough'") == 2
    own = call("log", "$ledger", "--ledger", talked).out
    assert "ledger.content_expired" in own
    report = call("verify", "--all", "--ledger", talked, "--json")
    assert (report.code, report.document["expired_contents"]) == (0, 2)
    assert "EXPIRED: 2 contents" in call("verify", "--all", "--ledger", talked).out


def test_who_says_too_little_drops_nothing(call: Call, talked: Path) -> None:
    for arguments in (
        (*WHY,),
        ("--class", "message"),
        ("--class", "message", "--by", "human:kim"),
        ("--older-than", "soon", *WHY),
    ):
        assert call("expire", *arguments, "--ledger", talked).code == 64
    bare = call("expire", "--ledger", talked)
    assert (bare.code, "say what is to go: --class, --older-than or --run" in bare.err) == (64, True)
    mistyped = call("expire", "--class", "message,mesage", "--dry-run", "--ledger", talked)
    assert (mistyped.code, "'mesage': no such class; did you mean message?" in mistyped.err) == (64, True)
    assert call("expire", "--finish", "--class", "message", "--ledger", talked).code == 64
    assert call("expire", "--finish", "--actor", "agent:a", "--ledger", talked).code == 4
    agent = ("--by", "agent:a", "--reason", "x")
    assert call("expire", "--class", "message", *agent, "--ledger", talked).code == 4
    assert call("expire", "--run", "nobody", *WHY, "--ledger", talked).code == 3
    assert call("verify", "--all", "--ledger", talked, "--json").document["expired_contents"] == 0
