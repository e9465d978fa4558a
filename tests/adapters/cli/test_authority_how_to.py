"""What the how-to about authority says is what happens, and its example runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ledger import open_ledger
from tests.adapters.cli.conftest import Call
from tests.conftest import ROOT
from tests.test_readme import blocks, run

PAGE = (ROOT / "docs/how-to/authority.md").read_text("utf-8")


def test_the_example_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    (example,), (printed,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    assert run(example, tmp_path) == printed


def test_the_commands_of_the_page_do_what_they_say(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        ledger.open_run("refund-17", "Refund order 17")
    said = re.findall(r"^    intent-ledger (.*)$", PAGE, re.MULTILINE)
    assert [words.split()[0] for words in said] == ["grant", "narrow", "revoke"]
    for words in said:
        assert call(*shlex.split(words), "--ledger", path).code == 0
    with open_ledger(path) as ledger:
        assert [record.name for record in ledger.log("refund-17")] == [
            "run.opened",
            "authority.granted",
            "authority.revoked",
            "authority.granted",
            "authority.revoked",
        ]
    assert "none is in force, and each act needs one" in call("contract", "refund-17", "--ledger", path).out
