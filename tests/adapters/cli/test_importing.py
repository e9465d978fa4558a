"""`import`; what becomes of a transcript is tested with the importer itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger
from ledger.adapters.transcripts import importing, sample_path, sample_tools_path
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call


def chat(id: str, *texts: str) -> str:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return json.dumps({"id": id, "messages": messages}) + "\n"


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text(chat("c1", "Hello") + chat("c2", "Good day", "And to you"))
    return path


def counts(document: dict[str, int]) -> dict[str, int]:
    return {name: n for name, n in document.items() if isinstance(n, int) and n and name != "events"}


def test_creates_the_ledger_and_says_what_became_of_the_file(call: Call, chats: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    answer = call("import", chats, "--ledger", path)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[1].split()[:2] == ["added", "2"]
    document = call("runs", "--ledger", path, "--json").document
    assert [run["run"] for run in document["runs"]] == ["c1", "c2"]


def test_added_grown_unchanged_refused_and_broken_are_told_apart(
    call: Call, chats: Path, tmp_path: Path
) -> None:
    path = tmp_path / "new.db"
    assert counts(call("import", chats, "--ledger", path, "--json").document) == {"added": 2}
    assert counts(call("import", chats, "--ledger", path, "--json").document) == {"unchanged": 2}
    chats.write_text(
        chat("c1", "Hello", "Hi")
        + chat("c2", "Good night", "And to you")
        + '{"id": "c3"\n'
        + chat("c4", "New")
    )
    answer = call("import", chats, "--ledger", path, "--json")
    assert answer.code == 1
    assert counts(answer.document) == {"added": 1, "grown": 1, "refused": 1, "broken": 1}
    by_line = {row["line"]: row for row in answer.document["transcripts"]}
    assert [by_line[line]["verdict"] for line in (1, 2, 3, 4)] == ["grown", "refused", "broken", "added"]
    assert by_line[2]["code"] == "diverges"
    plain = call("import", chats, "--ledger", path)
    assert plain.code == 1
    assert "refused: line 2, run c2" in plain.out
    assert "broken: line 3" in plain.out
    assert "Good day" in plain.out
    assert "Good night" in plain.out


def test_the_samples_of_the_product_come_in_whole(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    answer = call("import", sample_path(), "--tools", sample_tools_path(), "--ledger", path, "--json")
    assert answer.code == 0
    assert answer.document["added"] > 1
    assert answer.document["sources"] >= 1


RULES = "# Desk rules\n\n- Never promise a room\n- Ask for the name\n"


@pytest.fixture
def ruled(tmp_path: Path) -> Path:
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": "Hello"}]
    path = tmp_path / "ruled.jsonl"
    path.write_text("".join(json.dumps({"id": f"r{n}", "messages": messages}) + "\n" for n in (1, 2)))
    return path


def test_the_source_of_a_document_is_named_so_that_it_can_be_asked_for(
    call: Call, ruled: Path, tmp_path: Path
) -> None:
    path = tmp_path / "new.db"
    first = call("import", ruled, "--ledger", path)
    again = call("import", ruled, "--ledger", path, "--json").document
    (id,) = again["documents"]
    assert (again["unchanged"], again["sources"]) == (2, 0)
    assert f"constraints come from {id}" in first.out.splitlines()
    assert call("verify", f"source:{id}", "--ledger", path).code == 0
    assert "Never promise a room" in call("log", "--source", id, "--ledger", path).out


def test_of_very_many_sources_some_are_named_as_text_and_all_as_json(call: Call, tmp_path: Path) -> None:
    chats, path = tmp_path / "chats.jsonl", tmp_path / "new.db"
    chats.write_text(
        "".join(
            json.dumps(
                {
                    "messages": [
                        {"role": "system", "content": f"- Rule {n}"},
                        {"role": "user", "content": "Hello"},
                    ]
                }
            )
            + "\n"
            for n in range(12)
        )
    )
    answer = call("import", chats, "--ledger", path)
    assert answer.out.count("constraints come from document:") == 10
    assert "and from 2 more; --json lists all" in answer.out
    assert len(set(call("import", chats, "--ledger", path, "--json").document["documents"])) == 12


def interrupt_after(monkeypatch: pytest.MonkeyPatch, appends: int) -> None:
    """Press Ctrl-C when so many appends were made."""
    append = Ledger.import_events
    left = iter(range(appends))

    def appended(ledger: Ledger, *given: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return append(ledger, *given, **named)

    monkeypatch.setattr(Ledger, "import_events", appended)


def test_an_interrupt_says_how_much_is_in_and_the_same_again_adds_the_rest(
    call: Call, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.db"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        answer = call("import", chats, "--ledger", path)
    stored = len(call("log", "c1", "--ledger", path, "--json").out.splitlines())
    assert (answer.code, answer.out) == (130, "")
    added = f"{stored} events of 1 transcript added"
    assert answer.err == f"intent-ledger: interrupted: {added}; the same import again adds the rest\n"
    rest = call("import", chats, "--ledger", path, "--json").document
    assert counts(rest) == {"added": 1, "unchanged": 1}


def test_an_interrupt_is_an_object_for_programs_also_in_the_middle_of_a_run(
    call: Call, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.db"
    monkeypatch.setattr(importing, "CHUNK_EVENTS", 1)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        answer = call("import", chats, "--ledger", path, "--json")
    stored = len(call("log", "c1", "--ledger", path, "--json").out.splitlines())
    assert (answer.code, answer.out) == (130, "")
    assert answer.error["code"] == "interrupted"
    assert answer.error["data"]["events"] == stored > 0
    assert counts(answer.error["data"]) == {"added": 1}
    assert counts(call("import", chats, "--ledger", path, "--json").document) == {"added": 1, "grown": 1}


def test_the_actor_is_who_writes(call: Call, chats: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    call("import", chats, "--ledger", path, "--actor", "human:kim")
    for line in call("log", "c1", "--ledger", path, "--json").out.splitlines():
        assert json.loads(line)["actor"]["id"] == "human:kim"
    assert call("import", chats, "--ledger", path, "--actor", "kim").code == 64


@pytest.mark.parametrize("missing", ["FILE", "--tools"])
def test_a_file_that_is_not_there_leaves_no_ledger_behind(
    call: Call, chats: Path, tmp_path: Path, missing: str
) -> None:
    nowhere, path = tmp_path / "nowhere", tmp_path / "new.db"
    arguments = [nowhere] if missing == "FILE" else [chats, "--tools", nowhere]
    answer = call("import", *arguments, "--ledger", path, "--json")
    assert (answer.code, answer.error["code"]) == (3, "os_error")
    assert answer.error["data"]["path"] == str(nowhere)
    assert not path.exists()


def test_a_malformed_tools_file_is_refused_before_anything_is_written(
    call: Call, chats: Path, tmp_path: Path
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('{"tools": {"pay": {"recovery": "maybe"}}}')
    path = tmp_path / "new.db"
    assert call("import", chats, "--tools", tools, "--ledger", path).code == 64
    assert not path.exists()


def test_hostile_transcripts_steer_nothing(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text(chat("c1", "a\x1b[2J") + chat("c\x1b[2J", "x") + '{"id": "\x1b[2J\n')
    call("import", path, "--ledger", tmp_path / "new.db")
    path.write_text(chat("c1", "b\x1b]0;x\x07[red]"))
    answer = call("import", path, "--ledger", tmp_path / "new.db")
    assert answer.code == 1
    assert "\x1b" not in answer.out + answer.err
    assert "[red]" in answer.out


def test_progress_is_shown_where_somebody_watches_and_nowhere_else(
    call: Call, chats: Path, tmp_path: Path
) -> None:
    assert call("import", chats, "--ledger", tmp_path / "a.db").err == ""
    watched = at_terminal("import", chats, "--ledger", tmp_path / "b.db")
    assert watched.code == 0
    assert "chats.jsonl" in watched.out
    silent = at_terminal("import", chats, "--ledger", tmp_path / "c.db", "--json")
    assert json.loads(silent.out)["added"] == 2


def test_the_recorded_runs_of_a_real_agent(call: Call, shared_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "airline.db"
    data = shared_dir / "data"
    arguments = [data / "airline-runs.jsonl", "--tools", data / "airline-tools.json", "--ledger", path]
    assert call("import", *arguments, "--json").document["added"] == 40
    assert call("import", *arguments, "--json").document["unchanged"] == 40
    assert len(call("runs", "--ledger", path, "--json").document["runs"]) == 40
    out = call("log", "airline-0-3", "--ledger", path).out
    assert out.count("effect.intended") == 8
    assert "Constraints" in call("contract", "airline-0-3", "--ledger", path).out
    assert call("verify", "--all", "--ledger", path).code == 0
