"""What the page on the command line says of effects is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.acts import BOOKED, MAIL, begin_now
from tests.adapters.cli.conftest import Call, Module
from tests.conftest import ROOT

SECTION = (ROOT / "docs/how-to/cli.md").read_text().partition("## Find out what nobody knows\n")[2]
SECTION = SECTION.partition("\n## ")[0]
BANK = """
from types import SimpleNamespace

bank = SimpleNamespace(find=lambda metadata: SimpleNamespace(id="ch_1", json={"amount": "10.00"}))
"""
CODES = {"effects": 0, "effect": 0, "reconcile": 2, "settle": 0, "tools": 0}


def commands() -> list[list[str]]:
    """Return the commands of the section as lists of arguments, without what a shell does with them."""
    lines = re.findall(r"^    intent-ledger (.*)$", SECTION, re.MULTILINE)
    return [shlex.split(re.split(r" [>|]", line)[0]) for line in lines]


def fields(title: str) -> list[str]:
    """Return the names in the first column of the table under a title."""
    table = SECTION.partition(f"| {title} | ")[2].partition("\n\n")[0]
    cells = (line.split(" | ")[0] for line in table.splitlines()[2:])
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


@pytest.fixture
def shop(module: Module) -> Path:
    (example,) = re.findall(r"^```python\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    return module("shop", BANK + example)


@pytest.mark.usefixtures("shop")
def test_its_commands_run_one_after_another_and_end_as_they_should(call: Call, acts: Path) -> None:
    ran = commands()
    assert {verb for verb, *_ in ran} == set(CODES)
    for verb, *arguments in ran:
        answer = call(verb, *arguments, "--ledger", acts)
        assert answer.code == CODES[verb], answer.err
        assert answer.out
    document = call("effects", "refund-17", "--all", "--ledger", acts, "--json").document
    statuses = [effect["status"] for effect in document["effects"]]
    assert statuses == ["succeeded"] * 5 + ["failed"], "the page has asked and settled what was in doubt"


def test_it_names_every_field_of_an_effect(call: Call, acts: Path) -> None:
    begin_now(acts)
    call("settle", MAIL, "--happened", "--ref", "m", "--evidence", "e", "--by", "human:kim", "--ledger", acts)
    told = fields("field")
    assert len(told) == len(set(told))
    seen: set[str] = set()
    for run in ("refund-17", "busy"):
        for effect in call("effects", run, "--all", "--ledger", acts, "--json").document["effects"]:
            seen |= set(effect)
    assert seen - set(told) == set()
    lacking = {"approval", "compensated_by", "cost", "occurrence"}
    assert set(told) - seen == lacking, "what these effects do not have"


def test_it_names_every_member_of_a_document(call: Call, acts: Path) -> None:
    table = SECTION.partition("| command | document |")[2]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    said = ("--happened", "--evidence", "e", "--by", "human:kim")
    asked: dict[str, list[str]] = {
        "effects": [],
        "effect": [BOOKED],
        "reconcile": [],
        "settle": [MAIL, *said],
        "tools": [],
    }
    assert set(rows) == set(asked)
    for verb, arguments in asked.items():
        document = call(verb, *arguments, "--ledger", acts, "--json").document
        members = set(document) | {member for row in _rows(verb, document) for member in row}
        named = set(re.findall(r"`(\w+)`", rows[verb]))
        assert members <= named, verb


def _rows(verb: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document.get({"reconcile": "answers", "tools": "tools"}.get(verb, ""), [])
    return found
