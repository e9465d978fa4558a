"""The programs of the page on LangGraph run as they stand, and print what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.test_readme import blocks

PAGE = (ROOT / "docs/how-to/langgraph.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLE = (ROOT / "docs/examples/pay_once.py").read_text("utf-8")
SHOWN = re.findall(
    r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", PAGE + README, re.MULTILINE | re.DOTALL
)
"""Programs, each with what it prints."""
(MODEL,) = (program for program, _ in SHOWN if "model = Scripted()" in program)
LINES = [program for program, _ in SHOWN if "return run(" in program]
"""Taken out of the example, and laid out as a page is."""
PROGRAMS = [one for one in SHOWN if "langgraph" in one[0] and one[0] not in (MODEL, *LINES)]


def test_nothing_that_the_page_shows_is_left_out() -> None:
    assert len(LINES) == 2
    assert len(PROGRAMS) + len(LINES) + 1 == len(blocks(PAGE, "python")) + 1
    assert {printed for _, printed in SHOWN} >= set(blocks(PAGE, "text"))


@pytest.mark.parametrize("lines", LINES)
def test_what_the_page_shows_of_the_example_stands_there(lines: str) -> None:
    assert "".join(lines.split()) in "".join(EXAMPLE.split())


@pytest.mark.parametrize(("program", "printed"), PROGRAMS)
def test_a_program_of_the_page_prints_what_it_says(
    program: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = ModuleType("agent_model")
    exec(compile(MODEL, "agent_model.py", "exec", dont_inherit=True), vars(module))
    monkeypatch.setitem(sys.modules, "agent_model", module)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "page.py", "exec", dont_inherit=True), {"__name__": "page"})
    assert capsys.readouterr().out == printed
