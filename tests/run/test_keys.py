"""Effect keys are the same for ever, and no two acts share one."""

import hashlib

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
}
