"""The page on checkpoints: its agent runs as it stands, waits for a person, and goes on in another one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.checkpointer import BOUNDARIES, Checkpointer
from ledger.adapters.cli import main
from tests.conftest import ROOT
from tests.test_readme import blocks, python

PAGE = (ROOT / "docs/how-to/checkpointer.md").read_text("utf-8")
AGENT, EARLIER = blocks(PAGE, "python")
WAITS, PAID, DELETED = blocks(PAGE, "text")
LIST, APPROVE = re.findall(r"^    \$ intent-ledger (.*)$", PAGE, re.MULTILINE)
COUNTED = AGENT.replace("return {", "open('bank', 'a').write('paid\\n'); return {", 1)
DIES = COUNTED.replace(
    'saves.save(CHAT, {"messages": messages}, at="after_tool")', "__import__('os')._exit(9)"
)


def begun(program: str) -> str:
    """Start the program in this process; return what it ends with where it gives up, else nothing."""
    try:
        exec(compile(program, "agent.py", "exec"), {"__name__": "__main__"})
    except SystemExit as told:
        return f"{told.code}\n"
    return ""


def test_the_loop_is_about_thirty_lines() -> None:
    loop = AGENT[AGENT.index("with open_ledger") :]
    assert len(loop.splitlines()) <= 30


@pytest.mark.slow
def test_an_agent_that_waits_for_a_person_goes_on_after_restarts_and_a_kill_and_pays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert python(COUNTED, tmp_path).stderr == WAITS
    assert begun(COUNTED) == WAITS
    approval = WAITS.split()[-1]
    assert main(shlex.split(LIST)) == 0
    assert approval in capsys.readouterr().out
    assert main(shlex.split(APPROVE.replace("ID", approval))) == 0
    capsys.readouterr()
    assert DIES != COUNTED
    assert python(DIES, tmp_path).returncode == 9
    assert begun(COUNTED) + begun(COUNTED) == ""
    assert capsys.readouterr().out == PAID + PAID
    assert (tmp_path / "bank").read_text() == "paid\n"
    with open_ledger(tmp_path / "agent.db") as ledger, Checkpointer.open(ledger) as saves:
        loaded = saves.load("order-17")
        assert loaded is not None
        assert [one["id"] for one in loaded.state["messages"]] == ["m1", "m2", "m3", "m4"]
        listed = [one.boundary for one in saves.list_checkpoints("order-17")]
        assert listed == ["after_model", "after_tool", "after_model"]


def test_an_earlier_state_is_loaded_and_a_thread_deleted_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert begun(EARLIER) == ""
    assert capsys.readouterr().out == DELETED


def test_the_page_names_every_boundary_and_default() -> None:
    for boundary in BOUNDARIES:
        assert f"`{boundary}`" in PAGE
