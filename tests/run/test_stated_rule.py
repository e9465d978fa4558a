"""A rule as people write it: plain JSON, and values as what they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ledger.errors import InvalidInput
from ledger.run.stated_rule import plain_rule, rule_of
from ledger.values import Operator, Predicate, Rule
from tests.strategies import of

ASKED = {
    "tools": ["refund"],
    "when": [{"path": "/amount", "operator": "gt", "value": 100}],
    "needs_approval": True,
}


def condition(operator: str, value: str | None, path: str = "/amount") -> Predicate:
    return Predicate(operator=Operator(operator), path=path, value=value)


def test_values_are_plain_json() -> None:
    expected = Rule(tools=("refund",), when=(condition("gt", "100"),), needs_approval=True)
    assert rule_of(ASKED) == expected
    assert rule_of(expected) is expected
    assert plain_rule(expected) == ASKED


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("EUR", '"EUR"'),
        ("100", '"100"'),
        (100, "100"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        ({"a": [1]}, '{"a":[1]}'),
    ],
)
def test_every_json_value_may_be_compared_with(said: Any, value: str) -> None:
    rule = rule_of({"require": [{"path": "/amount", "operator": "eq", "value": said}]})
    assert rule.require == (condition("eq", value),)


def test_tuples_are_lists_and_conditions_may_be_built_already() -> None:
    several = {"path": "/amount", "operator": "in", "value": (1, 2)}
    rule = rule_of({"deny": ("mail",), "require": (condition("gt", "1"), several)})
    assert rule == Rule(deny=("mail",), require=(condition("gt", "1"), condition("in", "[1,2]")))


def test_what_takes_no_value_may_say_so() -> None:
    rule = rule_of({"require": [{"path": "/a", "operator": "present", "value": None}]})
    assert rule.require == (condition("present", None, "/a"),)


@pytest.mark.parametrize(
    ("said", "path", "says"),
    [
        ("deny mail", "rule", "mapping"),
        ({"deny": "mail"}, "rule.deny", "give a list"),
        ({"denies": ["mail"]}, "rule.denies", "did you mean deny"),
        ({3: ["mail"]}, "rule", "texts"),
        ({"require": {"path": "/a"}}, "rule.require", "give a list"),
        ({"require": ["/a"]}, "rule.require[0]", "give {path"),
        ({"when": [{"path": "/a", "operator": ">", "value": 1}]}, "rule.when[0].operator", "'gt'"),
        ({"when": [{"path": "/a", "operator": "gt"}]}, "rule.when[0]", "takes a value"),
        ({"when": [{"path": "/a", "operator": "gt", "value": True}]}, "rule.when[0]", "a number or text"),
        ({"when": [{"path": "/a", "operator": "eq", "value": {1}}]}, "rule.when[0].value", "set"),
        ({"when": [{"path": "/a", "operator": "eq", "value": float("nan")}]}, "rule.when[0].value", "NaN"),
        ({"when": [{"path": "/a", "operator": "present", "value": 1}]}, "rule.when[0]", "takes no value"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_place(said: Any, path: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rule_of(said)
    assert refused.value.path == path
    assert says in refused.value.reason


@given(of(Rule))
def test_what_is_written_as_people_do_is_read_again(rule: Rule) -> None:
    assert rule_of(plain_rule(rule)) == rule
