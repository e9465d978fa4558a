"""What of a rule an act breaks, and laws of how values compare."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ledger.canonical import canonical_text
from ledger.events import ConstraintAccepted
from ledger.run.rules import Breach, Likeness, applies, asks_approval, breaches, likeness
from ledger.run.strictness import is_as_strict
from ledger.values import Operator, Predicate, Rule

MISSING = object()
BARE = (Operator.PRESENT, Operator.ABSENT)


def require(operator: str, value: Any = MISSING, path: str = "/a") -> Rule:
    text = None if value is MISSING else canonical_text(value)
    return Rule(require=(Predicate(operator=Operator(operator), path=path, value=text),))


def meets(operator: str, argument: Any, value: Any = MISSING, path: str = "/a") -> bool:
    """Tell whether a condition is met by arguments in which `a` is so; MISSING: there is none."""
    args = {} if argument is MISSING else {"a": argument}
    return not breaches(require(operator, value, path), "refund", canonical_text(args))


# --- which rules apply, and to whom ------------------------------------------------------------------


def test_a_rule_applies_to_the_tools_it_names_or_denies_or_to_all() -> None:
    assert applies(Rule(), "mail", "{}")
    assert applies(Rule(tools=("refund", "mail")), "mail", "{}")
    assert not applies(Rule(tools=("refund",)), "mail", "{}")
    assert applies(Rule(tools=("refund",), deny=("delete",)), "delete", "{}")


def test_an_approval_is_asked_for_where_the_rule_applies() -> None:
    rule = Rule(needs_approval=True, tools=("refund",))
    assert asks_approval(rule, "refund", "{}")
    assert not asks_approval(rule, "mail", "{}")
    assert not asks_approval(Rule(tools=("refund",)), "refund", "{}")
    assert breaches(rule, "refund", "{}") == ()


def test_tools_that_are_denied_or_not_allowed_break_it() -> None:
    rule = Rule(allow=("refund",), deny=("delete", "refund_all"))
    assert breaches(rule, "refund", "{}") == ()
    assert breaches(rule, "mail", "{}") == (Breach("tool", None, "the tool is one of refund", "mail"),)
    assert breaches(rule, "delete", "{}") == (
        Breach("tool", None, "the tool is none of delete, refund_all", "delete"),
        Breach("tool", None, "the tool is one of refund", "delete"),
    )
    assert breaches(Rule(allow=()), "mail", "{}") == (
        Breach("tool", None, "the tool is one of none", "mail"),
    )


def test_a_rule_that_does_not_apply_is_not_broken() -> None:
    rule = Rule(
        tools=("refund",), allow=("refund",), resources=("order:1",), require=require("absent").require
    )
    assert breaches(rule, "mail", '{"a":1}') == ()
    assert len(breaches(rule, "refund", '{"a":1}')) == 2


@pytest.mark.parametrize("what", ["resource", "tenant"])
def test_what_an_act_does_not_name_is_not_guessed(what: str) -> None:
    rule = Rule(resources=("a", "b")) if what == "resource" else Rule(tenants=("a", "b"))
    condition = f"the {what} is one of a, b"
    assert breaches(rule, "t", "{}", **{what: "b"}) == ()
    assert breaches(rule, "t", "{}", **{what: "c"}) == (Breach(what, None, condition, "c"),)  # type: ignore[arg-type]
    assert breaches(rule, "t", "{}") == (Breach(what, None, condition, None, undecidable=True),)  # type: ignore[arg-type]


def test_a_breach_says_what_would_have_to_be_so_and_what_was_found() -> None:
    rule = Rule(
        require=(
            Predicate(operator=Operator.AT_MOST, path="/payment/amount", value="100.5"),
            Predicate(operator=Operator.ONE_OF, path="/currency", value='["EUR","USD"]'),
            Predicate(operator=Operator.ABSENT, path="/cc"),
            Predicate(operator=Operator.STARTS_WITH, path="", value='"x"'),
        )
    )
    assert breaches(rule, "t", '{"cc":[1],"payment":{"amount":"100.51"}}') == (
        Breach("args", "/payment/amount", "/payment/amount is at most 100.5", '"100.51"'),
        Breach("args", "/currency", '/currency is one of ["EUR","USD"]', None),
        Breach("args", "/cc", "/cc is not there", "[1]"),
        Breach(
            "args",
            "",
            'the whole of the arguments starts with "x"',
            '{"cc":[1],"payment":{"amount":"100.51"}}',
        ),
    )


# --- which acts it speaks of -------------------------------------------------------------------------


def speaks(operator: str, argument: Any, value: Any = MISSING, path: str = "/a") -> bool:
    """Tell whether a rule with this condition speaks of arguments in which `a` is so."""
    rule = Rule(needs_approval=True, when=require(operator, value, path).require)
    text = canonical_text({} if argument is MISSING else {"a": argument})
    asked = asks_approval(rule, "refund", text)
    assert applies(rule, "refund", text) == asked
    return asked


@pytest.mark.parametrize(
    ("operator", "value", "spoken_of", "not_spoken_of"),
    [
        ("eq", 10, [10, "10.00", "010", "1e1", True, [10], MISSING], [11, "11", "ten", None]),
        ("ne", 10, [11, "ten", None, "010", True, MISSING], [10, "10.0"]),
        ("eq", "007", ["007", "7", 7, MISSING], ["8", 8, "bond", None]),
        ("lt", 100, [99.99, "99", "ten", "099", True, None, [1], MISSING], [100, "100.0", 101]),
        ("le", 100, [100, "100.0", "1e9", MISSING], [100.01, "101"]),
        ("gt", 100, [101, "100.01", "1e3", "0101", None, {}, MISSING], [100, "100.0", 0, "-5"]),
        ("ge", 100, [100, "ten", " 5", MISSING], [99.99, "99"]),
        ("ge", "2026-02-01", ["2026-02-01", 2026, "2027", MISSING], ["2026-01-31", "2025-12-31"]),
        ("in", ["a", 5], ["a", "5.0", "05", ["a"], True, MISSING], ["b", 6, None]),
        ("in", [], [MISSING], ["a", None, [], {}]),
        ("not_in", ["a", 5], ["b", "05", None, ["a"], MISSING], ["a", "5.00"]),
        ("starts_with", "ab", ["abc", "ab", 5, None, ["ab"], MISSING], ["b", "Ab", ""]),
        ("present", MISSING, [0, None, "", []], [MISSING]),
        ("absent", MISSING, [MISSING], [0, None, "", []]),
    ],
)
def test_a_rule_speaks_of_what_meets_its_conditions_and_of_what_nobody_can_tell(
    operator: str, value: Any, spoken_of: list[Any], not_spoken_of: list[Any]
) -> None:
    assert [one for one in spoken_of if not speaks(operator, one, value)] == []
    assert [one for one in not_spoken_of if speaks(operator, one, value)] == []


@pytest.mark.parametrize("operator", list(Operator))
@pytest.mark.parametrize("argument", ["b", 1, MISSING])
def test_where_no_pointer_leads_nobody_can_tell(operator: Operator, argument: Any) -> None:
    value: Any = MISSING if operator in BARE else ["x"] if "in" in operator.value.split("_") else "x"
    assert speaks(operator, argument, value, "/a~2")


def test_every_one_of_its_conditions_must_be_met_or_untold() -> None:
    above = require("gt", 100).require[0]
    abroad = require("ne", "DE", "/country").require[0]
    rule = Rule(tools=("refund",), when=(above, abroad), require=require("absent", path="/note").require)
    told = '{"a":101,"country":"FR","note":"x"}'
    assert [one.path for one in breaches(rule, "refund", told)] == ["/note"]
    assert [one.path for one in breaches(rule, "refund", '{"note":"x"}')] == ["/note"]
    for args in ('{"a":100,"country":"FR","note":"x"}', '{"a":101,"country":"DE","note":"x"}'):
        assert not applies(rule, "refund", args)
        assert breaches(rule, "refund", args) == ()
    assert not applies(rule, "mail", told)


def test_what_is_denied_is_denied_whatever_tools_and_conditions_say() -> None:
    above = require("gt", 100).require
    rule = Rule(
        tools=("refund",), when=above, deny=("wire",), needs_approval=True, require=require("absent").require
    )
    denied = Breach("tool", None, "the tool is none of wire", "wire")
    for args in ("{}", '{"a":1}', '{"a":101}'):
        assert applies(rule, "wire", args)
        assert breaches(rule, "wire", args) == (denied,)
        assert not asks_approval(rule, "wire", args)
    same = rule.model_copy(update={"tools": ()})
    assert breaches(same, "wire", '{"a":1}') == (denied,)
    assert [one.what for one in breaches(same, "wire", '{"a":101}')] == ["tool", "args"]


# --- one condition -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operator", "value", "met", "broken"),
    [
        (
            "eq",
            10,
            [10, 10.0, "10", "10.00"],
            [11, "11", "010", "1e1", " 10", "+10", True, None, [10], "ten"],
        ),
        (
            "ne",
            10,
            [11, "11", "ten", None, MISSING],
            [10, "10.0", "010", "1e1", " 10", "1_0", "\u0661\u0660", True, [1]],
        ),
        ("eq", "007", ["007"], ["7", 7, "0007", "07"]),
        ("ne", "007", ["8", 8, "bond"], ["007", "7", 7, "07", " 7"]),
        ("eq", "Kim", ["Kim"], ["kim", "Kim ", "K\u0456m", ["Kim"], None]),
        ("eq", True, [True], [False, 1, "true", None]),
        ("ne", True, [False, None, MISSING], [True, 1, "true", "no"]),
        ("eq", None, [None], [0, "", False, [], MISSING]),
        ("ne", None, [0, "", False, []], [None]),
        (
            "eq",
            [1, {"b": "2.0"}],
            [[1, {"b": 2}], ["1.0", {"b": "2"}]],
            [[1], [1, {"c": 2}], [1, {"b": "02"}]],
        ),
        ("ne", [1, 2], [[1], [2, 1], [1, 2, 3]], [[1, 2], ["1", "2.0"], ["01", 2], 1]),
        ("lt", 100, [99.99, "-5", 0, "99.99"], [100, "100.0", "1e1", "099", "ten", True, None, [1], MISSING]),
        ("le", 0.3, [0.3, "0.3", "0.30"], [0.30000000000000004, "0.31"]),
        ("gt", 0.1, [0.2, "0.11"], [0.1, "0.1", "0.10"]),
        ("ge", "10", [10, "10.0", 11], [9, "9.9", "a", "010"]),
        ("le", 9007199254740991, [9007199254740991], ["9007199254740992", "9007199254740991.1"]),
        ("le", 1e21, [1e21, "1" + "0" * 21], [1.1e21, "1" + "0" * 20 + "1.5"]),
        ("ge", "2026-01-31", ["2026-01-31", "2026-02-01", "z"], ["2025-12-31", "2027", 2027, "9e9", MISSING]),
        ("in", ["a", 5], ["a", 5, "5.0"], ["b", ["a"], None, "05", MISSING]),
        ("in", [], [], ["a", None, 1]),
        ("not_in", ["a", 5], ["b", 6, "", None, MISSING], ["a", "5.00", "05", "5e0", ["a"], True]),
        ("not_in", [], ["a", None, [], MISSING], []),
        ("starts_with", "ab", ["ab", "abc"], ["a", "Ab", ["ab"], 5, None, MISSING]),
        ("present", MISSING, [None, 0, "", []], [MISSING]),
        ("absent", MISSING, [MISSING], [None, 0, "", []]),
    ],
)
def test_each_operator(operator: str, value: Any, met: list[Any], broken: list[Any]) -> None:
    assert [argument for argument in met if not meets(operator, argument, value)] == []
    assert [argument for argument in broken if meets(operator, argument, value)] == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a", '{"b":[10,{"":1}],"c/d":2,"e~f":3}'),
        ("/a/b/0", "10"),
        ("/a/b/1/", "1"),
        ("/a/c~1d", "2"),
        ("/a/e~0f", "3"),
        ("/a/b/2", None),
        ("/a/b/-", None),
        ("/a/b/00", None),
        ("/a/b/0/x", None),
        ("/a/b/\u0660", None),
        ("/a/x/y", None),
        ("a", None),
    ],
)
def test_a_path_is_a_json_pointer(path: str, found: str | None) -> None:
    args = canonical_text({"a": {"b": [10, {"": 1}], "c/d": 2, "e~f": 3}})
    if not path.startswith("/"):
        with pytest.raises(ValueError, match="path"):
            Predicate(operator=Operator.PRESENT, path=path)
        return
    present = breaches(require("present", path=path), "t", args)
    absent = breaches(require("absent", path=path), "t", args)
    assert (
        (present, [one.value for one in absent]) == ((), [found])
        if found
        else (len(present), absent) == (1, ())
    )


@pytest.mark.parametrize("operator", list(Operator))
@pytest.mark.parametrize("path", ["/a~", "/a~2", "/~a"])
def test_what_is_no_pointer_is_met_by_nothing(operator: Operator, path: str) -> None:
    value: Any = MISSING if operator in BARE else ["x"] if "in" in operator.value.split("_") else "x"
    assert not meets(operator, "b", value, path)


# --- laws --------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
)
plain = st.decimals(-(10**9), 10**9, places=3).map(lambda one: f"{one:f}")
texts = st.one_of(
    st.text(max_size=4),
    st.sampled_from(
        ["007", "1e1", " 7", "+7", "7.", ".7", "-0", "7_0", "NaN", "Infinity", "\u0667", "7", "7.0"]
    ),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, plain, texts)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


def spellings(number: Decimal) -> list[Any]:
    """Write a number in every plain way."""
    whole = [int(number)] if number == int(number) and abs(number) < 2**53 else []
    text = f"{number:f}"
    more = f"{text}00" if "." in text else f"{text}.0"
    return [*whole, text, more]


@given(values, values)
@example("007", "7")
@example(1, True)
@example([1], 1)
def test_a_condition_and_its_opposite_are_never_both_met(one: Any, other: Any) -> None:
    clear = likeness(one, other) is not Likeness.UNCLEAR
    assert meets("eq", one, other) + meets("ne", one, other) == clear
    assert meets("present", one)
    assert not meets("absent", one)


@given(values, st.lists(values, max_size=3))
def test_one_of_is_the_same_as_some_and_none_of_is_other_than_all(one: Any, some: list[Any]) -> None:
    assert meets("in", one, some) == any(meets("eq", one, other) for other in some)
    assert meets("not_in", one, some) == all(meets("ne", one, other) for other in some)
    assert not (meets("in", one, some) and meets("not_in", one, some))


@given(values, values)
def test_likeness_is_the_same_from_both_sides_and_with_itself(one: Any, other: Any) -> None:
    assert likeness(one, other) is likeness(other, one)
    assert likeness(one, one) is Likeness.SAME


@given(st.one_of(scalars, st.lists(scalars, max_size=2)), scalars, scalars)
def test_what_is_the_same_as_the_same_is_the_same(one: Any, other: Any, third: Any) -> None:
    if likeness(one, other) is likeness(other, third) is Likeness.SAME:
        assert likeness(one, third) is Likeness.SAME


decimals = st.decimals(-(10**9), 10**9, places=2) | st.integers(-5, 5).map(Decimal)


@given(decimals, decimals, st.data())
def test_numbers_have_one_order_however_they_are_spelled(
    one: Decimal, other: Decimal, data: st.DataObject
) -> None:
    first, second = (data.draw(st.sampled_from(spellings(number))) for number in (one, other))
    found = {name: meets(name, first, second) for name in ("lt", "le", "gt", "ge", "eq", "ne")}
    assert found == {
        "lt": one < other,
        "le": one <= other,
        "gt": one > other,
        "ge": one >= other,
        "eq": one == other,
        "ne": one != other,
    }


@given(numbers, numbers)
def test_doubles_compare_as_they_are_written(one: float, other: float) -> None:
    first, second = Decimal(canonical_text(one)), Decimal(canonical_text(other))
    assert meets("lt", one, other) == (first < second)
    assert meets("eq", one, other) == (first == second)


@given(st.text(st.characters(categories=["L", "P", "Zs"]), max_size=4), st.text("abz-: ", max_size=4))
def test_texts_have_the_order_of_their_code_points(one: str, other: str) -> None:
    assert meets("le", one, other) == (one <= other)
    assert meets("gt", one, other) == (one > other)


@given(values, st.one_of(numbers, plain, texts))
def test_an_order_is_met_by_one_side_only_and_by_nothing_that_does_not_compare(one: Any, bound: Any) -> None:
    found = [meets(name, one, bound) for name in ("lt", "le", "gt", "ge")]
    below, at_most, above, at_least = found
    assert below <= at_most
    assert above <= at_least
    # What compares stands on exactly one side; what does not, on none.
    assert sum((below, at_most and at_least, above)) == any(found)


@given(st.sampled_from(list(Operator)), values, st.data())
def test_only_ne_not_in_and_absent_are_met_by_nothing(
    operator: Operator, value: Any, data: st.DataObject
) -> None:
    given_value: Any = value
    if operator in BARE:
        given_value = MISSING
    elif operator in (Operator.ONE_OF, Operator.NONE_OF):
        given_value = [value]
    elif operator not in (Operator.EQUAL, Operator.NOT_EQUAL):
        given_value = data.draw(texts)
    assert meets(operator, MISSING, given_value) == (operator.value in ("ne", "not_in", "absent"))


@given(values, values)
@example("007", "7")
@example(None, [1])
def test_conditions_that_say_opposites_are_never_both_surely_unmet(one: Any, other: Any) -> None:
    """So of a rule for what meets a condition and one for the rest, one at least speaks of each act."""
    clear = likeness(one, other) is not Likeness.UNCLEAR
    assert speaks("eq", one, other) + speaks("ne", one, other) == (1 if clear else 2)
    assert speaks("in", one, [other]) == speaks("eq", one, other)
    assert speaks("not_in", one, [other]) == speaks("ne", one, other)
    assert speaks("present", one)
    assert not speaks("absent", one)


@given(values, st.one_of(numbers, plain, texts))
def test_an_order_speaks_of_one_side_or_of_all_that_does_not_compare(one: Any, bound: Any) -> None:
    compares = meets("le", one, bound) or meets("ge", one, bound)
    for name in ("lt", "le", "gt", "ge"):
        assert speaks(name, one, bound) == (meets(name, one, bound) or not compares)


@given(st.data(), values)
def test_what_meets_a_condition_is_spoken_of_and_what_it_does_not_meet_may_be(
    data: st.DataObject, argument: Any
) -> None:
    condition = data.draw(predicates())
    text = canonical_text({"a": argument})
    met = not breaches(Rule(require=(condition,)), "t", text)
    if met:
        assert applies(Rule(when=(condition,)), "t", text)


# --- beside the strictness of rules ------------------------------------------------------------------

names = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True).map(tuple)
some_values = st.sampled_from([0, 1, 2, "1", "1.0", "01", "x", 1.5, None, True, [1]])


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    operator = draw(st.sampled_from(list(Operator)))
    value: Any = MISSING
    if operator in (Operator.ONE_OF, Operator.NONE_OF):
        value = draw(st.lists(some_values, max_size=3))
    elif operator is Operator.STARTS_WITH:
        value = draw(st.sampled_from(["", "x", "1"]))
    elif operator in (Operator.EQUAL, Operator.NOT_EQUAL):
        value = draw(some_values)
    elif operator not in BARE:
        value = draw(st.sampled_from([0, 1, 2, 1.5, "1", "x"]))
    path = draw(st.sampled_from(["/a", "/b"]))
    return Predicate(operator=operator, path=path, value=None if value is MISSING else canonical_text(value))


rules = st.builds(
    Rule,
    allow=st.none() | names,
    deny=names,
    needs_approval=st.booleans(),
    require=st.lists(predicates(), max_size=2).map(tuple),
    resources=st.none() | names,
    tenants=st.none() | names,
    tools=names,
    when=st.lists(predicates(), max_size=1).map(tuple),
)
single = predicates().map(lambda one: Rule(require=(one.with_fields({"path": "/a"}),)))
pairs = st.tuples(rules, rules) | st.tuples(single, single)
acts = st.fixed_dictionaries({}, optional={"a": some_values, "b": some_values})


def stricter(rule: Rule, other: Rule) -> Rule:
    """Build a rule that forbids what either forbids, where that is easily said."""
    return rule.model_copy(
        update={
            "deny": (*rule.deny, *other.deny),
            "require": (*rule.require, *other.require),
            "needs_approval": rule.needs_approval or other.needs_approval,
        }
    )


@given(pairs, st.booleans(), st.sampled_from(["a", "b", "c"]), acts, *[st.sampled_from(["a", None])] * 2)
def test_what_is_as_strict_forbids_as_much(
    pair: tuple[Rule, Rule],
    added: bool,
    tool: str,
    args: dict[str, Any],
    resource: str | None,
    tenant: str | None,
) -> None:
    """An agent may exchange a rule for one that is as strict: nothing is allowed by that.

    What was refused is refused, and what a person had to approve is refused or approved by one: to ask is
    less than to refuse.
    """
    old, other = pair
    new = stricter(old, other) if added else other

    def accepted(rule: Rule) -> ConstraintAccepted:
        return ConstraintAccepted(
            accepted_by="human:kim", asserted_by="human:kim", id="c", text="words", rule=rule
        )

    assume(is_as_strict(accepted(new), accepted(old)))
    text = canonical_text(args)
    refused = bool(breaches(new, tool, text, resource, tenant))
    if breaches(old, tool, text, resource, tenant):
        assert refused
    if asks_approval(old, tool, text):
        assert refused or asks_approval(new, tool, text)
