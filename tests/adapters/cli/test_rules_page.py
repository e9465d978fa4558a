"""The page on rules: its file is sound, its example prints what it says, its commands answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ledger.adapters.sources.documents import parse_document
from ledger.values import Operator, Rule
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT

PAGE = (ROOT / "docs/how-to/rules.md").read_text("utf-8")


def block(kind: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_example_prints_what_the_page_says_and_its_commands_answer(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block("python"), "example.py", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out == block("text")
    Path("policy.yaml").write_text(block("yaml"))
    monkeypatch.setenv("INTENT_LEDGER_URL", "refunds.db")
    commands = [line.split()[1:] for line in re.findall(r"^    (intent-ledger .*)$", PAGE, re.MULTILINE)]
    for words in commands:
        confirmed = ["--withdraw-omitted"] if words[1] == "publish" else []
        answer = call(*words, *confirmed)
        assert answer.code == 0, (words, answer)
    assert len(commands) == 5


def test_the_file_says_what_the_page_says() -> None:
    entries = {entry.id: entry for entry in parse_document(block("yaml").encode(), "p", is_yaml=True).entries}
    assert {id for id, entry in entries.items() if entry.rule is None} == {"polite"}


def test_every_field_and_operator_is_on_the_page() -> None:
    for name in (*Rule.model_fields, *(one.value for one in Operator)):
        assert f"`{name}`" in PAGE, name
