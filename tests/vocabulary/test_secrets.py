"""A reference to a secret shows, hashes and stores its name, and finds its value only when it is asked."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError, validate_call
from pydantic_core import PydanticSerializationError

from ledger.canonical import MAX_DEPTH, canonical_text
from ledger.errors import InvalidInput
from ledger.values import SecretRef, arguments_text, bind_secrets, tag_secrets, untag_secrets
from tests.strategies import ids

VAULT = {"stripe-key": "the-value"}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
).filter(lambda value: '"$secret":' not in json.dumps(value))
ARGS = st.recursive(
    PLAIN | ids(20).map(SecretRef),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


def bound() -> SecretRef:
    return SecretRef("stripe-key").bound_to(VAULT.__getitem__)


def reason(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as caught:
        call()
    return caught.value.path, caught.value.reason


# --- the reference -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, 7, None, b"key"])
def test_the_name_of_a_secret_is_an_id(name: Any) -> None:
    assert reason(lambda: SecretRef(name))[0] == "name"


def test_a_bound_reference_finds_its_value_each_time() -> None:
    values = iter(["first", "second"])
    reference = SecretRef("key").bound_to(lambda name: f"{name}: {next(values)}")
    assert [reference.resolve(), reference.resolve()] == ["key: first", "key: second"]


def test_an_unbound_reference_says_how_to_bind_it() -> None:
    path, why = reason(SecretRef("stripe-key").resolve)
    assert path == "stripe-key"
    assert "secrets=" in why


def test_binding_leaves_the_reference_itself_unbound() -> None:
    reference = SecretRef("stripe-key")
    assert reference.bound_to(VAULT.__getitem__).resolve() == "the-value"
    assert "secrets=" in reason(reference.resolve)[1]


def test_an_unknown_name_is_invalid_and_no_cause_says_what_the_lookup_holds() -> None:
    def lookup(name: str) -> str:
        raise KeyError(f"{name} is not in {VAULT}")

    with pytest.raises(InvalidInput) as caught:
        SecretRef("other").bound_to(lookup).resolve()
    assert "no secret of this name" in caught.value.reason
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_the_lookup_returns_must_be_text_and_is_not_shown() -> None:
    lookup: Any = {"key": b"the-value"}.__getitem__
    why = reason(SecretRef("key").bound_to(lookup).resolve)[1]
    assert "bytes" in why
    assert "the-value" not in why


def test_other_errors_of_a_lookup_come_through() -> None:
    def lookup(name: str) -> str:
        raise ConnectionError("the vault is down")

    with pytest.raises(ConnectionError):
        SecretRef("key").bound_to(lookup).resolve()


@pytest.mark.parametrize("shown", [repr, str, "{}".format, "%r".__mod__])
def test_only_the_name_is_shown(shown: Callable[[object], str]) -> None:
    assert shown(bound()) == "SecretRef('stripe-key')"


def test_references_are_equal_by_name_bound_or_not() -> None:
    assert bound() == SecretRef("stripe-key") != SecretRef("other")
    assert hash(bound()) == hash(SecretRef("stripe-key"))
    other: object = "stripe-key"
    assert bound() != other


def test_a_pickled_reference_leaves_its_lookup_behind() -> None:
    data = pickle.dumps(bound())
    assert b"the-value" not in data
    again = pickle.loads(data)
    assert again == bound()
    assert "secrets=" in reason(again.resolve)[1]


def test_copies_in_memory_stay_bound() -> None:
    for again in (copy.copy(bound()), copy.deepcopy({"token": bound()})["token"]):
        assert again.resolve() == "the-value"


@pytest.mark.parametrize("field", ["name", "_lookup", "value"])
def test_a_reference_is_frozen(field: str) -> None:
    reference = bound()
    with pytest.raises(AttributeError, match="frozen"):
        setattr(reference, field, "x")
    with pytest.raises(AttributeError, match="frozen"):
        delattr(reference, field)
    assert reference.resolve() == "the-value"


# --- in signatures -----------------------------------------------------------------------------


class Payment(BaseModel):
    order: int
    token: SecretRef


def test_a_model_takes_a_reference_as_it_is_and_writes_its_tag() -> None:
    payment = Payment(order=17, token=bound())
    assert payment.token.resolve() == "the-value"
    assert payment.model_dump()["token"] is payment.token
    assert json.loads(payment.model_dump_json()) == {"order": 17, "token": {"$secret": "stripe-key"}}


def test_what_takes_anything_shows_nothing_of_a_lookup() -> None:
    class Anything(BaseModel):
        value: Any

    def lookup(name: str) -> str:
        raise AssertionError

    holder = Anything(value=[bound().bound_to(lookup)])
    assert "lookup" not in str(holder.model_dump())
    with pytest.raises(PydanticSerializationError):
        holder.model_dump_json()
    assert "lookup" not in str(asdict(Holder(bound().bound_to(lookup))))


@dataclass
class Holder:
    token: SecretRef


@pytest.mark.parametrize("token", ["stripe-key", {"$secret": "stripe-key"}, None, 7])
def test_nothing_else_is_taken_for_a_reference(token: Any) -> None:
    with pytest.raises(ValidationError):
        Payment(order=17, token=token)
    with pytest.raises(ValidationError):
        Payment.model_validate_json(json.dumps({"order": 17, "token": token}))


def test_a_function_may_be_annotated_with_it() -> None:
    @validate_call
    def pay(order: int, token: SecretRef) -> str:
        return token.resolve()

    assert pay(17, token=bound()) == "the-value"
    wrong: Any = "stripe-key"
    with pytest.raises(ValidationError):
        pay(17, token=wrong)


def test_a_json_schema_describes_the_tag() -> None:
    schema = TypeAdapter(SecretRef).json_schema()
    assert schema["required"] == list(schema["properties"]) == ["$secret"]
    assert schema["additionalProperties"] is False


# --- in arguments ------------------------------------------------------------------------------


def test_arguments_are_written_with_the_name_alone() -> None:
    text = arguments_text({"order": 17, "token": bound(), "more": [SecretRef("é")]})
    assert text == '{"more":[{"$secret":"é"}],"order":17,"token":{"$secret":"stripe-key"}}'


@pytest.mark.parametrize(
    "tag",
    [{"$secret": "stripe-key"}, {"$secret": None}, {"$secret": {}, "more": 1}, {"$secret": SecretRef("a")}],
)
@pytest.mark.parametrize("beside", [{}, {"token": SecretRef("b")}])
def test_an_object_that_could_be_taken_for_a_reference_is_refused(tag: Any, beside: dict[str, Any]) -> None:
    for write in (arguments_text, tag_secrets):
        path, why = reason(lambda write=write: write({"list": [1, {"x": tag}], **beside}))  # type: ignore[misc]
        assert path == "args.list[1].x"
        assert "SecretRef" in why


def test_the_tag_is_plain_text_where_it_is_no_key() -> None:
    args = {"a": "$secret", "$secrets": 1, "b": '"$secret":', "c": '{"$secret":"x"}'}
    assert arguments_text(args) == canonical_text(args)
    assert tag_secrets(args) is args


@given(PLAIN)
def test_arguments_without_references_are_written_as_any_json(value: Any) -> None:
    assert tag_secrets(value) is value
    assert arguments_text(value) == canonical_text(value)
    assert bind_secrets(value, VAULT.__getitem__) is value


@given(ARGS)
def test_what_was_written_is_read_as_the_same_arguments(value: Any) -> None:
    text = arguments_text(value)
    assert text == canonical_text(tag_secrets(value))
    assert untag_secrets(json.loads(text)) == value


@given(ARGS)
def test_binding_changes_no_argument_and_binds_each_reference(value: Any) -> None:
    for args in (bind_secrets(value, str.upper), untag_secrets(tag_secrets(value), str.upper)):
        assert args == value
        for reference in references(args):
            assert reference.resolve() == reference.name.upper()


def references(value: Any) -> list[SecretRef]:
    if isinstance(value, SecretRef):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [reference for item in inner for reference in references(item)]


def test_tuples_keep_their_kind() -> None:
    assert bind_secrets((1, SecretRef("a")), str.upper) == (1, SecretRef("a"))
    assert tag_secrets((1, SecretRef("a"))) == (1, {"$secret": "a"})


@pytest.mark.parametrize(
    "stored", [{"$secret": "a", "b": 1}, {"$secret": 7}, {"$secret": ""}, {"$secret": ["a"]}]
)
def test_a_stored_tag_that_was_not_written_so_is_refused(stored: Any) -> None:
    reason(lambda: untag_secrets({"token": stored}))


def test_what_holds_itself_is_refused() -> None:
    loop: list[Any] = [SecretRef("a")]
    loop.append(loop)
    for change in (arguments_text, tag_secrets, lambda value: bind_secrets(value, str.upper)):
        assert f"{MAX_DEPTH} levels" in reason(lambda change=change: change(loop))[1]  # type: ignore[misc]


def test_a_reference_stands_as_deep_as_its_tag_may() -> None:
    def nested(levels: int) -> Any:
        value: Any = SecretRef("a")
        for _ in range(levels):
            value = [value]
        return value

    text = arguments_text(nested(MAX_DEPTH - 1))
    assert untag_secrets(json.loads(text)) == nested(MAX_DEPTH - 1)
    assert f"{MAX_DEPTH} levels" in reason(lambda: arguments_text(nested(MAX_DEPTH)))[1]


def test_what_is_neither_json_nor_a_reference_is_refused_with_its_place() -> None:
    assert reason(lambda: arguments_text({"a": SecretRef("a"), "b": [object()]}))[0] == "args.b[0]"
