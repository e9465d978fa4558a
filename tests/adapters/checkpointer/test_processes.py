"""Processes at once in one conversation: each save is on the one before, and none that was said is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.checkpointer import racing
from tests.conftest import ROOT


@pytest.mark.slow
def test_no_save_is_lost_among_processes_of_which_one_is_killed(tmp_path: Path, fresh_database: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", racing.__file__),
            *(str(tmp_path / "saves.db"), fresh_database, f"files:{tmp_path}/saves"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 3
    for line in lines:
        # What was saved by who was killed before it could say so is there all the same.
        assert line["turns"] - line["acknowledged"] in {0, 1}, line
        assert line["turns"] == line["listed"], line
        assert (line["chained"], line["each"]) == (True, True)
        assert line["writers"] >= 2
