"""What the page on sources says is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ledger.adapters.cli import main
from ledger.adapters.sources.documents import parse_document
from tests.conftest import ROOT
from tests.test_readme import blocks, run

PAGE = (ROOT / "docs/how-to/sources.md").read_text("utf-8")
(POLICY,) = blocks(PAGE, "markdown")
(EXAMPLE,) = blocks(PAGE, "python")
(PRINTED,) = blocks(PAGE, "text")


def test_the_example_runs(tmp_path: Path) -> None:
    assert run(EXAMPLE, tmp_path) == PRINTED


@pytest.mark.parametrize("example", blocks(PAGE, "yaml"))
def test_its_documents_are_read(example: str) -> None:
    found = parse_document(example.encode(), "policy.yaml", is_yaml=True).entries
    assert {entry.text for entry in found} == {"Never refund more than 100 EUR", "Be polite"}


def test_its_commands_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTENT_LEDGER_URL", raising=False)
    Path("policy.md").write_text(POLICY)
    (id,) = re.findall(r"`(limits-[0-9a-f]{8})`", PAGE)
    ran = re.findall(r"^    intent-ledger (.*)$", PAGE, re.MULTILINE)
    assert len(ran) == 7
    for line in ran:
        assert main(shlex.split(line)) == 0
    assert f"withdrew {id}" not in capsys.readouterr().out
    assert main(["sources", "show", "policy:refunds"]) == 0
    assert re.search(rf"Withdrawn \(1\)\n  {id} withdrawn .* by human:kim: unlawful", capsys.readouterr().out)
