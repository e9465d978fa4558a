"""Whether one acceptance binds at least as much as another, as far as a machine can tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as draws

from ledger.events import ConstraintAccepted
from ledger.run.strictness import is_as_strict
from ledger.testing import START
from ledger.values import Operator, Predicate, Rule, Source
from tests.run import examples as x
from tests.strategies import of


def needs(operator: Operator, value: str | None, path: str = "/amount") -> Rule:
    return Rule(require=(Predicate(operator=operator, path=path, value=value),))


AT_MOST, LESS, AT_LEAST, GREATER = Operator.AT_MOST, Operator.LESS, Operator.AT_LEAST, Operator.GREATER
ONE_OF, NONE_OF = Operator.ONE_OF, Operator.NONE_OF

ABOVE_5 = needs(GREATER, "5").require
ABROAD = needs(Operator.NOT_EQUAL, '"DE"', "/country").require
ASKS = Rule(needs_approval=True, tools=("mail",))

STRICTER = [
    (None, None),
    (Rule(deny=("mail",)), None),
    (Rule(deny=("mail", "call")), Rule(deny=("mail",))),
    (Rule(allow=("look",)), Rule()),
    (Rule(allow=("look",)), Rule(allow=("look", "mail"))),
    (Rule(resources=("order:17",)), Rule(resources=("order:17", "order:18"))),
    (Rule(tenants=()), Rule(tenants=("a",))),
    (Rule(needs_approval=True), Rule()),
    (Rule(), Rule(tools=("mail",))),
    (Rule(tools=("mail", "call")), Rule(tools=("mail",))),
    (Rule(require=(*needs(AT_MOST, "5").require, *needs(AT_LEAST, "1").require)), needs(AT_MOST, "5")),
    (needs(AT_MOST, "50"), needs(AT_MOST, "100")),
    (needs(LESS, "100"), needs(AT_MOST, "100")),
    (needs(AT_MOST, "99.5"), needs(LESS, "100")),
    (needs(LESS, "100"), needs(LESS, "100")),
    (needs(AT_LEAST, "6"), needs(AT_LEAST, "5")),
    (needs(GREATER, "5"), needs(AT_LEAST, "5")),
    (needs(AT_LEAST, "6"), needs(GREATER, "5")),
    (needs(ONE_OF, '["a"]'), needs(ONE_OF, '["a","b"]')),
    (needs(NONE_OF, '["a","b"]'), needs(NONE_OF, '["a"]')),
    (needs(Operator.PRESENT, None), needs(Operator.PRESENT, None)),
    (Rule(needs_approval=True, when=ABOVE_5), Rule(needs_approval=True, when=ABOVE_5)),
    (Rule(needs_approval=True), Rule(needs_approval=True, when=ABOVE_5)),
    (Rule(needs_approval=True, when=ABOVE_5), Rule(needs_approval=True, when=(*ABOVE_5, *ABROAD))),
    (ASKS, ASKS.model_copy(update={"when": ABOVE_5})),
    (Rule(deny=("mail", "call")), ASKS),
    (Rule(deny=("mail",)), ASKS.model_copy(update={"when": ABOVE_5})),
]

LAXER = [
    (None, Rule()),
    (Rule(), Rule(deny=("mail",))),
    (Rule(deny=("mail",)), Rule(deny=("mail", "call"))),
    (Rule(), Rule(allow=("look",))),
    (Rule(allow=("look", "mail")), Rule(allow=("look",))),
    (Rule(), Rule(resources=())),
    (Rule(tenants=("a", "b")), Rule(tenants=("a",))),
    (Rule(), Rule(needs_approval=True)),
    (Rule(tools=("mail",)), Rule()),
    (Rule(tools=("mail",)), Rule(tools=("mail", "call"))),
    (Rule(), needs(AT_MOST, "5")),
    (needs(AT_MOST, "100"), needs(AT_MOST, "50")),
    (needs(AT_MOST, "100"), needs(LESS, "100")),
    (needs(AT_MOST, "5", "/fee"), needs(AT_MOST, "5")),
    (needs(AT_LEAST, "4"), needs(AT_LEAST, "5")),
    (needs(AT_LEAST, "5"), needs(GREATER, "5")),
    (needs(AT_LEAST, "5"), needs(AT_MOST, "5")),
    (needs(AT_MOST, '"40"'), needs(AT_MOST, '"5"')),
    (needs(ONE_OF, '["a","c"]'), needs(ONE_OF, '["a","b"]')),
    (needs(NONE_OF, "[]"), needs(NONE_OF, '["a"]')),
    (needs(ONE_OF, '["a"]'), needs(NONE_OF, '["b"]')),
    (needs(Operator.ABSENT, None), needs(Operator.PRESENT, None)),
    (needs(Operator.STARTS_WITH, '"ab"'), needs(Operator.STARTS_WITH, '"a"')),
    (Rule(needs_approval=True, when=ABOVE_5), Rule(needs_approval=True)),
    (Rule(needs_approval=True, when=(*ABOVE_5, *ABROAD)), Rule(needs_approval=True, when=ABOVE_5)),
    (Rule(needs_approval=True, when=ABROAD), Rule(needs_approval=True, when=ABOVE_5)),
    # To ask is less than to refuse.
    (ASKS, Rule(deny=("mail",))),
    (Rule(needs_approval=True), needs(AT_MOST, "5")),
    (Rule(deny=("call",)), ASKS),
    (Rule(deny=("mail",)), Rule(needs_approval=True)),
]


@pytest.mark.parametrize(("new", "old"), STRICTER)
def test_it_binds_as_much(new: Rule | None, old: Rule | None) -> None:
    assert is_as_strict(x.accepted(rule=new), x.accepted(rule=old))


@draws(rule=of(Rule), other=of(Rule))
def test_every_rule_binds_as_much_as_itself_and_as_part_of_itself(rule: Rule, other: Rule) -> None:
    assert is_as_strict(x.accepted(rule=rule), x.accepted(rule=rule))
    more = rule.model_copy(
        update={
            "deny": (*rule.deny, *other.deny),
            "needs_approval": rule.needs_approval or other.needs_approval,
            "require": (*other.require, *rule.require),
        }
    )
    assert is_as_strict(x.accepted(rule=more), x.accepted(rule=rule))


@pytest.mark.parametrize(("new", "old"), LAXER)
def test_it_binds_less_or_nobody_can_tell(new: Rule | None, old: Rule | None) -> None:
    assert not is_as_strict(x.accepted(rule=new), x.accepted(rule=old))


@pytest.mark.parametrize(
    ("new", "old", "strict"),
    [
        ((None, None), (0, 2), True),
        ((0, 2), (0, 2), True),
        ((0, 3), (1, 2), True),
        ((1, 2), (0, 2), False),
        ((0, 1), (0, 2), False),
        ((0, None), (None, None), False),
        ((None, 2), (None, None), False),
    ],
)
def test_what_begins_later_or_ends_sooner_binds_less(
    new: tuple[int | None, int | None], old: tuple[int | None, int | None], strict: bool
) -> None:
    def lasting(span: tuple[int | None, int | None]) -> ConstraintAccepted:
        first, last = (None if hours is None else START + hours * x.HOUR for hours in span)
        return x.accepted(valid_from=first, valid_until=last)

    assert is_as_strict(lasting(new), lasting(old)) is strict


PUBLISHED: dict[str, Any] = {"source": x.POLICY, "source_position": 1, "published": True}
CLAIMED: dict[str, Any] = {**PUBLISHED, "published": False}
ELSE: dict[str, Any] = {"text": "Refund as you like"}


@pytest.mark.parametrize(
    ("new", "old", "strict"),
    [
        ({}, PUBLISHED, False),
        (PUBLISHED, {}, False),
        ({**PUBLISHED, "source": Source("policy", "mail")}, PUBLISHED, False),
        ({**PUBLISHED, "source": Source("policy", "refunds", item="kind")}, PUBLISHED, False),
        ({**PUBLISHED, "source": Source("policy", "refunds", item="limit-100")}, PUBLISHED, True),
        ({**PUBLISHED, "source": Source("policy", "refunds", revision="5")}, PUBLISHED, True),
        (ELSE, {}, False),
        ({**PUBLISHED, **ELSE}, PUBLISHED, True),
        ({**PUBLISHED, **ELSE}, CLAIMED, False),
        ({**CLAIMED, **ELSE}, PUBLISHED, False),
        ({**CLAIMED, **ELSE}, CLAIMED, False),
        ({**PUBLISHED, **ELSE}, {}, False),
        ({**PUBLISHED, **ELSE}, {**PUBLISHED, "rule": x.AT_MOST_100}, False),
        (CLAIMED, PUBLISHED, True),
    ],
)
def test_the_source_stays_and_words_change_only_where_it_published_the_old_and_the_new_ones(
    new: dict[str, Any], old: dict[str, Any], strict: bool
) -> None:
    assert is_as_strict(x.accepted(**new), x.accepted(**old)) is strict
