"""`rules check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.errors import ConstraintViolated
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call

POLICY = """\
limit:
  text: Never pay more than 500
  rule: {tools: [pay], require: [{path: /amount, operator: le, value: 500}]}
ask:
  text: Ask a person above 100
  rule: {tools: [pay], when: [{path: /amount, operator: gt, value: 100}], needs_approval: true}
kind: Be kind
"""
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture
def file() -> Path:
    path = Path.cwd() / "policy.yaml"
    path.write_text(POLICY)
    return path


def pay(amount: int, order: int = 17) -> str:
    return "paid"


def made(amounts: tuple[int, ...] = (50, 150, 600), run: str = "r") -> None:
    with open_ledger("ledger.db") as ledger:
        handle = ledger.open_run(run, goal="Pay")
        for amount in amounts:
            handle.perform("pay", {"amount": amount}, pay)


def test_without_a_ledger_only_the_file_is_looked_at(call: Call, file: Path) -> None:
    answer = call("rules", "check", file)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"{file}: 3 constraints, 2 enforced, 1 not enforced (text for model and reviewer)",
        "line 1: limit: Never pay more than 500",
        "  enforced: for pay: /amount is at most 500",
        "line 4: ask: Ask a person above 100",
        "  enforced: for pay, where /amount is greater than 100: a person approves it",
        "line 7: kind: Be kind",
        "  not enforced: no machine checks it",
        "",
        "0 errors, 0 warnings",
    ]
    assert "no ledger to try the rules on" in answer.err
    assert not Path("ledger.db").exists()
    document = call("rules", "check", file, "--json").document
    assert document["tried"] is None
    assert [one["enforced"] for one in document["rules"]] == [True, True, False]
    assert document["rules"][1]["rule"]["when"] == [{"operator": "gt", "path": "/amount", "value": 100}]


def test_what_is_named_must_be_there(call: Call, file: Path) -> None:
    for named in (("--ledger", "other.db"), ("--run", "r")):
        assert call("rules", "check", file, *named).code == 3
    made()
    assert call("rules", "check", file, "--run", "nobody", "--json").error["code"] == "run_not_found"


def test_it_tells_which_calls_would_have_been_refused_or_waited(call: Call, file: Path) -> None:
    made()
    made((700,), "s")
    document = call("rules", "check", file, "--json").document
    tried = document["tried"]
    assert {name: tried[name] for name in ("runs", "calls", "refused", "asked")} == {
        "runs": 2,
        "calls": 4,
        "refused": 2,
        "asked": 1,
    }
    assert [(one["run"], one["rule"], one["came_to"], one["conditions"]) for one in tried["hits"]] == [
        ("r", "ask", "asked", ["a person approves it"]),
        ("r", "limit", "refused", ["/amount is at most 500"]),
        ("r", "ask", "asked", ["a person approves it"]),
        ("s", "limit", "refused", ["/amount is at most 500"]),
        ("s", "ask", "asked", ["a person approves it"]),
    ]
    counts = {one["id"]: one.get("counts") for one in document["rules"]}
    assert counts["limit"] == {"spoken_of": 4, "refused": 2, "asked": 0, "untold": 0}
    assert counts["kind"] is None
    shown = call("rules", "check", file, "--run", "r")
    assert shown.code == 0
    title = "Tried on 3 calls of 1 run: 1 would have been refused, 1 would have waited for a person"
    assert title in shown.out
    assert ", pay: refused: allowed only where /amount is at most 500\n" in shown.out
    assert ", pay: asked first: a person approves it\n" in shown.out


def test_at_a_terminal_it_is_wrapped_and_says_how_far_it_is(call: Call, file: Path) -> None:
    made()
    answer = at_terminal("rules", "check", file, columns=60)
    assert answer.code == 0
    assert "trying the rules" in answer.out
    assert "  enforced: for pay, where /amount is greater than 100: a\n    person approves it\n" in answer.out


def test_many_calls_are_shown_in_part(call: Call, file: Path) -> None:
    made(tuple(range(501, 513)))
    shown = call("rules", "check", file).out
    assert shown.count("refused: allowed only where") == 10
    assert "  and 2 more: --json lists all\n" in shown


def test_defaults_that_were_left_out_and_acts_that_were_refused_count(call: Call, file: Path) -> None:
    with open_ledger("ledger.db") as ledger:
        run = ledger.open_run("r", goal="Pay")
        run.accept("never", "Pay nobody", asserted_by="human:kim", rule={"deny": ["pay"]})
        for _ in range(2):
            with pytest.raises(ConstraintViolated):
                run.perform("pay", {"amount": 600}, pay)
        run.withdraw("never", reason="over", by="human:kim")
        run.perform("pay", {"amount": 600}, pay)
        run.perform("pay", {"amount": 2}, pay)
    rule = "{tools: [pay], require: [{path: /order, operator: ne, value: 17}]}"
    file.write_text(f"orders: {{text: Not order 17, rule: {rule}}}\n")
    document = call("rules", "check", file, "--json").document
    assert (document["tried"]["calls"], document["tried"]["refused"]) == (2, 1)
    assert document["tried"]["hits"][0]["conditions"] == ["/order is not 17"]


def test_a_rule_is_said_on_the_command_line_as_in_a_document(call: Call) -> None:
    made(())
    rule = (
        '{"tools": ["pay"], "when": [{"path": "/amount", "operator": "gt", "value": 100}], "deny": ["wire"]}'
    )
    said = ("--id", "c", "--text", "Ask", "--asserted-by", "human:kim")
    answer = call("do", "constraint.accept", "r", *said, "--rule", rule)
    assert answer.code == 0, answer
    with open_ledger("ledger.db") as ledger:
        (constraint,) = ledger.contract("r").constraints
    assert constraint.rule is not None
    assert constraint.rule.when[0].value == "100"
    wrong = call("do", "constraint.accept", "r", *said, "--rule", '{"tool": ["pay"]}', "--json")
    assert (wrong.code, wrong.error["data"]["path"]) == (64, "--rule.tool")


def test_errors_end_with_1_and_are_told_with_line_and_hint(call: Call, file: Path) -> None:
    file.write_text("limit:\n  text: x\n  rule: {allow: [pay], deny: [pay]}\n")
    answer = call("rules", "check", file)
    assert answer.code == 1
    assert "line 1: limit: x\n" in answer.out
    assert "  ERROR: pay is allowed and denied, and so denied\n    hint: name a tool" in answer.out
    assert answer.out.endswith("1 error, 0 warnings\n")
    (rule,) = call("rules", "check", file, "--json").document["rules"]
    assert rule["line"] == 1
    assert [one["code"] for one in rule["faults"]] == ["allowed_and_denied"]


def test_what_is_malformed_is_an_error_of_its_line_beside_the_others(call: Call, file: Path) -> None:
    file.write_text(
        """\
