"""Effect keys are the same for ever, and no two acts share one."""

import hashlib
from random import Random

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import canonical_text
from ledger.run.keys import act_key, effect_key, given_key
from tests.strategies import ids, json_values

ARGS = '{"amount":"10.00","order":17}'


def test_keys_are_what_they_were_when_the_first_was_written() -> None:
    assert effect_key("default", "refund-17", "refund", "pay", None, ARGS) == GOLDEN["step"]
    assert effect_key("default", "refund-17", None, "pay", "2", ARGS) == GOLDEN["occurrence"]
    assert act_key("default", "refund-17", "pay", ARGS) == GOLDEN["act"]
    assert given_key("default", "refund-17", "refund of order 17") == GOLDEN["given"]


HARD = {
    "z\u00fcrich": ["\u20ac", "\U0001f680", {"b": 1e21, "a": 0.1}],
    "amount": 1.0,
    "a": {"deep": [[], {}, None, True]},
    "\u20ac": -0.0,
}
HARD_TEXT = (
    '{"a":{"deep":[[],{},null,true]},"amount":1,'
    '"z\u00fcrich":["\u20ac","\U0001f680",{"a":0.1,"b":1e+21}],"\u20ac":0}'
)


def test_keys_of_hard_arguments_are_what_they_were_when_the_first_was_written() -> None:
    assert canonical_text(HARD) == HARD_TEXT
    where = ("ten\u00e4nt", "r\u00f6ot")
    assert effect_key(*where, None, "pay", None, HARD_TEXT) == GOLDEN["hard"]
    assert effect_key(*where, None, "pay", "2 \u2028", HARD_TEXT) == GOLDEN["hard occurrence"]
    assert act_key(*where, "pay", HARD_TEXT) == GOLDEN["hard act"]


@given(args=st.dictionaries(st.text(max_size=3), json_values(), max_size=5), chance=st.randoms())
def test_a_key_does_not_depend_on_the_order_in_which_arguments_are_given(
    args: dict[str, object], chance: Random
) -> None:
    items = list(args.items())
    chance.shuffle(items)
    keys = [
        effect_key("default", "r", None, "pay", None, canonical_text(one))
        for one in (args, dict(items), dict(reversed(items)))
    ]
    assert len(set(keys)) == 1


def test_ones_that_are_written_alike_are_alike_and_texts_are_never_normalised() -> None:
    key = [
        effect_key("default", "r", None, "pay", None, canonical_text({"amount": one}))
        for one in (1, 1.0, "1", "caf\u00e9", "cafe\u0301")
    ]
    assert key[0] == key[1]
    assert len(set(key)) == 4


@given(
    tenant=ids(),
    root=ids(),
    step=st.none() | ids(),
    tool=ids(),
    occurrence=st.none() | ids(),
    args=json_values(),
)
def test_a_key_is_the_digest_of_canonical_json(
    tenant: str, root: str, step: str | None, tool: str, occurrence: str | None, args: object
) -> None:
    text = canonical_text(args)
    # The arguments are canonical already; the oracle writes what stands before them.
    listed = rfc8785.dumps([tenant, root, step, tool, occurrence])[:-1] + f",{text}]".encode()
    expected = hashlib.sha256(b"intent-ledger.effect.v1\n" + listed).hexdigest()
    assert effect_key(tenant, root, step, tool, occurrence, text) == expected


def test_what_tells_acts_apart_is_in_the_key() -> None:
    calls = [
        ("default", "r", None, "pay", None, "{}"),
        ("other", "r", None, "pay", None, "{}"),
        ("default", "s", None, "pay", None, "{}"),
        ("default", "r", "pay", "pay", None, "{}"),
        ("default", "r", None, "pay", "pay", "{}"),
        ("default", "r", "null", "pay", None, "{}"),
        ("default", "r", None, "pay", None, "[]"),
    ]
    keys = {effect_key(*call) for call in calls} | {act_key("default", "r", "pay", "{}")}
    assert len(keys | {given_key("default", "r", "pay"), given_key("default", "s", "pay")}) == 10


GOLDEN = {
    "step": "430a837843ca9bb83e4a62e9cfaf170a3dce7016aaa508aadee148971a8d1b41",
    "occurrence": "50a9af4fa38ed6bfe0b4133ac4c6bad84ec0b9b22778e19a2502a51a544ca08f",
    "act": "c6c96e2f0b36d62dee8909c825e77f9dc824b1da90b5f7a0ae3441279763f4be",
    "given": "ea577807c0a766a51483843c3962121a7b7d2682aeea2d6714e5866ef348bcd0",
    "hard": "6cc6501e7d26b6cc7a2ab827ec5785b8360d739607818a3ae9d1c46d79a62b57",
    "hard occurrence": "2b4fac03a39131590b9542ce5e6d0945cd5b6dcdbc45a4e4ccfaa7ddf50816f1",
    "hard act": "76062a7c4c082e499c17cf202cb2045757dcbaec44fa28bed2a5f36626ebf8aa",
}
