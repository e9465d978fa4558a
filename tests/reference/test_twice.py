"""What the pages say of a program that is started twice is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def examples(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def idiom(name: str) -> str:
    """Return the indented lines of a page that open a run or go on with it."""
    prose = re.sub(r"^```.*?^```$", "", page(name), flags=re.MULTILINE | re.DOTALL)
    (found,) = re.findall(r"^((?:    .*\n|\n)*    +try:\n(?:    .*\n)+)", prose, re.MULTILINE)
    return textwrap.dedent(found).strip("\n")


def started(script: str, folder: Path) -> str:
    """Run a program and return the error it ended with, or nothing."""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stderr.strip().rpartition("\n")[2].partition(":")[0]


@pytest.mark.parametrize("name", ["README.md", "docs/how-to/event-loops.md"])
def test_an_example_that_is_started_twice_meets_its_run(name: str, tmp_path: Path) -> None:
    # What needs a model runs with the page that has one.
    example, *further = (one for one in examples(name) if "agent_model" not in one)
    assert started(example, tmp_path) == ""
    assert started(example, tmp_path) == "ledger.errors.RunExists"
    assert [started(one, tmp_path) for one in further * 2] == [""] * 2 * len(further)
    assert "Run it twice, and `open_run` raises `RunExists`" in page(name)


def test_of_the_tutorial_only_the_opening_meets_its_run(tmp_path: Path) -> None:
    opening, accepting, revising = examples("docs/tutorial.md")[:3]
    assert started(opening, tmp_path) == ""
    for again in (accepting, revising, accepting, revising):
        assert started(again, tmp_path) == ""
    assert started(opening, tmp_path) == "ledger.errors.RunExists"
    assert started(f"{COUNTING}\nassert position == 4", tmp_path) == ""


COUNTING = """\
from ledger import open_ledger
with open_ledger("ledger.db") as ledger:
    position = ledger.run("refund-17").position"""


def test_the_idiom_of_the_readme_opens_and_goes_on(tmp_path: Path) -> None:
    program = idiom("README.md") + "\n    print(run.move('next').position)"
    assert [started(program, tmp_path) for _ in range(3)] == ["", "", ""]
    assert started(INCARNATION.format(file="runs.db", number=3), tmp_path) == ""


def test_the_program_of_the_tutorial_opens_and_goes_on(tmp_path: Path) -> None:
    (program,) = (one for one in examples("docs/tutorial.md") if "except RunExists" in one)
    assert [started(program, tmp_path) for _ in range(3)] == ["", "", ""]
    assert started(INCARNATION.format(file="ledger.db", number=3), tmp_path) == ""


INCARNATION = """\
from ledger import open_ledger
with open_ledger("{file}") as ledger:
    assert ledger.contract("refund-17").incarnation == {number}"""


def test_the_idiom_of_event_loops_opens_and_goes_on(tmp_path: Path) -> None:
    body = textwrap.indent(idiom("docs/how-to/event-loops.md") + "\nawait run.move('next')", " " * 8)
    program = (
        "import asyncio\nfrom ledger import Actor, open_async_ledger\nfrom ledger.errors import RunExists\n"
        "me, runtime, report = Actor('agent:refunds', session='s-1'), None, print\n"
        "async def main():\n    async with open_async_ledger('l.db') as ledger:\n"
        f"{body}\nasyncio.run(main())"
    )
    assert [started(program, tmp_path) for _ in range(3)] == ["", "", ""]
