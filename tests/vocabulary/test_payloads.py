"""Values from outside are carried as canonical JSON text or named by a digest, never both, never neither."""

import pytest
from hypothesis import given
from pydantic import ValidationError

from ledger.canonical import canonical_text
from ledger.errors import InvalidInput
from ledger.values import Operator, Payload, Predicate, Rule
from tests.strategies import json_values

DIGEST = "0" * 64


@given(json_values())
def test_a_payload_keeps_json_as_its_canonical_text(value: object) -> None:
    text = canonical_text(value)
    assert Payload(json_text=text).json_text == text
    assert Payload.model_validate_json(Payload(json_text=text).model_dump_json()).json_text == text


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "either"),
        ({"json_text": "1", "digest": DIGEST}, "either"),
        ({"size": 3}, "either"),
        ({"json_text": "1", "size": 1}, "behind a digest"),
        ({"json_text": "1", "type": "int"}, "behind a digest"),
        ({"digest": "A" * 64}, "pattern"),
        ({"digest": "0" * 63}, "pattern"),
        ({"digest": DIGEST, "size": -1}, "greater"),
        ({"json_text": ""}, "not JSON"),
        ({"json_text": " 1"}, "not canonical"),
        ({"json_text": "1.0"}, "not canonical"),
        ({"json_text": "-0"}, "not canonical"),
        ({"json_text": '{"b":1,"a":2}'}, "not canonical"),
        ({"json_text": '{"a":1, "b":2}'}, "not canonical"),
        ({"json_text": '"\\u00e9"'}, "not canonical"),
        ({"json_text": '{"a":1,"a":1}'}, "twice"),
        ({"json_text": "NaN"}, "NaN is not JSON"),
        ({"json_text": "1e999"}, "Infinity is not JSON"),
        ({"json_text": "9007199254740993"}, "2^53"),
        ({"json_text": "-9007199254740993"}, "2^53"),
        ({"json_text": "1" + "0" * 400}, "2^53"),
        ({"json_text": '"\\ud800"'}, "surrogate"),
        ({"json_text": '"\ud800"'}, "surrogate"),
        ({"json_text": "[" * 65 + "]" * 65}, "64 levels"),
        ({"json_text": "[" * 100_000 + "]" * 100_000}, "64 levels"),
    ],
)
def test_what_is_no_payload_is_refused(fields: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Payload.model_validate(fields)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("present", None),
        ("absent", None),
        ("eq", "null"),
        ("ne", '{"a":1}'),
        ("le", "100"),
        ("le", "-0.5"),
        ("ge", '"100.00"'),
        ("in", "[1,2]"),
        ("not_in", "[]"),
        ("starts_with", '"EUR"'),
    ],
)
def test_a_predicate_compares_with_what_its_operator_can_use(operator: str, value: str | None) -> None:
    found = Predicate.model_validate({"operator": operator, "path": "/amount", "value": value})
    assert found.value == value


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("present", "1"),
        ("absent", "null"),
        ("eq", None),
        ("le", "null"),
        ("lt", "true"),
        ("gt", "[1]"),
        ("in", "1"),
        ("in", '"EUR"'),
        ("not_in", "{}"),
        ("starts_with", "1"),
        ("like", "1"),
    ],
)
def test_a_predicate_that_could_never_be_judged_is_refused(operator: str, value: str | None) -> None:
    with pytest.raises(ValidationError):
        Predicate.model_validate({"operator": operator, "path": "", "value": value})


@pytest.mark.parametrize("path", ["amount", "/" + "x" * 500, "a/b", " /a"])
def test_the_path_of_a_predicate_is_a_json_pointer(path: str) -> None:
    with pytest.raises(InvalidInput):
        Predicate(operator=Operator.PRESENT, path=path)


def test_a_rule_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValidationError):
        Rule.model_validate({"denied": ["pay"]})
