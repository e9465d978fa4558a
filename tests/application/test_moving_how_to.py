"""The examples of the pages on export and expiry run as they stand, and their commands are commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.application.export_format import (
    FORMAT,
    End,
    Entry,
    Header,
    blob_line,
    end_line,
    entry_line,
    header_line,
)
from ledger.stores.base import Blob
from tests.conftest import ROOT

PAGES = ("export", "expiry")


def page(name: str) -> str:
    return (ROOT / "docs/how-to" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_example_runs(name: str, tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_names_every_line_of_the_file() -> None:
    written = (
        header_line(Header("t", None), "now"),
        blob_line(Blob(b"\0" * 32, "message", b"x")),
        blob_line(Blob(b"\0" * 32, "message", b"\xff")),
        entry_line(Entry("r", 1, b"\0" * 32, b"{}")),
        end_line(End(1, 1, 1, 0, "d")),
    )
    assert FORMAT in page("export")
    for line in written:
        for name in set(re.findall(r'"(\w+)":', line.decode())) - {"end"}:
            assert f"`{name}`" in page("export"), name
