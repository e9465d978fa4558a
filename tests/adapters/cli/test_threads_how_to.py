"""The page on threads: its example runs, and each command line does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ledger import open_ledger
from tests.adapters.cli.conftest import Call
from tests.adapters.threads.plain import chat, states_of
from tests.conftest import ROOT

PAGE = (ROOT / "docs/how-to/threads.md").read_text("utf-8")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "threads.md", "exec"), {"__name__": "__main__"})
    assert (tmp_path / "ledger.db").exists()


def test_each_line_does_what_it_says(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setenv("INTENT_LEDGER_URL", str(path))
    with open_ledger(path) as ledger:
        chat(states_of(ledger), "order-17", 8)
    lines = re.findall(r"^ {4,6}(intent-ledger .*)$", PAGE, re.MULTILINE)
    assert len(lines) == 9
    for line in lines:
        told = call(*shlex.split(line)[1:])
        assert (told.code, told.err) == (0, ""), line
        assert "order-17" in told.out or line.startswith("intent-ledger log")
    assert "0 states" in call("threads", "show", "order-17").out
