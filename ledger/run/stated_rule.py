"""A rule as people write it, in a document or a call: plain JSON, and what to compare with as what it is.

The record holds the value of a condition as canonical JSON; nobody should have to write `'"EUR"'` for a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ledger.canonical import canonical_text, invalid, load_text
from ledger.errors import InvalidInput
from ledger.values import Operator, Predicate, Rule

_BARE = (Operator.PRESENT.value, Operator.ABSENT.value)
_CONDITIONS = ("require", "when")


def rule_of(said: Rule | Mapping[str, Any], path: str = "rule") -> Rule:
    """Read a rule: one that is built already, or a mapping of its fields.

    Lists stand for tuples. The conditions of `require` and `when` are mappings of `path`, `operator` and
    `value`, a plain JSON value; `present` and `absent` have none.

    Args:
        said: e.g. `{"tools": ["refund"], "when": [{"path": "/amount", "operator": "gt", "value": 100}],
            "needs_approval": True}`.
        path: how errors call it.

    Raises:
        InvalidInput: it is no rule; `path` names the field.
    """
    if isinstance(said, Rule):
        return said
    if not isinstance(said, Mapping):
        raise invalid(path, f"give a Rule, or a mapping as {{'deny': ['refund']}}, not {said!r:.50}")
    fields = dict(said)
    for name in _CONDITIONS:
        some = fields.get(name)
        if isinstance(some, list | tuple):
            fields[name] = tuple(_condition(one, f"{path}.{name}[{place}]") for place, one in enumerate(some))
    try:
        return Rule(**fields)
    except InvalidInput as error:
        raise invalid(f"{path}.{error.path}", _in_words(error.reason)) from None
    except TypeError:
        raise invalid(path, "the names of its fields are texts") from None


def _condition(said: Any, path: str) -> Any:
    """Write what a condition compares with as the record has it."""
    if isinstance(said, Predicate) or not isinstance(said, Mapping):
        return said
    fields = dict(said)
    place = fields.get("path")
    if isinstance(place, str) and place and not place.startswith("/"):
        raise invalid(f"{path}.path", f"{place!r:.80} is no JSON Pointer: write {'/' + place!r:.80}")
    if "value" in fields and not (fields["value"] is None and fields.get("operator") in _BARE):
        value = fields["value"]
        fields["value"] = canonical_text(
            list(value) if isinstance(value, tuple) else value, path=f"{path}.value"
        )
    return fields


def _in_words(reason: str) -> str:
    """Say what is wrong with a field to somebody who writes rules, and knows nothing of types."""
    for said, words in _WORDS.items():
        reason = reason.replace(said, words)
    return reason


_WORDS = {
    "Input should be a valid tuple": "give a list, in brackets",
    "Input should be a valid boolean": "give true or false",
    "Input should be a valid string": "give a text",
    "Input should be a valid dictionary or instance of Predicate": "give {path: …, operator: …, value: …}",
    "Input should be 'eq'": "give one of 'eq'",
    "Field required": "it is missing",
    "Extra inputs are not permitted": "there is no such field",
}


def plain_rule(rule: Rule) -> dict[str, Any]:
    """Write a rule as people do; `rule_of` reads it again. What it does not say is left out."""
    said: dict[str, Any] = rule.model_dump(mode="json", exclude_defaults=True)
    for name in _CONDITIONS:
        for one in said.get(name, ()):
            if "value" in one:
                one["value"] = load_text(one["value"])
    return said
