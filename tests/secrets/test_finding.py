"""Secrets are found by the names of their fields, and a value without secrets is the same value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import MAX_DEPTH
from ledger.errors import InvalidInput
from ledger.secrets import DEFAULT_NAMES, Found, Secrets
from ledger.values import SecretRef
from tests.secrets.tokens import HARMLESS, OTHERS, PLAIN_KEYS, SECRETS, nested

RULES = Secrets()
TOKEN = "ghp_" + "a1B2" * 9
CARD = "4111 1111 1111 1111"


def found(args: Any, rules: Secrets = RULES) -> tuple[str, str] | None:
    it = rules.find(args)
    return None if it is None else (it.path, it.rule)


# --- by the name of a field --------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(DEFAULT_NAMES - {"card_number"}))
def test_every_name_of_the_list_holds_a_secret_however_it_is_spelt(name: str) -> None:
    words = name.split("_")
    spellings = [
        "_".join(words),
        "-".join(words),
        "".join(words),
        "-".join(map(str.title, words)),
        name.upper(),
    ]
    for key in (*spellings, words[0] + "".join(map(str.title, words[1:]))):
        assert found({key: "hunter2"}) == (f"args.{key}", "name")
        assert RULES.redact({key: "hunter2"}) == {key: "[redacted:name]"}


@pytest.mark.parametrize(
    "key",
    [
        *("max_tokens", "page_token", "tokens", "next_token", "password_policy", "pins", "spin", "secretary"),
        *("token_type", "cookie_policy", "key", "keys", "public_key", "author", "authorized", "", "$secret"),
    ],
)
def test_names_count_whole(key: str) -> None:
    args = {key: "hunter2"}
    assert RULES.find(args) is None
    assert RULES.redact(args) is args


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1234,
        3.5,
        "",
        "  \n",
        "****",
        "•••• ••••",
        [],
        [None, 7],
        {},
        SecretRef("a"),
        [SecretRef("a")],
    ],
)
def test_what_says_nothing_is_no_secret(value: Any) -> None:
    args = {"password": value, "pin": value}
    assert RULES.find(args) is None
    assert RULES.redact(args) is args


def test_texts_in_lists_count_and_objects_are_judged_by_their_own_names() -> None:
    args = {"cookie": ["", "a=b", ["c=d", 7]], "credentials": {"user": "kim", "password": "hunter2"}}
    assert found(args) == ("args.cookie[1]", "name")
    assert RULES.redact(args) == {
        "cookie": ["", "[redacted:name]", ["[redacted:name]", 7]],
        "credentials": {"user": "kim", "password": "[redacted:name]"},
    }


def test_names_may_be_added_and_taken_away() -> None:
    rules = RULES.with_names("Customer-Code", "iban").without_names("token", "API_KEY")
    assert found({"customerCode": "x"}, rules) == ("args.customerCode", "name")
    assert found({"token": "x", "apiKey": "x"}, rules) is None
    assert found({"token": TOKEN}, rules) == ("args.token", "github-token")
    assert RULES.with_names("iban") == RULES.with_names("IBAN") != RULES


def test_a_name_that_was_none_cannot_be_taken_away() -> None:
    with pytest.raises(InvalidInput, match="did you mean password"):
        RULES.without_names("pasword")


@pytest.mark.parametrize("names", [["", "a"], ["-_"], [" "], [7], "password"])
def test_a_malformed_name_is_refused(names: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        Secrets(names=names)
    assert caught.value.path == "names"


def test_shapes_are_given_as_shapes() -> None:
    wrong: Any = ["acme_[0-9]+"]
    with pytest.raises(InvalidInput):
        Secrets(shapes=wrong)


# --- numbers of cards --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", ["card", "cardNumber", "card_no", "creditcard", "PaymentCard", "PAN", "CARD-NUMBER"]
)
@pytest.mark.parametrize("number", [CARD, "4111-1111-1111-1111", "378282246310005", "6011000990139424"])
def test_the_number_of_a_card_is_found_where_a_field_says_card(key: str, number: str) -> None:
    for text in (number, f"VISA 12 {number} 09", f"{number}, {number}"):
        assert found({key: text}) == (f"args.{key}", "card-number")
        assert number not in RULES.redact({key: text})[key]
    assert RULES.redact({key: f"no. {number} of 12/29"}) == {key: "no. [redacted:card-number] of 12/29"}


def test_the_first_rule_that_finds_something_is_named() -> None:
    assert found({"card": f"{TOKEN} {CARD}"}) == ("args.card", "card-number")
    assert (
        RULES.redact({"card": f"{TOKEN} {CARD}"})["card"] == "[redacted:github-token] [redacted:card-number]"
    )


def test_it_is_found_as_a_number_and_within_a_card() -> None:
    args = {"card": {"number": 4111111111111111, "exp": 1229, "id": 4111111111111111}, "cards": [1]}
    assert found(args) == ("args.card.number", "card-number")
    assert RULES.redact(args) == {**args, "card": {**args["card"], "number": "[redacted:card-number]"}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "args",
    [
        *(
            {"card": "4111 1111 1111 1112"},
            {"card": "**** 1111"},
            {"card": 17},
            {"card": True},
            {"card": "green"},
        ),
        *({"cardinality": CARD}, {"discard": CARD}, {"order": CARD}, {"number": CARD}, {"card": 10**5000}),
        *({"card": {"id": CARD}}, {"card": "1700000000004"}, {"card": "4" * 40}, {"postcard": CARD}),
    ],
)
def test_other_numbers_are_left(args: Any) -> None:
    assert RULES.find(args) is None
    assert RULES.redact(args) is args


def test_cards_are_not_looked_for_without_their_name() -> None:
    assert found({"card": CARD}, RULES.without_names("card_number")) is None


# --- anywhere ----------------------------------------------------------------------------------


def test_a_path_names_the_place_as_other_refusals_do() -> None:
    assert found({"a": [{"headers": ({}, {"Authorization": "x"})}]}) == (
        "args.a[0].headers[1].Authorization",
        "name",
    )
    it = RULES.find({"token": "x"}, "result")
    assert it == Found("result.token", "name", "token")
    assert it is not None
    assert "SecretRef('token')" in it.hint
    top = RULES.find(TOKEN)
    assert top is not None
    assert (top.path, "SecretRef('NAME')" in top.hint) == ("args", True)


def test_a_secret_in_a_key_is_found_and_not_shown() -> None:
    args = {"by": {f"key {TOKEN}": {"password": "hunter2"}}}
    it = RULES.find(args)
    assert it is not None
    assert (it.path, it.rule) == ("args.by.key [redacted:github-token]", "github-token")
    assert TOKEN not in f"{it} {it.hint}"
    assert "a key cannot" in it.hint


def test_keys_that_become_one_are_told_apart_whatever_their_order() -> None:
    keys = [f"ghp_{letter * 30}" for letter in "abc"]
    members = [(key, key[4]) for key in keys] + [("[redacted:github-token] 2", "other"), (7, "seven")]
    expected = {
        "[redacted:github-token]": "a",
        "[redacted:github-token] 2": "other",
        "[redacted:github-token] 3": "b",
        "[redacted:github-token] 4": "c",
        7: "seven",
    }
    for order in (members, members[::-1]):
        assert RULES.redact(dict(order)) == expected
        assert RULES.redact(expected) is expected


def test_a_name_of_a_reference_that_is_a_secret_itself_is_found() -> None:
    args = {"auth": [SecretRef(TOKEN)]}
    assert found(args) == ("args.auth[0]", "github-token")
    assert RULES.redact(args) == {"auth": ["[redacted:github-token]"]}


def test_what_is_no_json_is_left() -> None:
    args: Any = {"at": object(), 7: {1: b"bytes", None: {"x"}}, (1,): TOKEN}
    redacted = RULES.redact(args)
    assert redacted == {**args, (1,): "[redacted:github-token]"}


def test_what_is_too_deep_for_a_record_is_left() -> None:
    def deep(levels: int) -> Any:
        value: Any = TOKEN
        for _ in range(levels):
            value = [value]
        return value

    assert RULES.find(deep(MAX_DEPTH)) is not None
    assert RULES.find(deep(MAX_DEPTH + 1)) is None
    loop: list[Any] = [TOKEN]
    loop += [loop, loop]
    assert RULES.find(loop) is None
    assert RULES.redact(loop) is loop


def test_references_are_bound_to_the_lookup() -> None:
    args = {"token": SecretRef("stripe-key"), "order": 17}
    bound = Secrets(lookup=str.upper).bind(args)
    assert bound == args
    assert bound["token"].resolve() == "STRIPE-KEY"
    assert RULES.bind(args) is args


def test_a_lookup_is_not_shown() -> None:
    assert "lookup" not in repr(Secrets(lookup={"stripe-key": "hunter2"}.__getitem__))


# --- laws --------------------------------------------------------------------------------------

HELD = st.builds("{} {} {}".format, HARMLESS, SECRETS, HARMLESS)
NAMED = st.sampled_from(["password", "x-api-key", "Set-Cookie", "accessToken", "card", "number"])
ANYTHING = nested(OTHERS | HARMLESS | HELD | st.just(CARD), PLAIN_KEYS | NAMED | HELD)
CLEAN = nested(OTHERS | HARMLESS)


@given(ANYTHING)
def test_redacting_twice_is_redacting_once(value: Any) -> None:
    redacted = RULES.redact(value)
    assert RULES.redact(redacted) is redacted
    assert RULES.find(redacted) is None


@given(ANYTHING)
def test_redacting_changes_a_value_where_a_secret_is_found_and_else_returns_it(value: Any) -> None:
    redacted = RULES.redact(value)
    assert (redacted is value) == (RULES.find(value) is None)


@given(CLEAN)
def test_a_value_without_secrets_is_returned_itself(value: Any) -> None:
    assert RULES.find(value) is None
    assert RULES.redact(value) is value


def put(value: Any, leaves: list[str], met: list[str]) -> Any:
    """Return a value with texts, in turn, in the place of those it has; `met` collects these."""
    if isinstance(value, str):
        met.append(value)
        return leaves[len(met) % len(leaves)]
    if isinstance(value, dict):
        return {key: put(item, leaves, met) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(put(item, leaves, met) for item in value)
    return value


@given(CLEAN, SECRETS.filter(lambda text: text[0] != "-"), st.lists(HARMLESS, min_size=1, max_size=3))
def test_nothing_but_the_secrets_changes_and_none_of_them_survives(
    value: Any, secret: str, words: list[str]
) -> None:
    held = put(value, [f"{word} {secret}, {word}" for word in words], [])
    redacted = RULES.redact(held)
    mark = RULES.redact_text(secret)
    assert redacted == put(value, [f"{word} {mark}, {word}" for word in words], [])
    assert type(redacted) is type(held)
    assert secret not in json.dumps(redacted, default=repr, ensure_ascii=False)


@given(CLEAN, NAMED.filter(lambda key: key not in ("card", "number")), st.text('hunter2🚀"\\', min_size=6))
def test_a_named_secret_does_not_survive_anywhere(value: Any, key: str, secret: str) -> None:
    held = [value, {"inner": ({key: [secret]}, value)}]
    assert RULES.redact(held) == [value, {"inner": ({key: ["[redacted:name]"]}, value)}]
    assert secret not in json.dumps(RULES.redact({key: secret}), ensure_ascii=False)
