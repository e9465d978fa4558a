"""The page on approvals: its programs run as they stand, and each command line does what it says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import Ledger, open_ledger
from ledger.adapters.cli import main
from ledger.adapters.notifying import Notifier
from tests.adapters.notifying.desk import Desk
from tests.conftest import ROOT
from tests.test_readme import blocks

PAGE = (ROOT / "docs/how-to/approvals.md").read_text("utf-8")
PROGRAM, TELLING = blocks(PAGE, "python")
WAITS, TOLD = blocks(PAGE, "text")
LIST, SHOW, APPROVE, ASK_ANEW, DENY = re.findall(r"^    \$ intent-ledger (.*)$", PAGE, re.MULTILINE)

Said = pytest.CaptureFixture[str]
Start = Callable[[str], str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTENT_LEDGER_URL", "pay.db")


@pytest.fixture
def start(capsys: Said) -> Start:
    def started(program: str) -> str:
        capsys.readouterr()
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out

    return started


def test_it_asks_once_and_pays_once_it_was_approved(start: Start, capsys: Said) -> None:
    assert [start(PROGRAM) for _ in range(2)] == [WAITS, WAITS]
    assert start(TELLING) == TOLD
    for line in (LIST, SHOW):
        assert main(shlex.split(line)) == 0
        assert WAITS.split()[-1] in capsys.readouterr().out
    assert main(shlex.split(APPROVE)) == 0
    assert [start(PROGRAM) for _ in range(2)] == ["paid {'id': 'tr_17'}\n"] * 2


def test_what_binds_no_more_is_asked_anew_or_denied(start: Start) -> None:
    start(PROGRAM)
    with open_ledger("pay.db") as ledger:
        run = ledger.run("order-17")
        run.revise_goal("Pay order 17, later", reason="no hurry", by="human:kim")
        assert held(ledger) == ["approval_void"]
        assert main(shlex.split(ASK_ANEW)) == 0
        assert held(ledger) == []
        run.revise_goal("Pay order 17 in March", reason="no hurry", by="human:kim")
        assert held(ledger) == ["approval_void"]
        assert main(shlex.split(DENY)) == 0, "it counts, and nothing waits any more"
        assert held(ledger) == []


def held(ledger: Ledger) -> list[str]:
    ledger.run("order-17").suspend(reason="night")
    return [reason.kind for reason in ledger.resume("order-17", dry_run=True).reasons]


def test_the_notice_is_the_one_that_is_told(start: Start) -> None:
    start(PROGRAM)
    desk = Desk()
    with open_ledger("pay.db") as ledger:
        Notifier(ledger, desk).run(until_current=True)
    (notice,) = desk.told
    (shown,) = blocks(PAGE, "json")
    printed, document = json.loads(shown), notice.document()
    for moment in ("requested_at", "expires_at"):
        assert len(printed.pop(moment)) == len(document.pop(moment))
    assert printed == document
    assert list(json.loads(shown)) == list(notice.document())


@pytest.mark.parametrize("line", re.findall(r"^    intent-ledger (notify .*)$", PAGE, re.MULTILINE))
def test_the_notifiers_are_command_lines_that_the_program_takes(
    start: Start, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(PROGRAM)
    main(shlex.split(APPROVE))
    script = tmp_path / "tell-the-desk"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("CHAT_TOKEN", "Bearer x")
    assert main([*shlex.split(line), "--until-current"]) == 0, "nothing waits that could be told"
