"""`export`, `import` of what it wrote, and `expire`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ledger import open_ledger
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
    assert (other.code, "tenant" in other.err) == (64, True)
    file.write_bytes(file.read_bytes()[:-20])
    cut = call("import", file, "--ledger", there)
    assert (cut.code, "it was cut" in cut.err) == (1, True)
    alter(good, "UPDATE events SET record = replace(record, 'a', 'b') WHERE run = 'refund-17'")
    assert call("export", "refund-17", "--ledger", good).code == 1


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
    done = call("expire", "--class", "message,result", "--older-than", "0s", *WHY, "--ledger", talked)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("2 contents dropped, 17 bytes")
    assert call("expire", "--class", "message", *WHY, "--json", "--ledger", talked).document["contents"] == 0
    log = call("log", "r", "--ledger", talked).out
    assert log.count('by human:kim: "kept long enough"') == 2
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
    agent = ("--by", "agent:a", "--reason", "x")
    assert call("expire", "--class", "message", *agent, "--ledger", talked).code == 4
    assert call("expire", "--run", "nobody", *WHY, "--ledger", talked).code == 3
    assert call("verify", "--all", "--ledger", talked, "--json").document["expired_contents"] == 0
