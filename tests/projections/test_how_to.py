"""The examples of the how-to run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from projections.runs import Runs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "projections.md"


def test_the_examples_run(tmp_path: Path) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 4
    program = tmp_path / "example.py"
    program.write_text("\n".join(examples), "utf-8")
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_the_present_version() -> None:
    assert f"runs v{Runs.version} " in PAGE.read_text("utf-8")
