"""The example of the how-to runs as it stands, and prints what it says."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ROOT
from tests.test_readme import blocks, run


def test_the_example_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/resume.md").read_text("utf-8")
    (example,), (printed,) = blocks(page, "python"), blocks(page, "text")
    assert run(example, tmp_path) == printed
