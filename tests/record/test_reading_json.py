"""JSON is read strictly: what two readers could read differently is refused."""

import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import canonical_text, load_canonical, load_text
from ledger.errors import InvalidInput
from tests.strategies import json_values

REFUSED: list[tuple[str | bytes, str]] = [
    ('{"a":1,"a":2}', "the key 'a' stands twice"),
    ('{"a":1,"\\u0061":1}', "the key 'a' stands twice"),
    ('[{"b":{"a":1,"c":2,"a":1}}]', "the key 'a' stands twice"),
    ("NaN", "NaN is not JSON"),
    ("[Infinity]", "Infinity is not JSON"),
    ("-Infinity", "-Infinity is not JSON"),
    ("1e400", "Infinity is not JSON"),
    ("-1e400", "-Infinity is not JSON"),
    ("9007199254740993", "2^53"),
    ("-9007199254740993", "2^53"),
    ("1" + "0" * 400, "2^53"),
    ("1" * 5000, "not JSON"),
    ('"\\ud800"', "surrogate"),
    ('{"\\udc00":1}', "surrogate"),
    ('"\\ude80\\ud83d"', "surrogate"),
    ('"\ud800"', "surrogate"),
    (b'"\xed\xa0\x80"', "not UTF-8"),
    (b'"\xff"', "not UTF-8"),
    (b'"\xc0\xaf"', "not UTF-8"),
    ('{"a":1}'.encode("utf-16"), "not UTF-8"),
    ('{"a":1}'.encode("utf-16-le"), "not JSON"),
    ('{"a":1}'.encode("utf-32"), "not UTF-8"),
    ("\ufeff{}", "not JSON"),
    ("\ufeff{}".encode(), "not JSON"),
    ("", "not JSON"),
    (" ", "not JSON"),
    ("{}{}", "not JSON"),
    ("{'a':1}", "not JSON"),
    ("[1,]", "not JSON"),
    ("01", "not JSON"),
    ("+1", "not JSON"),
    (".5", "not JSON"),
    ("0x10", "not JSON"),
    ("nul", "not JSON"),
    ('"a\nb"', "not JSON"),
    ('"\\x41"', "not JSON"),
    ("/* */1", "not JSON"),
    ("[" * 65 + "]" * 65, "64 levels"),
    ('{"a":' * 65 + "1" + "}" * 65, "64 levels"),
    ("[" * 100_000 + "]" * 100_000, "64 levels"),
    ('{"a":' * 100_000, "64 levels"),
    ("[" * 100_000, "64 levels"),
]
CASES = range(len(REFUSED))
NAMES = [f"{n}-{why}" for n, (_, why) in enumerate(REFUSED)]


@pytest.mark.parametrize("read", [load_text, load_canonical])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_what_could_be_read_in_two_ways_is_refused(read: Any, case: int) -> None:
    text, why = REFUSED[case]
    with pytest.raises(InvalidInput) as caught:
        read(text, path="line 3")
    assert why in caught.value.reason
    assert caught.value.path.startswith("line 3")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"b":2, "a":1}', {"b": 2, "a": 1}),
        (' [1.0, 2e0, -0, "\\u00e9"]\n', [1.0, 2.0, 0, "\u00e9"]),
        ("9007199254740992", 2.0**53),
        ("100000000000000000000", 1e20),
        ("true", True),
        (b'"\xc3\xa9"', "\u00e9"),
    ],
)
def test_other_spellings_are_read(text: str | bytes, value: Any) -> None:
    assert load_text(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"b":2,"a":1}',
        '{"a":1, "b":2}',
        "[1.0]",
        "1e0",
        "-0",
        "-0.0",
        "0.10",
        "1E5",
        "1e5",
        "100000000000000000000.0",
        '"\\u00e9"',
        '"\\/"',
        '"\\u001F"',
        '"\\u0009"',
        '"\\u007f"',
        " 1",
        "1\n",
        '{"\ue000":1,"\U0001f680":2}',
    ],
)
def test_a_text_that_is_not_canonical_is_refused_where_it_must_be(text: str) -> None:
    load_text(text)
    for given_text in (text, text.encode()):
        with pytest.raises(InvalidInput, match="not canonical"):
            load_canonical(given_text)


@given(json_values(), st.integers(0, 3), st.booleans())
def test_only_the_oracles_text_passes_for_canonical(value: Any, indent: int, ensure_ascii: bool) -> None:
    text = json.dumps(value, indent=indent or None, ensure_ascii=ensure_ascii)
    if text.encode() == rfc8785.dumps(value):
        assert load_canonical(text) == value
    else:
        with pytest.raises(InvalidInput, match="not canonical"):
            load_canonical(text)


@given(st.text() | st.binary())
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    try:
        value = load_text(text)
    except InvalidInput:
        with pytest.raises(InvalidInput):
            load_canonical(text)
        return
    assert load_canonical(canonical_text(value)) == value
