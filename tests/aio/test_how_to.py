"""The example of the how-to runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "event-loops.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Refund order 17 20",
        "1 run.opened",
        "2 obligation.opened",
        "continue",
    ]
