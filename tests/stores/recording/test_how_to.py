"""The examples of the how-to run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_examples_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "eventsourcing.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    program = tmp_path / "example.py"
    program.write_text("\n".join(examples), "utf-8")
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
