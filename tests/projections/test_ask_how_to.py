"""The page on asking does what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ledger.adapters.cli.app import command
from projections.questions.catalogue import QUESTIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ask.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(example, {})


def test_every_command_of_the_page_is_there() -> None:
    lines = re.findall(r"^    (?:\$ )?(intent-ledger .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) > 8
    commands = command().commands
    for line in lines:
        _, name, *more = shlex.split(line)
        assert name in commands
        named = [word for word in more if not word.startswith("-") and "=" not in word]
        if name == "ask" and named:
            assert named[0] in QUESTIONS
