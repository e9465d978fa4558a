"""Ids are checked when they are made and never touched: two that differ in a byte are two ids."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ledger.errors import InvalidInput
from ledger.values import MAX_ID_LENGTH, REF_KINDS, Id, Party, Principal, Ref, RunId, Source, check_id
from tests.strategies import ids

ID: TypeAdapter[str] = TypeAdapter(Id)
RUN_ID: TypeAdapter[str] = TypeAdapter(RunId)
PARTY: TypeAdapter[str] = TypeAdapter(Party)
PRINCIPAL: TypeAdapter[str] = TypeAdapter(Principal)
REF: TypeAdapter[str] = TypeAdapter(Ref)


def refusal(kind: TypeAdapter[str], value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        kind.validate_python(value)
    return caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" ", "blank"),
        ("\t", "blank"),
        ("\n \r\n", "blank"),
        ("\u00a0\u2003\u3000", "blank"),
        ("\u2028", "blank"),
        ("a\x00b", "U+0000"),
        ("\x00", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\x1b[2Jb", "U+001B"),
        ("a\x7f", "U+007F"),
        ("a\x85b", "U+0085"),
        ("a\u2028b", "U+2028"),
        ("a\u2029b", "U+2029"),
        ("a\ud800", "surrogate"),
        ("\udfffb", "surrogate"),
        ("\ud83d\ude80", "surrogate"),
        ("x" * 201, "200 characters"),
        ("\U0001f680" * 201, "200 characters"),
    ],
)
def test_what_is_no_id_is_refused(text: str, why: str) -> None:
    assert why in refusal(ID, text)


@pytest.mark.parametrize("value", [None, 7, True, b"bytes", ["a"], {"a": 1}, 1.5])
def test_what_is_not_text_is_no_id(value: object) -> None:
    refusal(ID, value)


def test_every_code_point_is_decided_by_its_category() -> None:
    for number in range(0x110000):
        character = chr(number)
        refused = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        text = f"a{character}b"
        try:
            assert check_id(text) == text
            assert not refused, hex(number)
        except ValueError:
            assert refused, hex(number)


@pytest.mark.parametrize(
    "pair",
    [
        ("caf\u00e9", "cafe\u0301"),
        ("Run", "run"),
        ("stra\u00dfe", "strasse"),
        ("a", "a "),
        ("a", " a"),
        ("a", "\ufeffa"),
        ("ab", "a\u200bb"),
        ("ab", "a\u202eb"),
        ("\u212b", "\u00c5"),
        ("\uff41", "a"),
        ("\u0430", "a"),
        ("a\u00a0b", "a b"),
        ("01", "1"),
    ],
)
def test_look_alikes_stay_apart(pair: tuple[str, str]) -> None:
    one, other = (ID.validate_python(text) for text in pair)
    assert one != other
    assert (one, other) == pair


@pytest.mark.parametrize(
    "text", ["\U0001f680", "\u0378 unassigned", "\ue000 private", "\U0010ffff", "\u202eltr", "x" * 200]
)
def test_unusual_ids_are_kept(text: str) -> None:
    assert ID.validate_python(text) == text


@given(ids())
def test_an_id_is_kept_byte_for_byte(text: str) -> None:
    assert ID.validate_python(text).encode() == text.encode()
    assert ID.validate_json(ID.dump_json(text)) == text


@given(st.text())
def test_an_id_is_taken_as_it_is_or_refused(text: str) -> None:
    try:
        assert check_id(text) is text
    except ValueError:
        assert text.isspace() or not text.isprintable() or not text


def test_run_ids_leave_the_dollar_to_the_ledger() -> None:
    assert "$" in refusal(RUN_ID, "$ledger")
    assert "$" in refusal(RUN_ID, "$")
    assert RUN_ID.validate_python("a$b") == "a$b"
    assert RUN_ID.validate_python("\uff04full-width") == "\uff04full-width"


@pytest.mark.parametrize("text", ["human:kim", "customer:17", "a:b:c", "x.y_z-1:\u00fc", "crm: 17"])
def test_a_party_has_a_kind_and_a_name(text: str) -> None:
    assert PARTY.validate_python(text) == text


@pytest.mark.parametrize(
    "text", ["kim", ":kim", "human:", "human: ", "Human:kim", "1a:b", "hu man:kim", "\u00fc:b"]
)
def test_a_party_without_kind_or_name_is_refused(text: str) -> None:
    assert "kind:name" in refusal(PARTY, text)


def test_a_principal_is_one_who_can_act() -> None:
    for text in ("human:kim", "agent:refunds", "service:billing"):
        assert PRINCIPAL.validate_python(text) == text
    for text in ("customer:17", "humans:kim", "human", "role:admin"):
        refusal(PRINCIPAL, text)


def test_a_reference_names_something_in_the_run() -> None:
    for kind in REF_KINDS:
        assert REF.validate_python(f"{kind}:x") == f"{kind}:x"
    for text in ("goal:x", "effect", "effect:", "effect: ", "effect:\x00", "policy:refunds"):
        refusal(REF, text)


@given(st.sampled_from(REF_KINDS), ids())
def test_every_id_can_be_referred_to(kind: str, id: str) -> None:
    assert REF.validate_python(f"{kind}:{id}") == f"{kind}:{id}"


def test_a_reference_is_no_longer_than_the_longest_id() -> None:
    assert REF.validate_python("observation:" + "x" * MAX_ID_LENGTH)
    assert "200 characters" in refusal(REF, "run:" + "x" * (MAX_ID_LENGTH + 1))


@given(ids(149))
def test_every_source_has_a_stream_that_is_an_id(name: str) -> None:
    source = Source("k" * 50, name)
    assert PARTY.validate_python(source.stream) == source.stream


@pytest.mark.parametrize("kind", ["", "Policy", "pol icy", "policy\n", "k" * 51, "\u00fc", ":"])
def test_the_kind_of_a_source_is_a_short_word(kind: str) -> None:
    with pytest.raises(InvalidInput):
        Source(kind, "refunds")
