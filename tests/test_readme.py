"""What the README and the tutorial show is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.command import run as forked
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def python(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def cli(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ledger.adapters.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def run(script: str, folder: Path) -> str:
    done = python(script, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_examples_of_the_readme_run_and_print_what_they_say(tmp_path: Path) -> None:
    examples, printed = blocks(README, "python"), blocks(README, "text")
    assert len(examples) == len(printed) == 4
    (adapted,) = (example for example in examples if "langgraph" in example)
    place = examples.index(adapted)  # run with those of its page, since it needs a model
    del examples[place], printed[place]
    assert max(len(example.splitlines()) for example in examples) <= 25
    assert [run(example, tmp_path) for example in examples] == printed


@pytest.mark.slow
def test_the_steps_of_the_tutorial_do_what_they_say(tmp_path: Path) -> None:
    opening, accepting, revising, paying, working, going_on, altering = blocks(TUTORIAL, "python")
    assert run(opening, tmp_path) == run(opening, tmp_path) == "opened at position 1\n"
    run(accepting, tmp_path)
    run(revising, tmp_path)
    a_person_decides(paying, tmp_path)
    with subprocess.Popen([sys.executable, "-c", working], cwd=tmp_path, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(3)]
        child.kill()
        said += child.stdout.readlines()
    acknowledged = int([line for line in said if line.endswith(b"\n")][-1].split()[-1])
    told = run(going_on, tmp_path)
    found = re.match(r"# Contract of run refund-17 at position (\d+)\n", told)
    assert found is not None
    assert int(found[1]) - 1 - acknowledged in {0, 1}, "the resume is one further"
    assert "Refund order 17 and tell the customer" in told
    assert told.endswith("\nat work as incarnation 2\n")
    (withdrawing,) = re.findall(r"^    intent-ledger (sources withdraw .*)$", TUTORIAL, re.MULTILINE)
    assert forked(*shlex.split(withdrawing), cwd=tmp_path).code == 0
    refused = python(going_on, tmp_path)
    assert refused.stdout.startswith("restart: policy:refunds withdrew 'limit-100': replaced by limit-50; ")
    assert (refused.returncode, refused.stderr) == (1, "it may not go on\n")
    assert "intent-ledger restart refund-17" in forked("brief", "refund-17", cwd=tmp_path).out
    asking = [
        shlex.split(line) for line in re.findall(r"^    intent-ledger (ask .*)$", TUTORIAL, re.MULTILINE)
    ]
    answers = [forked(*words, cwd=tmp_path) for words in asking]
    assert {answer.code for answer in answers} == {0}
    relied, loosened, before, _ = (answer.out for answer in answers)
    assert "limit-100" in relied
    assert "withdrawn_at_source" in loosened
    assert before.startswith("none\nas of global position 3;")
    assert forked("verify", "--all", cwd=tmp_path).code == 0
    run(altering, tmp_path)
    assert forked("verify", "--all", "--ledger", "altered.db", cwd=tmp_path).code == 1


def a_person_decides(paying: str, folder: Path) -> None:
    """Let a program ask for a payment twice, a person approve it, and the program make it once."""
    waiting = [python(paying, folder) for _ in range(2)]
    assert {(one.returncode, one.stdout) for one in waiting} == {(1, "")}
    (told,) = {one.stderr for one in waiting}
    (approving,) = re.findall(r"^    intent-ledger (approve (\w+) .*)$", TUTORIAL, re.MULTILINE)
    assert told.startswith(f"waits for a person: {approving[1]}")
    assert approving[1] in forked("approvals", cwd=folder).out
    assert "demanded by limit-100" in forked("approval", approving[1], cwd=folder).out
    assert forked(*shlex.split(approving[0]), cwd=folder).code == 0
    receipt = "done: {'id': 're_1'}\n"
    assert [run(paying, folder) for _ in range(2)] == ["the bank pays 480.00 EUR\n" + receipt, receipt]


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


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_no_link_leads_to_a_heading_that_is_not_there(page: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
        if "://" not in target:
            there = page if not target else page.parent / target
            heads = re.findall(r"^#+ (.+)$", there.read_text(), re.MULTILINE)
            assert place in map(anchor, heads), f"{page.name} links to {target}#{place}"


def anchor(head: str) -> str:
    """Return how a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-")


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text()
    for page in (ROOT / "docs/decisions").glob("[0-9]*.md"):
        assert f"]({page.name})" in index
