"""A rule in words, and whether it asks for anything."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.run.diff import diff
from ledger.run.rule_words import NOT_ENFORCED, enforcement_words, is_enforced, rule_words
from ledger.run.stated_rule import rule_of
from ledger.testing import given
from tests.run import examples as x
from tests.run.briefed import brief_of

ABOVE = {"path": "/amount", "operator": "gt", "value": 100}
AT_MOST = {"path": "/amount", "operator": "le", "value": 500}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            {"tools": ["refund"], "when": [ABOVE], "needs_approval": True},
            "for refund, where /amount is greater than 100: a person approves it",
        ),
        ({"deny": ["wire"]}, "wire is never called"),
        (
            {"deny": ["wire", "mail"], "require": [AT_MOST]},
            "wire or mail is never called; for every tool: /amount is at most 500",
        ),
        ({"allow": ["look"]}, "for every tool: the tool is one of look"),
        ({"allow": []}, "for every tool: the tool is one of none"),
        (
            {
                "tools": ["refund", "pay", "wire"],
                "when": [
                    {"path": "/to/name", "operator": "starts_with", "value": "x"},
                    {"path": "", "operator": "present"},
                ],
                "require": [AT_MOST, {"path": "/currency", "operator": "in", "value": ["EUR"]}],
                "resources": ["order:1"],
                "tenants": ["a", "b"],
                "needs_approval": True,
            },
            (
                'for refund, pay or wire, where /to/name starts with "x" and the whole of the arguments is '
                'there: /amount is at most 500 and /currency is one of ["EUR"]; the resource is one of '
                "order:1; the tenant is one of a, b; a person approves it"
            ),
        ),
    ],
)
def test_a_rule_reads_as_a_sentence(said: dict[str, Any], words: str) -> None:
    rule = rule_of(said)
    assert rule_words(rule) == words
    assert is_enforced(rule)
    assert enforcement_words(rule) == f"enforced: {words}"


@pytest.mark.parametrize("said", [{}, {"tools": ["refund"]}, {"tools": ["refund"], "when": [ABOVE]}])
def test_a_rule_that_asks_for_nothing_is_not_enforced(said: dict[str, Any]) -> None:
    rule = rule_of(said)
    assert rule_words(rule) == "it asks for nothing"
    assert not is_enforced(rule)
    assert enforcement_words(rule) == NOT_ENFORCED == enforcement_words(None)


def test_prompt_brief_and_diff_say_of_each_constraint_what_is_enforced_of_it() -> None:
    rule = rule_of({"tools": ["refund"], "when": [ABOVE], "needs_approval": True})
    history = given(x.opened(), x.accepted("ask", rule=rule), x.accepted("kind", text="Be kind"))
    brief = brief_of(history)
    enforced = "; enforced: for refund, where /amount is greater than 100: a person approves it)"
    for text in (history.contract.to_prompt(), brief.to_markdown()):
        assert text.count(enforced) == 1
        assert text.count(f"; {NOT_ENFORCED})") == 1
    assert [one.enforced for one in brief.constraints] == [True, False]
    before = given(x.opened(), x.accepted("ask")).contract
    found: Any = [one for one in diff(before, history.contract) if one.what == "constraint"]
    assert [one.new["enforced"] for one in found] == [True, False]
    assert found[0].old["enforced"] is False
