"""Every command line of the pages on read models and on what leaves a ledger is run as it stands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.adapters.cli.command import PROGRAM, environment
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT

ELSEWHERE = {"project create --ledger postgresql://ledger_admin@db/app"}
"""What takes a server of that name; `test_project.py` has it on ours."""


def lines_of(page: str) -> list[str]:
    text = (ROOT / "docs/how-to" / page).read_text("utf-8")
    found = re.findall(r"^    (?:\$ )?((?:gunzip .* )?intent-ledger .*)$", text, re.MULTILINE)
    return [line for line in found if line.removeprefix("intent-ledger ") not in ELSEWHERE]


def as_it_ends(line: str) -> list[str]:
    """Split a line into words; one that would follow for ever ends when all is handled."""
    words = shlex.split(line)[1:]
    if words[:2] == ["project", "run"] and "--until-current" not in words:
        words.append("--until-current")
    return words


@pytest.mark.parametrize("page", ["projections.md", "ask.md", "export.md", "expiry.md"])
def test_each_line_does_what_it_says(
    page: str, call: Call, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENT_LEDGER_URL", str(good))
    lines = lines_of(page)
    assert len(lines) > 2
    for line in lines:
        if "|" in line:
            path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
            told = environment(PATH=path, INTENT_LEDGER_URL=str(good))
            code = subprocess.run(["sh", "-c", line], env=told, capture_output=True, check=False).returncode
        else:
            code = call(*as_it_ends(line)).code
        assert code == 0, line
