"""A token is known by its shape wherever it stands in a text, and little else is taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.errors import InvalidInput
from ledger.secrets import DEFAULT_SHAPES, Secrets, Shape
from tests.secrets.tokens import EMBEDDED, HARMLESS, SECRETS, TOKENS, WORD

RULES = Secrets()
BORDERS = st.sampled_from(["", " ", "\n", '"', "'", "=", ":", ",", "(", ")", "é", "/", ".", "](", "\t", "|"])


def test_every_shape_is_tested() -> None:
    assert {shape.name for shape in DEFAULT_SHAPES} == TOKENS.keys() | EMBEDDED.keys()


@pytest.mark.parametrize("rule", TOKENS)
@given(data=st.data())
def test_a_token_is_replaced_anywhere_in_a_text(rule: str, data: st.DataObject) -> None:
    token = data.draw(TOKENS[rule])
    before, after = data.draw(BORDERS), data.draw(st.sampled_from([" ", "\n", '"', ")", ",", "", ";"]))
    text = f"use {before}{token}{after}"
    assert RULES.redact_text(text) == f"use {before}[redacted:{rule}]" + after or (
        # A key whose end is missing is taken with the blanks behind it.
        rule == "private-key" and RULES.redact_text(text).startswith(f"use {before}[redacted:{rule}]")
    )
    found = RULES.find({"body": [text]})
    assert found is not None
    assert (found.path, found.rule) == ("args.body[0]", rule)


@pytest.mark.parametrize("rule", EMBEDDED)
@given(data=st.data())
def test_of_what_holds_a_secret_only_the_secret_is_replaced(rule: str, data: st.DataObject) -> None:
    before, secrets, after = EMBEDDED[rule]
    secret = data.draw(secrets)
    text = f"see {before}{secret}{after} now"
    redacted = RULES.redact_text(text)
    assert redacted.startswith(f"see {before}"[: -len("T")] if rule == "slack-webhook" else f"see {before}")
    assert redacted.endswith(f"[redacted:{rule}]{after} now")
    assert secret not in redacted


PIECES = (
    SECRETS
    | HARMLESS
    | st.sampled_from(
        [
            *(
                "sk-",
                "sk_live_",
                "eyJ",
                "Bearer ",
                "AKIA",
                "SG.",
                "://u:",
                "@h",
                "?api_key=",
                ".",
                "-",
                "_",
                ":AA",
            ),
            *(
                "-----BEGIN PRIVATE KEY-----",
                "-----END PRIVATE KEY-----",
                "-----",
                "[redacted:jwt]",
                "[redacted:",
            ),
            *(
                "Authorization: Basic ",
                "AccountKey=",
                "hooks.slack.com/services/",
                "a" * 20,
                "A1" * 10,
                *("*", "]", "$A", "${A}", "{a}", "<a>", "xxx", "@"),
            ),
        ]
    )
)


@given(st.lists(PIECES, max_size=8).map("".join))
@example("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----eyJ" + ".".join(["aaaaaaaa12"] * 3))
@example("AKIA" + "A1" * 8 + "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----")
@example("postgres://u:[redacted:jwt]@h and ://a:b@c@d")
def test_nothing_is_found_in_what_was_redacted(text: str) -> None:
    redacted = RULES.redact_text(text)
    assert RULES.redact_text(redacted) == redacted
    assert RULES.find(redacted) is None
    assert (RULES.find(text) is None) == (redacted == text)
    if redacted == text:
        assert redacted is text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "sk-learn",
            "sk-toggleable__label-arrow",
            "task-4f2a9c1d8b7e6f5a4c3b2a1d",
            "a risk_live_assessment",
        ),
        *(
            "AKIA",
            "AKIAABCDEFGHIJKLMNOPQ",
            "npm_config_registry_of_this_company",
            "whsec_",
            "ghp_short",
            "eyJ.a.b",
        ),
        *(
            "Bearer of good news",
            "the bearer authentication scheme",
            "Basic authentication",
            "Authorization: Basic realm-internal",
            "Authorization: Basic Authentication as ever",
            "Bearer authentication-2024-rollout plan",
            "xoxb-is-a-prefix",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and sk_live_XXXXXXXXXXXXXXXXXXXX",
        ),
        *(
            "https://example.org:443/a@b",
            "git@github.com:org/repo.git",
            "ssh://git@github.com:22/x",
            "a://b:@c",
        ),
        *(
            "postgres://kim:****@db/shop",
            "mailto:kim@example.org",
            "12:30:45 @home",
            "-----BEGIN CERTIFICATE-----",
        ),
        *("?page_token=abcdefghijkl", "?api_key=", "12345678:AAB", "SG.1", "AIza", "hvs.short", "glpat-"),
        "The private key is stored in a vault -----BEGIN PRIVATE KEY----- is how it begins.",
        "d41d8cd98f00b204e9800998ecf8427e 550e8400-e29b-41d4-a716-446655440000 2026-01-02T03:04:05Z",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    ],
)
def test_what_only_resembles_a_token_is_left(text: str) -> None:
    assert RULES.find([text]) is None
    assert RULES.redact_text(text) is text


@pytest.mark.parametrize(
    "stands",
    [
        "${REDIS_PASSWORD}",
        "$PGPASSWORD",
        "{password}",
        "{{ db.password }}",
        "<your-token>",
        "xxxx",
        "****",
        "...",
    ],
)
def test_what_stands_in_the_place_of_a_secret_is_none(stands: str) -> None:
    texts = [
        f"redis://default:{stands}@host and postgresql://{stands}:{stands}@h",
        f"(https://x/?access_token={stands}), https://x/?a=b&api_key={stands}&c=d",
        f"Authorization: Basic {stands}",
        f"Authorization: Bearer {stands}",
    ]
    for value in (*texts, {"password": stands}, {"headers": {"Authorization": [stands]}}):
        assert RULES.find(value) is None
        assert RULES.redact(value) is value


@pytest.mark.parametrize(
    "text",
    [
        *("redis://default:${PASSWORD:-hunter2}@h", "redis://default:${PASSWORD}hunter2@h"),
        *("redis://default:$hunter2@h", "redis://default:{hunter2@h", "redis://default:xxxhunter2@h"),
        *("?api_key=${A}hunter2", "?api_key=xxxxxxxx1", "?api_key={your-key}&access_token=abcd1234"),
        *("Authorization: Basic YWxhZGRpbjpvcGVu", "Bearer 550e8400-e29b-41d4-a716-446655440000"),
        *("ghp_" + "x" * 20 + "1", "glpat-x-" + "a1" * 10, "Bearer abcdefgh-12345-abcdefgh"),
    ],
)
def test_what_only_begins_like_that_is_a_secret(text: str) -> None:
    assert RULES.find([text]) is not None


@given(st.text(WORD + ". ", max_size=60))
def test_words_and_numbers_are_left(text: str) -> None:
    # Of so few characters a token would have to be drawn by chance, prefix and all.
    assert RULES.redact_text(text) is text


@pytest.mark.parametrize(
    "text", ["?api_key=[redacted:jwt]", "a://u:[redacted:jwt]@h", "Bearer [redacted:jwt]"]
)
def test_what_was_replaced_by_one_rule_is_left_by_the_others(text: str) -> None:
    assert RULES.redact_text(text) is text


LONG = 200_000
FLOODS = [
    *(prefix * (LONG // len(prefix)) for shape in DEFAULT_SHAPES for prefix in shape.hints),
    *(prefix + "a" * LONG for shape in DEFAULT_SHAPES for prefix in shape.hints),
    *(f"sk-{'a' * 19}-" * (LONG // 23), "sk-ant-a-" * (LONG // 9), "eyJaaaaaaaa-" * (LONG // 12)),
    *("eyJaaaaaaaa." * (LONG // 12), "SG." + "a" * LONG, "SG.aaaaaaaaaaaaaaaa-" * (LONG // 20)),
    *("://u:" + "a" * LONG, "://u:a" * (LONG // 6), "://" + "u" * LONG, "://u:p@" * (LONG // 7)),
    *("-----BEGIN PRIVATE KEY-----" * (LONG // 27), "-----BEGIN PRIVATE KEY-----" + "-a" * LONG),
    *("-----BEGIN " + "A " * LONG, "-----BEGIN PRIVATE KEY-----" + " \\n" * LONG, "Bearer " + "." * LONG),
    *("Bearer" + " " * LONG, "?api_key=" * (LONG // 9), "hooks.slack.com/services/T" + "A" * LONG),
    *("xox" * LONG, "xoxb-a-" * (LONG // 7), "ghp_" + "." * LONG, "glpat-" + "a" * 16 + ".aa" * LONG),
    *("://u:" + "$A" * LONG, "://u:${" + "a" * LONG, "://u:${a}" * (LONG // 9), "?api_key=" + "{a}" * LONG),
    *("ghp_" + "x" * LONG, "ghp_x" * (LONG // 5), "Bearer " + "a-" * LONG, "Bearer a-1-" * (LONG // 11)),
    *("uthorization: Basic a" * (LONG // 21), "uthorization: Basic " + "a" * LONG),
    *("1" * LONG + ":AA", "12345678:AA" * (LONG // 11), "[redacted:" * (LONG // 10)),
]


@pytest.mark.parametrize("text", FLOODS, ids=range(len(FLOODS)))
def test_long_texts_take_linear_time(text: str) -> None:
    # Quadratic patterns would take minutes or hours for this much: no figure needs to be asserted.
    redacted = RULES.redact({"card": text})
    assert RULES.redact(redacted) is redacted


# --- shapes of one's own -------------------------------------------------------------------------


def test_a_shape_of_ones_own_is_found_as_the_others_are() -> None:
    rules = RULES.with_shapes(Shape("acme-key", r"acme_(?P<secret>[0-9a-f]{8})", ("acme_",)))
    found = rules.find({"note": ["", "the key acme_0123abcd"]})
    assert found is not None
    assert (found.path, found.rule) == ("args.note[1]", "acme-key")
    assert rules.redact_text("acme_0123abcd, acme_x") == "acme_[redacted:acme-key], acme_x"
    assert RULES.find("acme_0123abcd") is None


def test_only_the_shapes_that_are_given_are_looked_for() -> None:
    rules = Secrets(shapes=(Shape("acme-key", "acme_[0-9a-f]{8}", ("acme_",)),))
    text = "npm_" + "a1" * 18
    assert RULES.find(text) is not None
    assert rules.find(text) is None


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("name", {"name": "Acme Key"}),
        ("name", {"name": ""}),
        ("name", {"name": "a" * 41}),
        ("pattern", {"pattern": "acme_("}),
        ("pattern", {"pattern": "(acme_)?"}),
        ("pattern", {"pattern": r"\[?redacted"}),
        ("hints", {"hints": ()}),
        ("hints", {"hints": ("",)}),
        ("hints", {"hints": "acme_"}),
    ],
)
def test_a_malformed_shape_is_refused(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Shape(**{"name": "acme-key", "pattern": "acme_[0-9a-f]{8}", "hints": ("acme_",), **fields})
    assert caught.value.path == field


@pytest.mark.parametrize("name", ["jwt", "name", "card-number"])
def test_a_rule_has_one_meaning(name: str) -> None:
    with pytest.raises(InvalidInput, match=json.dumps(name).strip('"')):
        RULES.with_shapes(Shape(name, "acme_[0-9a-f]{8}", ("acme_",)))
