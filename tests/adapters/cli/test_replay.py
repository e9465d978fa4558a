"""`replay`; what becomes of a transcript is tested with the replaying itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.transcripts import sample_path, sample_tools_path
from tests.adapters.cli.command import PROGRAM, Answer, environment, run
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT
from tests.servers.waiting import until

HOTEL = "ledger.adapters.transcripts.samples.hotel"
SAMPLE = ("replay", sample_path(), "--tools", sample_tools_path(), "--outside", HOTEL)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Return a folder where the samples are replayed on a hotel of its own."""
    folder = tmp_path / "desk"
    folder.mkdir()
    return folder


def replay(folder: Path, *more: str) -> Answer:
    return run(*SAMPLE, *more, cwd=folder)


def test_the_samples_are_replayed_and_what_stops_one_says_what_to_do(sample: Path) -> None:
    answer = replay(sample)
    assert (answer.code, answer.err) == (1, "")
    lines = answer.out.splitlines()
    assert "hotel-41 call 2 book_room: refused, as recorded" in lines
    assert "hotel-41 call 3 book_room: done, as recorded" in lines
    assert "3 chats: 2 replayed, 1 stopped" in lines
    assert "stopped: line 2, run hotel-42, call 4 book_room: " in answer.out
    assert "call 2 did the same (key " in lines[-1]
    assert lines[-1].endswith("--only hotel-42 --repeat 4=WHY, or --only hotel-42 --undone-by 4=KEY")

    answer = replay(sample, "--only", "hotel-42", "--undone-by", "4=3")
    assert (answer.code, answer.out.splitlines()[-2:]) == (
        0,
        ["hotel-42 call 4 book_room: done, as recorded", "1 chat: 1 replayed"],
    )
    answer = replay(sample)
    assert answer.code == 0
    assert answer.out.count("known before") == 9
    with open_ledger(sample / "ledger.db") as ledger:
        assert [each.run for each in ledger.runs().runs] == ["hotel-41", "hotel-42", "hotel-43"]


def test_one_document_tells_each_chat_call_by_call(sample: Path) -> None:
    document = replay(sample, "--json").document
    assert {name: document[name] for name in ("replayed", "stopped", "unknown", "broken", "otherwise")} == {
        "replayed": 2,
        "stopped": 1,
        "unknown": 0,
        "broken": 0,
        "otherwise": 0,
    }
    refused, stopped, unanswered = document["transcripts"]
    assert [call["came"] for call in refused["calls"]] == ["read", "refused", "done"]
    assert {name: stopped[name] for name in ("verdict", "code", "call", "first", "tool", "run")} == {
        "verdict": "stopped",
        "code": "possible_repeat",
        "call": 4,
        "first": 2,
        "tool": "book_room",
        "run": "hotel-42",
    }
    assert stopped["first_key"] == stopped["calls"][1]["key"]
    assert "--undone-by" in stopped["hint"]
    assert "recorded" not in unanswered["calls"][-1]


SHOP = """
import os
import time
from pathlib import Path

from ledger import Happened, NotHappened, tool

print("imported")


def find(key, args):
    return Happened("done") if Path(key).exists() else NotHappened()


@tool(recovery="queryable", probe=find, lease_seconds=2, settle_seconds=0)
def order(of: str, *, effect) -> str:
    Path(effect.key).touch()
    if os.environ.get("STOP"):
        Path("stopped").touch()
        while True:
            time.sleep(60)
    return "done"


@tool
async def mail(to: str) -> str:
    if to == "nobody":
        raise OSError("line cut")
    return "sent"
"""


