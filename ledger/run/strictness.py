"""Whether one acceptance of a constraint binds at least as much as another, as far as a machine can tell.

It compares rules and valid times. What words mean is for people to judge: other words are as strict only
where they took the place of the old ones in the source of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

from ledger.canonical import canonical_text, load_text
from ledger.events import ConstraintAccepted
from ledger.values import Operator, Predicate, Rule


def is_as_strict(new: ConstraintAccepted, old: ConstraintAccepted) -> bool:
    """Tell whether `new` allows nothing that `old` forbids, at no time."""
    return (
        same_source(new, old)
        and (new.text == old.text or bool(new.published and old.published))
        and _lasts_as_long(new, old)
        and (old.rule is None or (new.rule is not None and forbids_as_much(new.rule, old.rule)))
    )


def same_source(new: ConstraintAccepted, old: ConstraintAccepted) -> bool:
    """Tell whether both acceptances rely on one item of one source, in whatever revision, or on none.

    Whoever could exchange the source could also free a constraint of who withdraws and rewords it.
    """
    if new.source is None or old.source is None:
        return new.source is old.source
    return (new.source.stream, new.source.item or new.id) == (old.source.stream, old.source.item or old.id)


def _lasts_as_long(new: ConstraintAccepted, old: ConstraintAccepted) -> bool:
    begins = new.valid_from is None or (old.valid_from is not None and new.valid_from <= old.valid_from)
    ends = new.valid_until is None or (old.valid_until is not None and new.valid_until >= old.valid_until)
    return begins and ends


def forbids_as_much(new: Rule, old: Rule) -> bool:
    """Tell whether a rule surely refuses what another one refuses, and asks about what it asks about.

    What the other one would have a person approve may be refused instead, and not the other way about.
    """
    return (
        (not new.tools or (bool(old.tools) and set(new.tools) >= set(old.tools)))
        # Each condition on the arguments makes a rule speak of less.
        and set(new.when) <= set(old.when)
        and _within(new.allow, old.allow)
        and _within(new.resources, old.resources)
        and _within(new.tenants, old.tenants)
        and set(new.deny) >= set(old.deny)
        and all(any(_implies(one, other) for one in new.require) for other in old.require)
        and (new.needs_approval >= old.needs_approval or _denies(new, old.tools))
    )


def _denies(rule: Rule, tools: Iterable[str]) -> bool:
    """Tell whether a rule denies each of some tools; of all tools, which no names stand for, it cannot."""
    return bool(tools) and set(tools) <= set(rule.deny)


def _within(new: Iterable[str] | None, old: Iterable[str] | None) -> bool:
    """Tell whether no more is allowed than before; None allows everything."""
    return old is None or (new is not None and set(new) <= set(old))


def _implies(new: Predicate, old: Predicate) -> bool:
    """Tell whether arguments that meet `new` surely meet `old`: the same condition, or a narrower bound."""
    if new == old:
        return True
    if new.path != old.path or new.value is None or old.value is None:
        return False
    bound, limit = load_text(new.value), load_text(old.value)
    match old.operator:
        case Operator.AT_MOST | Operator.LESS if new.operator in (Operator.AT_MOST, Operator.LESS):
            return _is_number(bound) and _is_number(limit) and _inside(bound, limit, new, old)
        case Operator.AT_LEAST | Operator.GREATER if new.operator in (Operator.AT_LEAST, Operator.GREATER):
            return _is_number(bound) and _is_number(limit) and _inside(-bound, -limit, new, old)
        case Operator.ONE_OF if new.operator is Operator.ONE_OF:
            return _are_lists(bound, limit) and _texts(bound) <= _texts(limit)
        case Operator.NONE_OF if new.operator is Operator.NONE_OF:
            return _are_lists(bound, limit) and _texts(bound) >= _texts(limit)
    return False


def _inside(bound: float, limit: float, new: Predicate, old: Predicate) -> bool:
    # "At most 5" does not keep what "less than 5" forbids; every other pair does at the same number.
    excluded = old.operator in (Operator.LESS, Operator.GREATER)
    included = new.operator in (Operator.AT_MOST, Operator.AT_LEAST)
    return bound < limit if excluded and included else bound <= limit


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_lists(*values: object) -> bool:
    return all(isinstance(value, list) for value in values)


def _texts(values: Any) -> frozenset[str]:
    return frozenset(map(canonical_text, values))
