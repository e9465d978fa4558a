"""What the README and the tutorial show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_the_readme_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    (example,), (printed,) = blocks(README, "python"), blocks(README, "text")
    assert len(example.splitlines()) <= 20
    assert run(example, tmp_path) == printed


@pytest.mark.slow
def test_the_steps_of_the_tutorial_do_what_they_say(tmp_path: Path) -> None:
    opening, accepting, revising, working, telling, altering = blocks(TUTORIAL, "python")
    assert run(opening, tmp_path) == run(opening, tmp_path) == "opened at position 1\n"
    run(accepting, tmp_path)
    run(revising, tmp_path)
    with subprocess.Popen([sys.executable, "-c", working], cwd=tmp_path, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(3)]
        child.kill()
        said += child.stdout.readlines()
    acknowledged = int([line for line in said if line.endswith(b"\n")][-1].split()[-1])
    prompt = run(telling, tmp_path)
    found = re.match(r"# Contract of run refund-17 at position (\d+)\n", prompt)
    assert found is not None
    assert int(found[1]) - acknowledged in {0, 1}
    assert "Refund order 17 and tell the customer" in prompt
    command = [sys.executable, "-m", "ledger.adapters.cli", "verify", "--all", "--ledger"]
    assert subprocess.run([*command, "ledger.db"], cwd=tmp_path, check=False).returncode == 0
    run(altering, tmp_path)
    assert subprocess.run([*command, "altered.db"], cwd=tmp_path, check=False).returncode == 1


def test_every_command_of_the_readme_exists() -> None:
    from ledger.adapters.cli.app import command

    named = set(re.findall(r"^    intent-ledger (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(command().commands)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_no_link_leads_nowhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("[0-9]*.md"):
        assert f"]({page.name})" in index
