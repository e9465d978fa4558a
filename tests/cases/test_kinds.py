"""The table of kinds names every case once, and no test that is not there."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from tests.cases.kind import Kind
from tests.cases.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
DUE = ("store.jsonl", "effects.jsonl", "gate.jsonl", "projections.jsonl")
"""The files of recorded cases that are to be in the table."""


@cache
def names_in(file: str) -> frozenset[str]:
    """Read the names of the test functions of a file."""
    tree = ast.parse((ROOT / file).read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.cases[0])
def test_a_kind_says_what_became_of_it(kind: Kind) -> None:
    assert kind.cases
    assert kind.what.strip() == kind.what != ""
    assert kind.because is None or kind.because.strip()
    assert kind.tests or kind.because or kind.part
    assert [bool(kind.because), bool(kind.part)].count(True) + (kind.verdict == "covered") == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.tests], ids=lambda kind: kind.cases[0])
def test_what_shows_it_exists(kind: Kind) -> None:
    assert len(set(kind.tests)) == len(kind.tests)
    for test in kind.tests:
        file, _, name = test.partition("::")
        assert name in names_in(file), test


def test_a_case_stands_in_one_kind() -> None:
    cases = [case for kind in KINDS for case in kind.cases]
    assert len(cases) == len(set(cases))
    assert len({kind.what for kind in KINDS}) == len(KINDS)


def test_every_case_named_in_this_folder_is_covered_by_the_test_that_names_it() -> None:
    """A test here that claims a case is among those that the table names for it."""
    shown = {(case, test) for kind in KINDS for case in kind.cases for test in kind.tests}
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                text = (ast.get_docstring(node) or "").lower()
                for case in (f"case-{n:03}" for n in range(1000)):
                    if case in text:
                        assert (case, f"tests/cases/{path.name}::{node.name}") in shown


def test_every_recorded_case_is_in_the_table(shared_dir: Path) -> None:
    recorded = {
        json.loads(line)["id"]
        for file in DUE
        for line in (shared_dir / "cases" / file).read_text().splitlines()
    }
    assert recorded == {case for kind in KINDS for case in kind.cases}
