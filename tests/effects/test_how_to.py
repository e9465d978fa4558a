"""The example of the how-to runs as it stands, and prints what it says."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ROOT
from tests.test_readme import blocks, run

PAGE = (ROOT / "docs/how-to/effects.md").read_text("utf-8")


def test_the_example_runs(tmp_path: Path) -> None:
    (example,), (printed,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    assert run(example, tmp_path) == printed