a:
  text: x
  rule:
    tools: [pay]
    when: [{path: amount, operator: gt, value: 1}]
b: {rule: {deny: [wire]}}
c: Be kind
c: Be kinder
d:
  text: y
  rule: {allow: [pay], deny: [pay]}
"""
    )
    answer = call("rules", "check", file)
    assert answer.code == 1
    assert "ERROR: line 5: rule.when[0].path: 'amount' is no JSON Pointer: write '/amount'\n" in answer.out
    assert "ERROR: line 6: the rule has no text\n" in answer.out
    assert "ERROR: line 8: 'c' stands here for the second time\n" in answer.out
    assert answer.out.endswith("4 errors, 0 warnings\n")
    said = call("rules", "check", file, "--json")
    assert (said.code, said.document["errors"]) == (1, 4)
    assert [one["line"] for one in said.document["malformed"]] == [5, 6, 8]
    assert [one["id"] for one in said.document["rules"]] == ["c", "d"]


@pytest.mark.parametrize("text", ["", "[]", "a: [", "a: &x b"])
def test_a_file_of_no_rules_cannot_be_looked_at(call: Call, file: Path, text: str) -> None:
    file.write_text(text)
    answer = call("rules", "check", file, "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")


def test_markdown_has_no_rules_and_says_so(call: Call) -> None:
    Path("policy.md").write_text("# Limits\n\n- Never pay more than 500\n\n```\ncode\n```\n")
    answer = call("rules", "check", "policy.md")
    assert answer.code == 0
    assert "1 constraint, 0 enforced, 1 not enforced" in answer.out
    assert answer.err.startswith("line 5: a block of code")


def test_recorded_runs_of_an_airline(call: Call, file: Path) -> None:
    runs, tools = SHARED / "airline-runs.jsonl", SHARED / "airline-tools.json"
    if not runs.exists():
        pytest.skip("the recorded runs of an airline are not here: they are no part of the product")
    lines = runs.read_text().splitlines()
    few = [line for line in lines if json.loads(line)["id"] in {"airline-8-1", "airline-0-3"}]
    Path("few.jsonl").write_text("\n".join(few))
    call("import", "few.jsonl", "--tools", tools)
    rules: dict[str, Any] = {
        "book": {"tools": ["book_reservation"], "needs_approval": True},
        "cancel": {"deny": ["cancel_reservation"]},
    }
    file.write_text(json.dumps({id: {"text": id, "rule": rule} for id, rule in rules.items()}))
    document = call("rules", "check", file, "--json").document
    counts = {one["id"]: one["counts"] for one in document["rules"]}
    assert counts["book"]["asked"] == counts["book"]["spoken_of"] > 2
    assert counts["cancel"]["refused"] > 0
    assert (document["errors"], document["tried"]["runs"]) == (0, 2)
