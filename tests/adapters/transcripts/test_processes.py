"""Importing in processes that are killed, or that import the same file at once."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.transcripts import import_transcripts, importing
from ledger.adapters.transcripts.documents import read_document
from tests.adapters.transcripts import importer
from tests.adapters.transcripts.conversation import (
    POLICY,
    TOOLS,
    Message,
    answers,
    calls,
    events,
    line,
    says,
    system,
    user,
)

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
RUNS = 4


def talk(number: int) -> list[Message]:
    """Make a transcript that needs many small appends, and leaves one call open."""
    turns: list[Message] = []
    for turn in range(12):
        turns += [
            calls("pay", {"n": turn % 5}),
            answers("Error" if turn % 3 else "paid"),
            says(f"turn {turn}"),
        ]
    return [system(), user(f"Job {number}"), *turns, calls("look"), calls("pay", {"n": 1}, id="open")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(line(f"r{number}", talk(number)) for number in range(RUNS)))
    return path


def start(database: Path, file: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", importer.__name__, str(database), str(file)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def told_in_one_go(file: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """Import without interruption, in appends of the same size."""
    monkeypatch.setattr(importing, "CHUNK_EVENTS", importer.APPEND_EVENTS)
    with open_ledger(":memory:", actor=Actor("service:importer")) as ledger:
        import_transcripts(ledger, file, tools=TOOLS)
        return all_events(ledger)


def all_events(ledger: Ledger) -> dict[str, list[object]]:
    source = read_document(POLICY).source
    runs = {run.run: list[object](events(ledger, run.run)) for run in ledger.runs().runs}
    return {**runs, source: [record.event for record in ledger.log_source(source)]}


def test_an_import_that_is_killed_again_and_again_ends_like_one_that_was_not(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "ledger.db"
    kills = 0
    while True:
        with start(database, file) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("go\n")
            patience = random.randint(1, 12)
            for lines, said in enumerate(process.stdout, 1):
                if lines == patience:
                    process.send_signal(signal.SIGKILL)
                elif lines < patience and said.startswith("{"):
                    process.stdin.write("end\n")
            ended = process.wait()
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
        kills += 1
        with open_ledger(database) as ledger:
            # Whatever is there is whole, and nobody could go on from it by accident.
            assert {run.status for run in ledger.runs().runs} <= {"suspended"}
            all_events_so_far = {run.run: events(ledger, run.run) for run in ledger.runs().runs}
            assert all(all_events_so_far.values())
    assert kills > 0
    with open_ledger(database) as ledger:
        assert all_events(ledger) == told_in_one_go(file, monkeypatch)


def test_processes_that_import_the_same_file_at_once_double_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "ledger.db"
    open_ledger(database).close()
    processes = [start(database, file) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reports = []
    for process in processes:
        out, _ = process.communicate()
        assert process.returncode == 0
        reports.append(json.loads(out.splitlines()[-1]))
    expected = told_in_one_go(file, monkeypatch)
    assert sum(report["added"] for report in reports) == RUNS
    assert sum(report["refused"] + report["broken"] for report in reports) == 0
    assert sum(report["events"] for report in reports) == sum(len(expected[f"r{n}"]) for n in range(RUNS))
    with open_ledger(database) as ledger:
        assert all_events(ledger) == expected
