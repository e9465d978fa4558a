"""What is wrong with a rule by itself, and what recorded calls show to be wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import canonical_text
from ledger.run.rule_faults import faults_of
from ledger.run.rule_trial import NO_WAITING, Call, Counts, Hit, Trial
from ledger.run.rules import breaches
from ledger.run.stated_rule import rule_of
from ledger.values import Rule
from tests.run.test_rules import predicates, some_values


def condition(operator: str, *value: Any, path: str = "/a") -> dict[str, Any]:
    return {"path": path, "operator": operator, **({"value": value[0]} if value else {})}


def codes(**rule: Any) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in faults_of(rule_of(rule))]


FINE: list[dict[str, Any]] = [
    {"deny": ["wire"]},
    {"tools": ["pay"], "when": [condition("gt", 100)], "needs_approval": True},
    {"tools": ["pay", "wire"], "deny": ["wire"], "needs_approval": True},
    {"allow": ["pay"], "tools": ["pay", "wire"]},
    {"require": [condition("gt", 5), condition("lt", 6), condition("ne", 5.5)]},
    {"require": [condition("ge", 5), condition("le", 5)]},
    {"require": [condition("gt", 5), condition("le", 4, path="/b")]},
    {"require": [condition("in", ["a", "b"]), condition("ne", "a")]},
    {"require": [condition("starts_with", "ab"), condition("not_in", ["ab", "abc"])]},
    {"require": [condition("ge", "2026-01-01"), condition("lt", "2026-02-01")]},
    {"require": [condition("ne", 5), condition("absent")]},
    {"require": [condition("eq", [1, 2])]},
    {"require": [condition("eq", {"b": 1})]},
    {"require": [condition("present"), condition("ne", True)]},
]


@pytest.mark.parametrize("rule", FINE)
def test_nothing_is_wrong_with_it(rule: dict[str, Any]) -> None:
    assert codes(**rule) == []


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({}, [("warning", "asks_for_nothing")]),
        ({"tools": ["pay"], "when": [condition("gt", 1)]}, [("warning", "asks_for_nothing")]),
        ({"allow": ["pay"], "deny": ["pay"]}, [("error", "allowed_and_denied")]),
        (
            {"tools": ["wire"], "deny": ["wire"], "needs_approval": True},
            [("warning", "approval_of_denied")],
        ),
        ({"tools": ["pay"], "allow": ["mail"]}, [("error", "never_allowed")]),
        ({"deny": ["x"], "require": [condition("eq", 1, path="/a~2")]}, [("error", "no_pointer")]),
        ({"require": [condition("in", [])]}, [("error", "never_met")]),
        ({"require": [condition("gt", 5), condition("lt", 5)]}, [("error", "never_met")]),
        ({"require": [condition("eq", 5), condition("ne", "5.0")]}, [("error", "never_met")]),
        ({"require": [condition("present"), condition("absent")]}, [("error", "never_met")]),
        ({"require": [condition("gt", 5), condition("starts_with", "a")]}, [("error", "never_met")]),
        ({"deny": ["x"], "when": [condition("gt", 5), condition("lt", 5)]}, [("error", "never_applies")]),
        ({"deny": ["x"], "when": [condition("in", [])]}, [("error", "never_applies")]),
        ({"require": [condition("in", ["007", "a"])]}, [("warning", "reads_as_number")]),
        ({"require": [condition("eq", "1e3")]}, [("warning", "reads_as_number")]),
        ({"require": [condition("lt", "0930")]}, [("warning", "reads_as_number"), ("error", "never_met")]),
        ({"require": [condition("ne", None)]}, [("warning", "null")]),
    ],
)
def test_what_is_wrong_with_it_is_found(rule: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert codes(**rule) == found


@given(st.lists(predicates(), min_size=1, max_size=3).map(tuple), some_values)
def test_what_some_act_meets_is_not_said_to_be_met_by_none(conditions: Any, value: Any) -> None:
    rule = Rule(require=conditions)
    for args in ({}, {"a": value}, {"b": value}, {"a": value, "b": value}):
        if not breaches(rule, "t", canonical_text(args)):
            assert "never_met" not in [one.code for one in faults_of(rule)]


# --- tried on calls ----------------------------------------------------------------------------------


def call(tool: str, position: int = 2, **args: Any) -> Call:
    return Call("r", position, tool, canonical_text(args), tenant="default")


LIMIT = rule_of({"tools": ["pay"], "require": [condition("le", 500)]})
ASK = rule_of({"tools": ["pay"], "when": [condition("gt", 100)], "needs_approval": True})
DENY = rule_of({"deny": ["wire"]})


def test_calls_are_counted_by_what_would_have_become_of_them() -> None:
    trial = Trial([("limit", LIMIT), ("ask", ASK), ("deny", DENY)])
    big, middle, wire = call("pay", 2, a=501), call("pay", 3, a=101), call("wire", 5)
    odd = call("pay", 6, a="1e2")
    hits = [hit for one in (big, middle, call("pay", 4, a=1), wire, odd) for hit in trial.hear(one)]
    assert hits == [
        Hit("limit", big, "refused", ("/a is at most 500",)),
        Hit("ask", big, "asked", ("a person approves it",)),
        Hit("ask", middle, "asked", ("a person approves it",)),
        Hit("deny", wire, "refused", ("the tool is none of wire",)),
        Hit("limit", odd, "refused", ("/a is at most 500",)),
        Hit("ask", odd, "asked", ("a person approves it",)),
    ]
    assert trial.counts("limit") == Counts(spoken_of=4, refused=2, asked=0, untold=0)
    assert trial.counts("ask") == Counts(spoken_of=3, refused=0, asked=3, untold=1)
    assert trial.counts("deny") == Counts(spoken_of=1, refused=1, asked=0, untold=0)
    assert (trial.calls, trial.came["refused"], trial.came["asked"]) == (5, 3, 1)
    assert [one.code for one in trial.faults("ask")] == ["cannot_be_told"]
    assert list(trial.faults("deny")) == []


def test_what_only_reads_is_bound_by_rules_that_name_it_and_waits_for_nobody() -> None:
    named, every = rule_of({"tools": ["look"], "needs_approval": True}), rule_of({"needs_approval": True})
    trial = Trial([("named", named), ("every", every)])
    look = call("look")._replace(only_reads=True)
    assert trial.hear(look) == (Hit("named", look, "refused", (NO_WAITING,)),)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({"deny": ["paay"]}, [("unknown_tool", "did you mean pay?")]),
        ({"allow": ["pay", "xyz"]}, [("unknown_tool", "tools that were: pay")]),
        ({"tools": ["pay"], "require": [condition("le", 5, path="/amuont")]}, [("unknown_path", "the top")]),
        ({"tools": ["pay"], "require": [condition("absent", path="/cc")]}, []),
        ({"tools": ["pay"], "require": [condition("le", 5)]}, []),
    ],
)
def test_what_no_call_has_is_told(rule: dict[str, Any], found: list[tuple[str, str]]) -> None:
    trial = Trial([("c", rule_of(rule))])
    assert list(trial.faults("c")) == [], "nothing is known before a call"
    trial.hear(call("pay", a=1))
    for fault, (code, hint) in zip(trial.faults("c"), found, strict=True):
        assert (fault.severity, fault.code) == ("warning", code)
        assert hint in fault.hint


@pytest.mark.parametrize(
    ("value", "is_told"), [("100 EUR", True), ("b", True), ("100", False), ("2026-01-31", False)]
)
def test_an_order_of_text_where_a_number_is_likely_is_told(value: str, is_told: bool) -> None:
    found = [one.code for one in faults_of(rule_of({"require": [condition("lt", value)]}))]
    assert ("compares_as_text" in found) is is_told