def chat(path: Path, *calls: tuple[str, dict[str, str], str]) -> Path:
    messages = [{"role": "user", "content": "Please"}]
    for tool, args, words in calls:
        call = {"id": "1", "function": {"name": tool, "arguments": json.dumps(args)}}
        messages.append({"role": "assistant", "tool_calls": [call]})  # type: ignore[dict-item]
        messages.append({"role": "tool", "tool_call_id": "1", "content": words})
    path.write_text(json.dumps({"id": "c1", "messages": messages}) + "\n")
    return path


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_a_replay_that_was_killed_waits_asks_and_goes_on(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", ("order", {"of": "tea"}, "done"), ("order", {"of": "milk"}, "done"))
    command = [str(PROGRAM), "replay", str(file), "--outside", "shop.py"]
    first = subprocess.Popen(command, cwd=shop, env=environment(STOP="1"), stdout=subprocess.DEVNULL)
    until((shop / "stopped").exists, "the call is under way")
    first.kill()
    assert first.wait() == -signal.SIGKILL
    answer = run("replay", file, "--outside", "shop.py", "--wait", "60", "--json", cwd=shop)
    assert answer.code == 0, answer
    [row] = answer.document["transcripts"]
    assert [(call["came"], call["before"]) for call in row["calls"]] == [("done", True), ("done", False)]


@pytest.mark.slow
def test_ctrl_c_ends_it_with_one_line_and_leaves_the_call_in_flight(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", ("mail", {"to": "kim"}, "sent"), ("order", {"of": "tea"}, "done"))
    command = [str(PROGRAM), "replay", str(file), "--outside", "shop.py"]
    pipe, stop = subprocess.PIPE, environment(STOP="1")
    # Tests that run in the background have Ctrl-C ignored, and so have the programs that they start.
    heeded = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    heeded += "os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", heeded, *command]
    first = subprocess.Popen(command, cwd=shop, env=stop, stdout=pipe, stderr=pipe, text=True)
    until((shop / "stopped").exists, "the call is under way")
    first.send_signal(signal.SIGINT)
    out, err = first.communicate()
    assert (first.returncode, out) == (130, "c1 call 1 mail: done, as recorded\n")
    said = "intent-ledger: interrupted after 1 call; the same replay again goes on there"
    assert err.splitlines() == ["imported", said]
    with open_ledger(shop / "ledger.db") as ledger:
        assert [one.effect.tool for one in ledger.effects("c1")] == ["order"]


def test_what_nobody_knows_ends_with_a_code_of_its_own_and_says_how_to_go_on(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", ("mail", {"to": "nobody"}, "sent"), ("mail", {"to": "kim"}, "sent"))
    answer = run("replay", file, "--outside", "shop.py", cwd=shop)
    assert (answer.code, answer.err) == (2, "imported\n")
    assert "unknown: line 1, run c1, call 1 mail: " in answer.out
    command = answer.out.splitlines()[-1].partition("intent-ledger settle ")[2].split()
    settled = run("settle", command[0], "--happened", "--evidence", "e", "--by", "human:kim", cwd=shop)
    assert settled.code == 0, settled
    assert run("replay", file, "--outside", "shop.py", cwd=shop).code == 0


def test_a_run_under_another_name_is_named_in_what_to_do(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", *[("order", {"of": "tea"}, "done")] * 2)
    options = ("--outside", "shop.py", "--only", "c1", "--as", "again")
    answer = run("replay", file, *options, cwd=shop)
    assert answer.code == 1
    assert "--only c1 --as again --repeat 2=WHY" in answer.out
    answer = run("replay", file, *options, "--repeat", "2=two were wanted", cwd=shop)
    assert (answer.code, answer.out.splitlines()[-1]) == (0, "1 chat: 1 replayed")


def test_what_the_outside_answers_otherwise_is_shown(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", ("mail", {"to": "kim"}, "queued"))
    answer = run("replay", file, "--outside", "shop.py", cwd=shop)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "c1 call 1 mail: done, otherwise than recorded: sent for queued",
        "1 chat: 1 replayed; 1 call answered otherwise",
    ]


def test_a_chat_that_did_not_begin_is_not_told_as_a_run(shop: Path) -> None:
    file = chat(shop / "chats.jsonl", ("fax", {"to": "kim"}, "sent"))
    answer = run("replay", file, "--outside", "shop.py", cwd=shop)
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "1 chat: 1 stopped",
        "stopped before it began: line 1, chat c1, call 1 fax: the outside offers no tool 'fax'",
    ]
    with open_ledger(shop / "ledger.db") as ledger:
        assert not ledger.runs().runs
    options = ("--outside", "shop.py", "--only", "c1", "--repeat", "9=why")
    answer = run("replay", chat(file, ("mail", {"to": "kim"}, "sent")), *options, cwd=shop)
    assert answer.out.splitlines()[1].startswith("stopped before it began: line 1, chat c1: it has no call 9")


def test_what_is_said_of_one_chat_needs_its_name(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for option in (("--as", "other"), ("--repeat", "4=why"), ("--undone-by", "4=3")):
        answer = call("replay", sample_path(), "--outside", HOTEL, *option)
        assert f"{option[0]} is about one chat: say which one with --only ID" in answer.err


@pytest.mark.parametrize(
    "options",
    [
        ("--outside", "nowhere"),
        ("--outside", HOTEL, "--undone-by", "4=3"),
        ("--outside", HOTEL, "--only", "hotel-42", "--undone-by", "x=3"),
        ("--outside", HOTEL, "--only", "hotel-42", "--repeat", "4"),
        ("--outside", HOTEL, "--only", "hotel-42", "--repeat", "4=a", "--repeat", "4=b"),
        ("--outside", HOTEL, "--as", "other"),
        ("--outside", HOTEL, "--wait", "-1"),
        (),
    ],
)
def test_a_malformed_command_leaves_nothing_behind(
    call: Call, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    answer = call("replay", sample_path(), *options)
    assert (answer.code, answer.out) == (64, "")
    assert not list(Path.cwd().iterdir())


def test_a_file_that_is_not_there_leaves_nothing_behind(call: Call) -> None:
    assert call("replay", "nowhere.jsonl", "--outside", HOTEL).code == 3
    assert not list(Path.cwd().iterdir())


# --- the page ----------------------------------------------------------------------------------------

PAGE = (ROOT / "docs/how-to/replay.md").read_text()


def blocks(kind: str) -> list[str]:
    """Return the blocks of code of the page in a language."""
    return [part.partition("```")[0] for part in PAGE.split(f"```{kind}\n")[1:]]


def test_the_commands_of_the_page_run_as_they_stand(tmp_path: Path) -> None:
    [example] = blocks("python")
    (tmp_path / "shop.py").write_text(example)
    shell = environment(PATH=f"{PROGRAM.parent}:/usr/bin:/bin")
    answers = [
        subprocess.run(
            ["bash", "-eu", "-c", block], cwd=tmp_path, env=shell, capture_output=True, text=True, check=False
        )
        for block in blocks("sh")
    ]
    assert [(answer.returncode, answer.stderr) for answer in answers] == [(1, ""), (0, ""), (0, ""), (0, "")]
    first, meant, again, own = (answer.stdout for answer in answers)
    shown = PAGE.partition("    hotel-41 call 2")
    for line in (shown[1] + shown[2].partition("\n\n")[0]).splitlines():
        assert line.strip().rstrip("…") in first
    assert "hotel-42 call 4 book_room: done, as recorded" in meant
    assert again.count("known before") == 9
    assert own.splitlines() == [
        "tea-1 call 1 place_order: refused, as recorded",
        "tea-1 call 2 place_order: done, as recorded",
        "1 chat: 1 replayed",
    ]


def test_the_page_names_every_verdict() -> None:
    for verdict, code in (("replayed", 0), ("stopped", 1), ("broken", 1), ("unknown", 2)):
        assert f"| {verdict} | {code} |" in PAGE
