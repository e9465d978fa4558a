"""From arguments to an exit code: help, usage, settings, errors, defects, interrupts and broken pipes."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.cli import entry, main, runs
from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verdict import CODES
from ledger.errors import ChainBroken, InvalidInput, LedgerError, RunIsClosed, RunNotFound, StoreBusy
from tests.adapters.cli.command import PROGRAM, environment, run_anew
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT

VERBS = (
    "demo",
    "import",
    "runs",
    "contract",
    "brief",
    "log",
    "diff",
    "resume",
    "refresh",
    "suspend",
    "cancel",
    "restart",
    "fork",
    "accept",
    "acknowledge",
    "revise-goal",
    "revise-plan",
    "grant",
    "renew",
    "narrow",
    "revoke",
    "adopt-runtime",
    "refute",
    "effects",
    "effect",
    "reconcile",
    "settle",
    "tools",
    "obligations",
    "may",
    "approvals",
    "approval",
    "approve",
    "deny",
    "request-approval",
    "notify",
    "ask",
    "export",
    "expire",
    "replay",
    "mcp",
    "verify",
    "schema",
    "migrate",
    "doctor",
    "do",
    "sources",
    "rules",
    "review",
    "project",
    "threads",
)
WHY = ("--by", "human:kim", "--reason", "old")
READERS = (
    ("runs",),
    ("runs", "--held"),
    ("runs", "--quiet-for", "1h"),
    ("resume", "refund-17"),
    ("resume", "refund-17", "--dry-run"),
    ("refresh", "refund-17"),
    ("review", "sign", "refund-17", "--meaning", "reviewed", "--by", "human:kim"),
    ("review", "list"),
    ("suspend", "refund-17", *WHY),
    ("cancel", "refund-17", *WHY),
    ("restart", "refund-17", "--as", "next", *WHY),
    ("fork", "refund-17", "--as", "next", "--at", "1"),
    ("accept", "refund-17", "limit-100", "--by", "human:kim"),
    ("acknowledge", "refund-17", "policy:refunds", "--by", "human:kim"),
    ("revise-goal", "refund-17", *WHY),
    ("do", "plan.commit", "refund-17", "--steps", '{"name": "x"}'),
    ("log", "$ledger"),
    ("contract", "refund-17"),
    ("brief", "refund-17"),
    ("log", "refund-17"),
    ("diff", "refund-17"),
    ("effects",),
    ("effects", "refund-17", "--all"),
    ("effect", "5" * 64),
    ("effect", "5" * 8),
    ("reconcile",),
    ("settle", "5" * 64, "--happened", "--evidence", "seen", "--by", "human:kim"),
    ("tools",),
    ("obligations",),
    ("approvals", "--all"),
    ("approval", "5" * 73),
    ("approve", "5" * 73, "--by", "human:kim"),
    ("deny", "5" * 73, "--by", "human:kim"),
    ("request-approval", "5" * 64),
    ("ask", "writers", "run=refund-17"),
    ("sources", "list"),
    ("sources", "show", "policy:refunds"),
    ("sources", "affected", "policy:refunds"),
    ("sources", "withdraw", "policy:refunds", "limit-100", "--by", "human:kim", "--reason", "old"),
    ("export", "--all", "--output", "out.jsonl"),
    ("export", "refund-17", "-o", "out.jsonl"),
    ("expire", "--class", "message", "--dry-run"),
    ("expire", "--run", "refund-17", *WHY),
    ("threads", "list"),
    ("threads", "show", "order-17"),
    ("threads", "prune", "order-17", "--dry-run"),
    ("threads", "delete", "order-17", *WHY),
    ("verify", "--all"),
    ("verify", "refund-17"),
    ("migrate",),
    ("doctor",),
    ("mcp", "--actor", "agent:refunds"),
)


def test_no_two_endings_share_a_code() -> None:
    assert len(set(Exit)) == len(Exit.__members__)
    assert sorted(CODES.values()) == [Exit.FINE, Exit.BAD_NEWS, Exit.CANNOT_TELL]


def test_the_codes_are_documented_in_one_place() -> None:
    table = (ROOT / "docs/how-to/cli.md").read_text().partition("## Exit codes")[2].partition("##")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == sorted(Exit)


# --- help --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command_and_the_exit_codes(call: Call, arguments: list[str]) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.err) == (0, "")
    listed = answer.out.partition("\nCommands:\n")[2].splitlines()
    assert tuple(line.split()[0] for line in listed) == VERBS
    assert not any(line.endswith("...") for line in listed), "a summary is cut"
    assert "64  the command line" in answer.out


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_command_teaches_with_an_example(call: Call, verb: str) -> None:
    answer = call(verb, "--help")
    assert answer.code == 0
    assert f"  intent-ledger {verb}" in answer.out
    assert "--json" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80


def test_version(call: Call) -> None:
    answer = call("--version")
    assert answer.code == 0
    assert answer.out.startswith("intent-ledger ")


def test_help_loads_no_database_and_no_screen() -> None:
    script = (
        "import sys; from ledger.adapters.cli import main; main(['--help']); "
        "heavy = {'sqlite3', 'rich', 'pydantic', 'eventsourcing', 'psycopg'}; "
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [PROGRAM.with_name("python"), "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- usage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["run"],
        ["contract"],
        ["log", "a", "b"],
        ["runs", "--bogus"],
        ["log", "x", "--after=-1"],
        ["effect"],
        ["effects", "--all"],
        ["effects", "r", "--all", "--unknown"],
        ["effects", "r", "--limit", "3"],
        ["effects", "r", "--after", "3"],
        ["settle", "5" * 64, "--evidence", "e", "--by", "human:kim"],
        ["settle", "5" * 64, "--happened", "--did-not", "--evidence", "e", "--by", "human:kim"],
        ["settle", "5" * 64, "--did-not", "--ref", "ch_1", "--evidence", "e", "--by", "human:kim"],
        ["settle", "5" * 64, "--did-not", "--result", "1", "--evidence", "e", "--by", "human:kim"],
        ["settle", "5" * 64, "--happened", "--by", "human:kim"],
        ["settle", "5" * 64, "--happened", "--evidence", "e"],
    ],
)
def test_a_malformed_command_line_exits_with_64(call: Call, arguments: list[str]) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.out) == (64, "")
    assert answer.err.startswith("intent-ledger: ")
    assert "; see: intent-ledger" in answer.err
    with_json = call(*arguments, "--json")
    assert (with_json.code, with_json.error["code"]) == (64, "usage")


def test_a_misspelt_command_is_guessed_at(call: Call) -> None:
    assert "Did you mean 'contract'?" in call("contrct").err


def test_an_id_that_begins_with_a_dash_is_told_to_stand_behind_two(call: Call) -> None:
    hint = "an id that begins with a dash stands behind --"
    assert hint in call("contract", "-17").err
    assert hint not in call("contract", "--at-all", "r").err


def test_hostile_arguments_are_shown_and_not_obeyed(call: Call) -> None:
    answer = call("\x1b[2J[red]\u202e")
    assert answer.code == 64
    assert "\x1b" not in answer.err
    assert "\u202e" not in answer.err


# --- settings ----------------------------------------------------------------------------------------


def test_options_may_stand_before_or_after_the_command(call: Call, good: Path) -> None:
    for arguments in (("--ledger", good, "runs"), ("runs", "--ledger", good)):
        assert call(*arguments).code == 0
    assert call("--ledger", "nowhere.db", "runs", "--ledger", good).code == 0
    assert "no runs" in call("--ledger", good, "--tenant", "x", "runs").err


def test_the_environment_names_the_ledger(call: Call, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENT_LEDGER_URL", str(good))
    assert call("runs").code == 0
    monkeypatch.setenv("INTENT_LEDGER_TENANT", "")
    assert call("runs").code == 64
    monkeypatch.delenv("INTENT_LEDGER_TENANT")
    monkeypatch.setenv("INTENT_LEDGER_URI", str(good))
    answer = call("runs", "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")


@pytest.mark.parametrize("url", [":memory:", "mysql://db/x", "", " "])
def test_an_address_that_names_no_file_is_a_usage_error(call: Call, url: str) -> None:
    assert call("runs", "--ledger", url).code == 64


# --- what is not a ledger ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", READERS)
def test_a_reader_never_creates_a_ledger(call: Call, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "nowhere.db"
    answer = call(*arguments, "--ledger", path, "--json")
    assert (answer.code, answer.out) == (3, "")
    assert answer.error["code"] == "store_unavailable"
    assert answer.error["data"]["reason"] == "missing"
    assert list(tmp_path.glob("nowhere*")) == []
    assert "--ledger" in call(*arguments, "--ledger", path).err


@pytest.mark.parametrize("arguments", [a for a in READERS if a[0] not in {"migrate", "verify"}])
def test_a_file_that_holds_no_ledger_is_left_as_it_is(
    call: Call, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    answer = call(*arguments, "--ledger", empty, "--json")
    assert (answer.code, answer.error["data"]["reason"]) == (3, "empty")
    assert empty.stat().st_size == 0


@pytest.mark.parametrize("arguments", READERS)
def test_a_file_of_something_else_could_not_be_read(
    call: Call, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("dear diary\n" * 1000)
    answer = call(*arguments, "--ledger", other, "--json")
    assert (answer.code, answer.error["data"]["reason"]) == (3, "not_a_database")
    assert other.read_text() == "dear diary\n" * 1000
    assert call(*arguments, "--ledger", tmp_path).code == 3


@pytest.mark.parametrize("arguments", [a for a in READERS if a[0] != "doctor"])
def test_a_newer_schema_could_not_be_read(call: Call, good: Path, arguments: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(good)) as connection, connection:
        connection.execute("INSERT INTO ledger_migrations VALUES (99, 'future')")
    answer = call(*arguments, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "schema_mismatch")
    assert answer.error["data"]["found"] == 99


# --- how it ends -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("x", path="p", reason="r"), 64),
        (RunNotFound("x", run="r"), 3),
        (StoreBusy("x"), 3),
        (RunIsClosed("x", rule="run_is_closed", position=1, evidence={}), 4),
        (ChainBroken("x", run="r", position=1), 1),
    ],
)
def test_errors_of_the_ledger_have_their_codes(error: LedgerError, code: int) -> None:
    assert entry.exit_of(error) == code


def test_a_defect_is_told_apart_from_bad_news(
    call: Call, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError("\x1b[2J")

    monkeypatch.setattr(runs, "_labels", defect)
    answer = call("runs", "--ledger", good)
    assert (answer.code, answer.out) == (70, "")
    assert "ZeroDivisionError" in answer.err
    assert "\x1b" not in answer.err


def test_an_operating_system_error_could_not_run(
    call: Call, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/var/x")

    monkeypatch.setattr(runs, "_labels", full)
    answer = call("runs", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "os_error")
    assert answer.error["data"] == {"errno": errno.ENOSPC, "path": "/var/x"}


def test_an_interrupt_ends_quietly(call: Call, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_labels", interrupted)
    assert call("runs", "--ledger", good) == (130, "", "")


def test_standard_output_holds_the_answer_and_nothing_else(good: Path) -> None:
    answer = run_anew("runs", "--ledger", good, "--json")
    assert (answer.code, answer.err) == (0, "")
    json.loads(answer.out)
    failed = run_anew("log", "nobody", "--ledger", good)
    assert (failed.code, failed.out) == (3, "")


def test_a_reader_that_goes_away_ends_the_command_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "long.db"
    with open_ledger(path) as ledger:
        opened = ledger.open_run("long", "g" * 60_000)
        for number in range(12):
            opened.assume(f"a{number}", "t" * 60_000)
    for arguments in (["log", "long"], ["log", "long", "--json"], ["contract", "long"], ["--help"]):
        reading, writing = os.pipe()
        with subprocess.Popen(
            [PROGRAM, *arguments],
            env=environment(INTENT_LEDGER_URL=str(path)),
            stdout=writing,
            stderr=subprocess.PIPE,
        ) as child:
            os.close(writing)
            os.close(reading)
            assert child.stderr is not None
            said = child.stderr.read()
        assert (child.returncode, said) == (141, b""), arguments


def test_an_answer_that_cannot_be_written_could_not_run(good: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PROGRAM, "runs", "--ledger", good, "--json"],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert json.loads(done.stderr)["data"]["errno"] == errno.ENOSPC


def test_streams_that_the_shell_closed_are_done_without(good: Path) -> None:
    for closed in ("1", "2"):
        script = f'exec "$0" runs --ledger "$1" {closed}>&-'
        done = subprocess.run(
            ["sh", "-c", script, PROGRAM, good], env=environment(), capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_arguments_that_are_no_text_are_refused_or_shown_as_escapes(good: Path) -> None:
    odd = os.fsdecode(b"\xff")
    for arguments in (["contract", odd], ["runs", "--ledger", f"{odd}.db"], ["runs", "--prefix", odd]):
        done = subprocess.run(
            [PROGRAM, *arguments],
            env=environment(INTENT_LEDGER_URL=str(good)),
            capture_output=True,
            check=False,
        )
        assert done.returncode in {0, 3, 64}, done.stderr
        assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "encoding",
    ["ascii", pytest.param("latin-1", marks=pytest.mark.slow), pytest.param("utf-8", marks=pytest.mark.slow)],
)
def test_every_locale_can_carry_the_answer(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "l.db"
    with open_ledger(path) as ledger:
        ledger.open_run("zürich-日本", "Ziel: Zürich")
    asked = (["runs"], ["contract", "zürich-日本"], ["log", "zürich-日本"], ["runs", "--json"])
    # One after another in one process that begins so: what it says is encoded by the same streams.
    script = "from ledger.adapters.cli import main; " + "; ".join(
        f"assert main({[*words, '--ledger', str(path)]!a}) == 0" for words in asked
    )
    done = subprocess.run(
        [PROGRAM.with_name("python"), "-c", script],
        env=environment(PYTHONIOENCODING=encoding),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode(encoding)
    assert said.count("rich") >= len(asked)


def test_main_takes_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["intent-ledger", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("intent-ledger ")
