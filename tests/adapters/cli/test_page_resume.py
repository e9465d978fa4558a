"""What the page on the command line says of stopped runs is what happens."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from ledger import Source, open_ledger
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import AGENT, KIM, ticking
from tests.adapters.cli.stops import BEGIN, POLICY, WORDS
from tests.adapters.cli.test_entry import VERBS
from tests.conftest import ROOT

SECTION = (ROOT / "docs/how-to/cli.md").read_text().partition("## Let a stopped run go on\n")[2]
SECTION = SECTION.partition("\n## ")[0]
CODES = {"resume": 12, "suspend": 0, "restart": 0, "fork": 0, "cancel": 0, "do": 0, "runs": 0}


@pytest.fixture
def refunds(tmp_path: Path) -> Path:
    """Return a ledger with the run of the page, which is suspended."""
    path = tmp_path / "refunds.db"
    with open_ledger(path, clock=ticking(BEGIN), actor=AGENT) as ledger:
        policy = ledger.source(POLICY, actor=KIM)
        policy.publish("4", {"limit-100": WORDS}, by="human:kim")
        run = ledger.open_run("refund-17", "Refund order 17")
        source = Source("policy", "refunds", revision="4")
        run.accept("limit-100", WORDS, source=source, asserted_by="human:kim")
        run.assume("in-stock", "The item is in stock")
        ledger.run("refund-17", actor=KIM).grant(
            "g",
            principal="agent:refunds",
            scopes=["refund"],
            granted_by="human:kim",
            session="s-1",
            on_resume="continue",
        )
        for number in range(3):
            run.record_message(f"m{number}", "user", "Where is my money?")
        policy.publish("5", {"limit-100": WORDS, "tell": "Tell the customer"}, by="human:kim")
        ledger.open_run("quiet", "Nothing is heard of it")
        run.suspend(reason="night")
    return path


def commands() -> list[list[str]]:
    lines = re.findall(r"^    intent-ledger (.*)$", SECTION, re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_its_commands_end_as_they_should(call: Call, refunds: Path, tmp_path: Path) -> None:
    ran = [words for words in commands() if "human:NAME" not in words]
    assert {verb for verb, *_ in ran} == set(CODES)
    successor = tmp_path / "successor.db"
    for words in ran:
        path = tmp_path / "fresh.db"
        shutil.copy(refunds, path)
        if words[0] == "do" and "--help" not in words:
            call("resume", "refund-17", "--actor", "human:kim", "--ledger", path)
            call("acknowledge", "refund-17", POLICY, "--by", "human:kim", "--ledger", path)
            assert call("resume", "refund-17", "--actor", "human:kim", "--ledger", path).code == 0
        if words[0] == "restart":
            path = Path(shutil.copy(refunds, successor))
        if words[0] == "cancel":
            path = successor
        where = () if "--help" in words else ("--ledger", str(path))
        answer = call(*words, *where)
        assert answer.code == CODES[words[0]], answer.err


def test_it_shows_what_the_gate_says(call: Call, refunds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENT_LEDGER_URL", str(refunds))
    shown = SECTION.partition("    REAPPROVE: ")[2].partition("\nClear them")[0]
    page = [line.removeprefix("    ") for line in f"    REAPPROVE: {shown}".splitlines()]
    said = call(*commands()[0]).out.splitlines()
    assert list(map(timeless, said)) == list(map(timeless, page))


def timeless(line: str) -> str:
    return re.sub(r"since .* ago\)", "since then", line).rstrip()


def test_it_names_every_command_that_there_is_for_stopped_runs() -> None:
    begin, end = VERBS.index("resume"), VERBS.index("effects")
    assert [verb for verb in VERBS[begin:end] if f"`{verb}" not in SECTION] == []


def keys(title: str) -> set[str]:
    """Return the names in a row of the last table."""
    (row,) = re.findall(rf"^\| {title} \| (.*) \|$", SECTION, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", row))


def test_it_names_every_field_of_the_documents(call: Call, refunds: Path) -> None:
    def document(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = call(*words, "--ledger", refunds, "--json").document
        return found

    asked = document("resume", "refund-17")
    assert set(asked) - {"run"} == keys("`resume`")
    assert set().union(*asked["reasons"]) <= keys("each reason")
    assert set(document("runs", "--held")) <= keys("`runs`") | {"runs"}
    why = ("--reason", "x", "--by", "human:kim")
    said = document("revise-goal", "refund-17", *why)
    plain = keys("`suspend`, `do` and the short names")
    assert set(said) - {"run"} <= plain
    assert set(document("fork", "refund-17", "--as", "f", "--at", "2")) - {"run"} == keys("`fork`")
    told = document("restart", "refund-17", "--as", "r2", *why)
    assert set(told) - {"run"} == keys("`restart`")
    assert set(document("cancel", "r2", *why)) - {"run"} <= plain | keys("`cancel`")
