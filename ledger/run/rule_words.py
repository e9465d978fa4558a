"""A rule in words, the same on every surface: `for refund, where /amount is greater than 100: a person
approves it`.

Names that are not one plain word are quoted, and values stand as JSON: none can pass for words of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ledger.run.markdown import name, unbroken
from ledger.values import Operator, Predicate, Rule

NOT_ENFORCED = "not enforced: no machine checks it"
"""What is said of a constraint that is text for model and reviewer only."""

_WORDS: Mapping[Operator, str] = {
    Operator.EQUAL: "is",
    Operator.NOT_EQUAL: "is not",
    Operator.LESS: "is less than",
    Operator.AT_MOST: "is at most",
    Operator.GREATER: "is greater than",
    Operator.AT_LEAST: "is at least",
    Operator.ONE_OF: "is one of",
    Operator.NONE_OF: "is none of",
    Operator.STARTS_WITH: "starts with",
    Operator.PRESENT: "is there",
    Operator.ABSENT: "is not there",
}


def is_enforced(rule: Rule | None) -> bool:
    """Tell whether a machine holds acts to a constraint: it has a rule, and that rule asks for something."""
    return rule is not None and (
        rule.needs_approval
        or bool(rule.deny or rule.require)
        or not (rule.allow is rule.resources is rule.tenants is None)
    )


def enforcement_words(rule: Rule | None) -> str:
    """Say of a constraint what a machine enforces of it, or that none does."""
    if rule is None or not is_enforced(rule):
        return NOT_ENFORCED
    return f"enforced: {rule_words(rule)}"


def rule_words(rule: Rule) -> str:
    """Say on one line what a rule asks for, and of which acts."""
    parts = []
    if rule.deny:
        parts.append(f"{_any_of(rule.deny)} is never called")
    asked = "; ".join(_asked(rule))
    if asked:
        parts.append(f"{_scope(rule)}: {asked}")
    return "; ".join(parts) or "it asks for nothing"


def condition_words(condition: Predicate) -> str:
    """Say a condition on arguments: `/amount is at most 100`."""
    place = name(condition.path) if condition.path else "the whole of the arguments"
    value = "" if condition.value is None else f" {unbroken(condition.value)}"
    return f"{place} {_WORDS[condition.operator]}{value}"


def _scope(rule: Rule) -> str:
    of = f"for {_any_of(rule.tools)}" if rule.tools else "for every tool"
    return f"{of}, where {_all_of(rule.when)}" if rule.when else of


def _asked(rule: Rule) -> Iterator[str]:
    if rule.allow is not None:
        yield f"the tool is {one_of(rule.allow)}"
    if rule.require:
        yield _all_of(rule.require)
    if rule.resources is not None:
        yield f"the resource is {one_of(rule.resources)}"
    if rule.tenants is not None:
        yield f"the tenant is {one_of(rule.tenants)}"
    if rule.needs_approval:
        yield "a person approves it"


def one_of(names: Sequence[str]) -> str:
    """Say that something is among names."""
    return f"one of {', '.join(map(name, names))}" if names else "one of none"


def _any_of(names: Sequence[str]) -> str:
    *first, last = map(name, names)
    return f"{', '.join(first)} or {last}" if first else last


def _all_of(conditions: Sequence[Predicate]) -> str:
    return " and ".join(map(condition_words, conditions))
