"""What is wrong with a rule by itself: what contradicts itself, cannot be met, or reads otherwise than meant.

What can never be met is found by trying the values that the conditions speak of, and some beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ledger.canonical import canonical_text, load_text
from ledger.run.rule_words import condition_words, is_enforced
from ledger.run.rules import breaches, is_pointer, reads_as_number
from ledger.values import Operator, Predicate, Rule

Severity = Literal["error", "warning"]


class Fault(NamedTuple):
    """Something that is wrong with a rule."""

    severity: Severity
    """`error`: it does not do what anybody means; `warning`: it may not."""
    code: str
    """Stable name of what is wrong."""
    message: str
    hint: str
    """What to do about it."""


def faults_of(rule: Rule) -> Iterator[Fault]:
    """List what is wrong with a rule, without looking at any act."""
    yield from _tools(rule)
    for condition in dict.fromkeys((*rule.require, *rule.when)):
        yield from _condition(condition)
    for path, some in _by_path(rule.require).items():
        if is_pointer(path) and not _can_be_met(some):
            yield Fault(
                "error",
                "never_met",
                f"nothing meets {_all(some)}, so every act that it speaks of is refused",
                "correct the conditions, or deny the tools if that is meant",
            )
    for path, some in _by_path(rule.when).items():
        if is_pointer(path) and not _can_be_met(some):
            yield Fault(
                "error",
                "never_applies",
                f"nothing meets {_all(some)}, so it speaks only of acts of which that cannot be told",
                "correct the conditions of `when`: all of them are to be met at once",
            )
    if not is_enforced(rule):
        yield Fault(
            "warning",
            "asks_for_nothing",
            "the rule asks for nothing, so nothing is enforced",
            "say what it asks for: allow, deny, require, resources, tenants or needs_approval",
        )


def _tools(rule: Rule) -> Iterator[Fault]:
    both = [name for name in rule.allow or () if name in rule.deny]
    if both:
        yield Fault(
            "error",
            "allowed_and_denied",
            f"{', '.join(both)} is allowed and denied, and so denied",
            "name a tool in one of the two",
        )
    left = set(rule.tools) - set(rule.deny)
    if rule.needs_approval and rule.tools and not left:
        yield Fault(
            "warning",
            "approval_of_denied",
            "a person is to approve what is denied, so nobody is ever asked",
            "leave out `needs_approval`, or take the tools out of `deny`",
        )
    if rule.allow is not None and left and left.isdisjoint(rule.allow):
        yield Fault(
            "error",
            "never_allowed",
            "it is for tools none of which it allows, so all of them are refused",
            "leave out `tools` to allow only these, or deny them if that is meant",
        )


def _condition(condition: Predicate) -> Iterator[Fault]:
    if not is_pointer(condition.path):
        yield Fault(
            "error",
            "no_pointer",
            f"{condition.path!r} is no JSON Pointer, so no condition on it is ever met",
            "write ~ in a name as ~0, and / as ~1",
        )
    if condition.value is None:
        return
    value = load_text(condition.value)
    if condition.operator in _IN_ORDER and isinstance(value, str) and _is_text_in_order(value):
        yield Fault(
            "warning",
            "compares_as_text",
            f"{condition_words(condition)}: text is compared by its characters, and a number never meets it",
            "where numbers are meant give one, without a unit: 100; the unit is an argument of its own",
        )
    for one in value if isinstance(value, list) else (value,):
        if isinstance(one, str) and reads_as_number(one):
            yield Fault(
                "warning",
                "reads_as_number",
                f"{canonical_text(one)} may be read as a number, and is neither it nor another",
                "write a number as digits (7, not 007); for an id compare with starts_with",
            )
        if one is None:
            yield Fault(
                "warning",
                "null",
                f"{condition_words(condition)}: null is a value of its own, and no missing argument",
                "use absent or present where a missing argument is meant",
            )


_IN_ORDER = (Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}")


def _is_text_in_order(text: str) -> bool:
    """Tell whether an order by characters is likely not meant: that of dates is."""
    return not (_is_number(text) or reads_as_number(text) or _DATE.match(text))


def _by_path(conditions: Sequence[Predicate]) -> dict[str, list[Predicate]]:
    found: dict[str, list[Predicate]] = {}
    for one in conditions:
        found.setdefault(one.path, []).append(one)
    return found


def _all(conditions: Sequence[Predicate]) -> str:
    return " and ".join(map(condition_words, conditions))


_NOTHING = object()


def _can_be_met(conditions: Sequence[Predicate]) -> bool:
    """Tell whether some value, or none at all, meets all conditions on one place."""
    rule = Rule(require=tuple(one.with_fields({"path": "/a"}) for one in conditions))
    return any(
        not breaches(rule, "any", canonical_text({} if value is _NOTHING else {"a": value}))
        for value in _candidates(conditions)
    )


def _candidates(conditions: Sequence[Predicate]) -> Iterator[Any]:
    """Yield values between which the conditions change: those they name, and what lies about these."""
    yield from (_NOTHING, None, True, False, 0, "", "other", [], {})
    named: list[Any] = []
    for one in conditions:
        value = None if one.value is None else load_text(one.value)
        named += value if isinstance(value, list) else [value]
        if isinstance(value, list):
            yield value
    yield from named
    numbers = sorted({float(one) for one in named if _is_number(one)})
    for first, second in pairwise(numbers):
        yield (first + second) / 2
    for number in numbers:
        yield from (number - 1, number + 1)
    for text in {one for one in named if isinstance(one, str)}:
        yield from (f"{text} and more", f"{text}\u0001", f"{text}\uffff", f"!{text}")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and _plain(value)


def _plain(text: str) -> bool:
    """Tell whether a text plainly writes a number."""
    whole = text.removeprefix("-").replace(".", "", 1)
    return whole.isascii() and whole.isdecimal() and not reads_as_number(text)
