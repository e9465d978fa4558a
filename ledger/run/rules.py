"""Whether an act keeps to the rule of a constraint, from what is known of the act alone.

A rule is there to limit, so what cannot be compared is never taken to be within it: a condition that is not
met is broken. Values compare by what they are and not by how they are spelled:

- Numbers, and text that writes one plainly (`10`, `-0.50`), are exact decimals: `"10.00"` is 10.
- Text compares by code points. Case, blanks and look-alikes count.
- Text that may be read as a number but writes it in another way (`007`, `1e3`, ` 5`) is neither the same as
  that number nor other than it, so it meets no condition that compares the two.
- Nor do a flag, a list, an object, and a number or text compare with each other. Null is other than all else.

Why so: docs/decisions/0055-what-does-not-compare-is-not-within-a-rule.md
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ledger.canonical import canonical_text, load_text
from ledger.run.rule_words import condition_words, one_of
from ledger.values import Operator, Predicate, Rule

What = Literal["tool", "args", "resource", "tenant"]


class Breach(NamedTuple):
    """One condition of a rule that an act does not meet."""

    what: What
    """What the condition speaks of."""
    path: str | None
    """JSON Pointer into the arguments; None where it does not speak of them."""
    condition: str
    """What would have to be so, in words: `/amount is at most 100`."""
    value: str | None
    """What was found instead, as canonical JSON for arguments; None: there was nothing."""
    undecidable: bool = False
    """The act does not say what the condition speaks of, so that nobody can tell whether it is met."""


def applies(rule: Rule, tool: str, args: str) -> bool:
    """Tell whether a rule speaks of an act: it denies the tool, or is for it and these arguments.

    Args:
        rule: what a constraint lets a machine check.
        tool: the tool that is called.
        args: its arguments as canonical JSON.
    """
    return tool in rule.deny or _speaks_of(rule, tool, args)


def asks_approval(rule: Rule, tool: str, args: str) -> bool:
    """Tell whether a person must approve an act. Arguments as for `applies`."""
    return rule.needs_approval and _speaks_of(rule, tool, args)


def names_tool(rule: Rule, tool: str) -> bool:
    """Tell whether a rule names a tool, as what it denies or is for; what speaks of all tools does not."""
    return tool in rule.deny or tool in rule.tools


def breaches(
    rule: Rule, tool: str, args: str, resource: str | None = None, tenant: str | None = None
) -> tuple[Breach, ...]:
    """List the conditions of a rule that an act does not meet: on tool, resource, tenant, arguments.

    Nothing is listed where the rule does not apply. Whether a person must approve is told by `asks_approval`.

    Args:
        rule: what a constraint lets a machine check.
        tool: the tool that is called.
        args: its arguments as canonical JSON.
        resource: what it acts on, as its tool declares; None: that is not known.
        tenant: whose run acts; None: that is not known.
    """
    if not applies(rule, tool, args):
        return ()
    found = [*_denied(rule, tool)]
    if _speaks_of(rule, tool, args):
        found += _not_allowed(rule, tool)
        found += _named("resource", rule.resources, resource)
        found += _named("tenant", rule.tenants, tenant)
        if rule.require:
            root = _args(args)
            found += (breach for one in rule.require if (breach := _argument(one, root)) is not None)
    return tuple(found)


def _speaks_of(rule: Rule, tool: str, args: str) -> bool:
    """Tell whether all of a rule but what it denies binds an act: where that cannot be told, it does."""
    if rule.tools and tool not in rule.tools:
        return False
    if not rule.when:
        return True
    root = _args(args)
    return not any(_is_surely_unmet(one, _at(root, one.path)) for one in rule.when)


def _denied(rule: Rule, tool: str) -> Iterable[Breach]:
    if tool in rule.deny:
        yield Breach("tool", None, f"the tool is none of {', '.join(rule.deny)}", tool)


def _not_allowed(rule: Rule, tool: str) -> Iterable[Breach]:
    if rule.allow is not None and tool not in rule.allow:
        yield Breach("tool", None, f"the tool is {one_of(rule.allow)}", tool)


def _named(what: What, allowed: tuple[str, ...] | None, named: str | None) -> Iterable[Breach]:
    if allowed is not None and (named is None or named not in allowed):
        yield Breach(what, None, f"the {what} is {one_of(allowed)}", named, undecidable=named is None)


@lru_cache(maxsize=8)
def _args(text: str) -> Any:
    """Read the arguments of an act, which all rules are held against; nothing changes what is read."""
    return load_text(text)


@lru_cache(maxsize=512)
def _value(text: str) -> Any:
    """Read what a condition compares with, which many acts are held against; nothing changes what is read."""
    return load_text(text)


# --- one condition on arguments -----------------------------------------------------------------


class _Place(Enum):
    """What stands at a place of the arguments, where it is no value."""

    NOTHING = "nothing"
    NONE_SUCH = "the path is no JSON Pointer"


def _argument(predicate: Predicate, root: Any) -> Breach | None:
    found = _at(root, predicate.path)
    if _is_met(predicate, found):
        return None
    value = None if isinstance(found, _Place) else canonical_text(found)
    return Breach("args", predicate.path, condition_words(predicate), value)


def _at(value: Any, path: str) -> Any:
    """Follow a JSON Pointer into a value.

    Source: RFC 6901. What is no pointer names no place at all, so that no condition on it is ever met.
    """
    if _BAD_ESCAPE.search(path):
        return _Place.NONE_SUCH
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return _Place.NOTHING
    return value


_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def is_pointer(path: str) -> bool:
    """Tell whether a path names a place at all: no condition on one that does not is ever met."""
    return not _BAD_ESCAPE.search(path)


def _is_met(predicate: Predicate, found: Any) -> bool:
    kind = predicate.operator
    if found is _Place.NONE_SUCH:
        return False
    if found is _Place.NOTHING:
        return kind in _MET_BY_NOTHING
    if predicate.value is None:
        return kind is Operator.PRESENT
    return _COMPARES[kind](found, _value(predicate.value))


def _is_surely_unmet(predicate: Predicate, found: Any) -> bool:
    """Tell whether a condition is not met however the value is read; nothing is sure of what is not there."""
    kind = predicate.operator
    if found is _Place.NONE_SUCH:
        return False
    if kind is Operator.PRESENT:
        return found is _Place.NOTHING
    if kind is Operator.ABSENT:
        return found is not _Place.NOTHING
    if found is _Place.NOTHING:
        return False
    assert predicate.value is not None
    value = _value(predicate.value)
    if kind is Operator.STARTS_WITH:
        return isinstance(found, str) and not found.startswith(str(value))
    return _COMPARES[_OPPOSITES[kind]](found, value)


_OPPOSITES: Mapping[Operator, Operator] = {
    Operator.EQUAL: Operator.NOT_EQUAL,
    Operator.NOT_EQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.LESS,
    Operator.AT_MOST: Operator.GREATER,
    Operator.GREATER: Operator.AT_MOST,
    Operator.ONE_OF: Operator.NONE_OF,
    Operator.NONE_OF: Operator.ONE_OF,
}

_MET_BY_NOTHING = (Operator.NOT_EQUAL, Operator.NONE_OF, Operator.ABSENT)


class Likeness(Enum):
    """How two values compare."""

    SAME = "same"
    OTHER = "other"
    UNCLEAR = "unclear"
    """Who reads them may take them for the same, or not."""


def likeness(one: Any, other: Any) -> Likeness:
    """Compare two JSON values; see the head of this module."""
    if one is None or other is None:
        return _same_if(one is other)
    if _kind(one) is not _kind(other):
        return Likeness.UNCLEAR
    if isinstance(one, list):
        if len(one) != len(other):
            return Likeness.OTHER
        return _all_alike(zip(one, other, strict=True))
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return Likeness.OTHER
        return _all_alike((one[name], other[name]) for name in one)
    if isinstance(one, bool):
        return _same_if(one is other)
    return _scalars_alike(one, other)


def _kind(value: Any) -> type:
    kind = type(value)
    return kind if kind in (bool, list, dict) else str


def _all_alike(pairs: Iterable[tuple[Any, Any]]) -> Likeness:
    found = {likeness(one, other) for one, other in pairs}
    if Likeness.OTHER in found:
        return Likeness.OTHER
    return Likeness.UNCLEAR if Likeness.UNCLEAR in found else Likeness.SAME


def _scalars_alike(one: Any, other: Any) -> Likeness:
    first, second = _decimal(one), _decimal(other)
    if first is not None and second is not None:
        return _same_if(first == second)
    if one == other:
        return Likeness.SAME
    first = _readable(one) if first is None else first
    second = _readable(other) if second is None else second
    return Likeness.UNCLEAR if first is not None and first == second else Likeness.OTHER


def _same_if(so: bool) -> Likeness:
    return Likeness.SAME if so else Likeness.OTHER


def _decimal(value: Any) -> Decimal | None:
    """Return the exact number that a value is or plainly writes."""
    if isinstance(value, str):
        return Decimal(value) if _PLAIN.fullmatch(value) else None
    # The shortest text of a double is what was meant; its binary value is not.
    return Decimal(canonical_text(value))


_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def reads_as_number(text: str) -> bool:
    """Tell whether a text may be read as a number, and writes it in a way that compares with nothing."""
    return _PLAIN.fullmatch(text) is None and _readable(text) is not None


def _readable(text: str) -> Decimal | None:
    """Return the number that a generous reader finds in a text: with signs, blanks, exponents, any digits."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _in_order(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Compare by size where both are numbers, by code points where neither may be read as one."""

    def compare(found: Any, bound: Any) -> bool:
        if _kind(found) is not str or found is None:
            return False
        first, second = _decimal(found), _decimal(bound)
        if first is not None and second is not None:
            return holds(first, second)
        texts = isinstance(found, str) and isinstance(bound, str)
        return texts and _readable(found) is None and _readable(bound) is None and holds(found, bound)

    return compare


_COMPARES: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: lambda found, value: likeness(found, value) is Likeness.SAME,
    Operator.NOT_EQUAL: lambda found, value: likeness(found, value) is Likeness.OTHER,
    Operator.LESS: _in_order(operator.lt),
    Operator.AT_MOST: _in_order(operator.le),
    Operator.GREATER: _in_order(operator.gt),
    Operator.AT_LEAST: _in_order(operator.ge),
    Operator.ONE_OF: lambda found, values: any(likeness(found, one) is Likeness.SAME for one in values),
    Operator.NONE_OF: lambda found, values: all(likeness(found, one) is Likeness.OTHER for one in values),
    Operator.STARTS_WITH: lambda found, start: isinstance(found, str) and found.startswith(start),
}
