"""Secrets in words that are known by the name in front of them, and words that only look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.secrets import Secrets
from ledger.secrets.policy import rules_between
from ledger.secrets.shapes import MARKER

RULES = Secrets()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my shop has password=hunter2, use it", "my shop has password=[redacted:name], use it"),
        ("the password: hunter2.", "the password: [redacted:name]."),
        ("api_key: 8f14e45fceea167a5a36dedd4bea2543", "api_key: [redacted:name]"),
        ("(api-key=8f14e45fceea167a)", "(api-key=[redacted:name])"),
        (
            "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE3KEY now",
            "aws_secret_access_key=[redacted:name] now",
        ),
        (
            "host=db user=app password=s3cret-Word port=5432",
            "host=db user=app password=[redacted:name] port=5432",
        ),
        ('with {"clientSecret": "a1b2c3d4e5"}', 'with {"clientSecret": "[redacted:name]"}'),
        ("run it --db-password='pa,ss;w0rd'", "run it --db-password='[redacted:name]'"),
        ("export DB_PASSWORD=hunter2", "export DB_PASSWORD=[redacted:name]"),
        ("spring.datasource.password = hunter2!", "spring.datasource.password = [redacted:name]!"),
        ("password=${PASSWORD:-hunter2}", "password=[redacted:name]}"),
        ("a: token=abc12345&password=hunter2", "a: token=[redacted:name]&password=[redacted:name]"),
        (
            "token: sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z",
            "token: [redacted:openai-key]",
        ),
        ("GITHUB_TOKEN=8f14e45fceea167a5a36", "GITHUB_TOKEN=[redacted:name]"),
        ("PGPASSWORD=hunter2x psql", "PGPASSWORD=[redacted:name] psql"),
        ("OPENAI_KEY=8f14e45fceea167a5a36", "OPENAI_KEY=[redacted:name]"),
        ("with openai_api_key=8f14e45fceea167a5a36", "with openai_api_key=[redacted:name]"),
        ("my_password = hunter2", "my_password = [redacted:name]"),
        ("--admin-password=hunter2", "--admin-password=[redacted:name]"),
        ("note: password=hunter2", "note: password=[redacted:name]"),
        ("at https://shop.example/?password=hunter2", "at https://shop.example/?password=[redacted:name]"),
        ("secret: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE3KEY", "secret: [redacted:name]"),
        ("token: A1B2C3D4E5", "token: [redacted:name]"),
    ],
)
def test_a_value_behind_the_name_of_a_secret_is_replaced(text: str, kept: str) -> None:
    assert RULES.redact_words(text) == kept
    assert RULES.redact_words(kept) is kept


@pytest.mark.parametrize(
    "text",
    [
        "the password: see vault",
        "Rotate the token: see OPS-1234. Secret: the surprise party of 2026",
        "password policy = strong, max_tokens=4096000x, page_token=abc12345",
        "token=${TOKEN}, token=$TOKEN_2, password=<password1>, secret={{ db.secret1 }}, pin: ****",
        "token: OPS-12345, token: 2026-11-30T10:00:00Z, token=3600, otp: 123456",
        "password: vault/prod/db1, secret: /run/secrets/db2, token = next-page-2, token: next_page_12",
        "secret: https://vault.example/v1/db1",
        "cookies: chocolate, and credentials: ask kim",
        "password=required token=optional secret=None",
        'password = os.environ["DB2"]',
        "the password hunter2 is out",
        "if token == abc12345 then",
        "password=[redacted:name] and token=[redacted:jwt]",
        "commit 3d5b9d1c2ab4, sha: 9a0364b9e99bb480dd25e1f0284c8555",
    ],
)
def test_ordinary_words_are_left(text: str) -> None:
    assert RULES.redact_words(text) is text


@pytest.mark.parametrize(
    "text",
    [
        "password: DB_PASSWORD_2, token: TOKEN_V2_PROD, secret: env:STRIPE_KEY_2",
        "token: k8s/prod/db, secret: vault:secret/data/db#pw1, token: projects/p1/secrets/s2/versions/3",
        "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:Db-a1B2c3",
        "token: CVE-2024-12345, token: PO-2024-0017, token: HR/2024/17, secret: INC0012345",
        "in arn:aws:secretsmanager:eu-1:123456789012:secret:Db-a1B2c3, urn:token:A1B2C3D4, acme/token:1.2.3a",
        "credentials: kim2@example.com",
        "password: SHA256, signing_key: secp256k1, token: OAuth2.0, password: PBKDF2-HMAC-SHA256",
        "secret_key: AES-256-GCM, password: argon2id",
        "password: 12chars, password: 2FA-only, password: 90days",
        "authorization: A1B2C3D4, Authorization=PO-2024-0017x, proxy-authorization: k9x7Q2mm, pin: k9x7Q2mm",
    ],
)
def test_references_and_prose_behind_a_name_are_left(text: str) -> None:
    assert RULES.redact_words(text) is text


@pytest.mark.parametrize(
    "text",
    [
        "next_page_token=abc12345, sync_token=abc12345",
        "my_password: hunter2, GITHUB_TOKEN: 8f14e45fceea",
        "IDEMPOTENCY_KEY=a1b2c3d4e5, PUBLIC_KEY=a1b2c3d4e5, NEXT_TOKEN=a1b2c3d4e5",
        "auth_pin=k9x7Q2mm",
        "monkey=a1b2c3d4e5, passwordless=a1b2c3d4e5",
    ],
)
def test_a_longer_name_counts_only_where_it_is_set_and_says_so(text: str) -> None:
    assert RULES.redact_words(text) is text


def test_a_name_that_was_taken_away_is_found_by_none_of_its_parts() -> None:
    assert RULES.without_names("db_password").redact_words("db_password=hunter2") == "db_password=hunter2"
    fewer = RULES.without_names("token", "password")
    assert fewer.redact_words("GITHUB_TOKEN=abc12345 PGPASSWORD=hunter2") == (
        "GITHUB_TOKEN=abc12345 PGPASSWORD=hunter2"
    )


def test_names_are_those_that_count_for_fields() -> None:
    assert RULES.with_names("door_code").redact_words("door-code: k9x7-Q2mm") == "door-code: [redacted:name]"
    assert RULES.without_names("token").redact_words("token=abc12345") == "token=abc12345"


def test_the_rules_are_named_by_which_something_was_replaced() -> None:
    said = "[redacted:jwt] password=hunter2 and token=abc12345"
    assert rules_between(said, RULES.redact_words(said)) == ("name",)
    assert rules_between([said], [said]) == ()
    assert rules_between({"a": ["password=hunter2"]}, {"a": ["[redacted:name] [redacted:jwt]"]}) == (
        "jwt",
        "name",
    )


def test_arguments_are_not_judged_by_their_words() -> None:
    assert RULES.find({"note": "password=hunter2"}) is None
    assert RULES.redact({"note": "password=hunter2"}) == {"note": "password=hunter2"}


PIECES = st.sampled_from(
    [
        *(
            "password",
            "token",
            "api_key",
            "=",
            ": ",
            " := ",
            '"',
            "'",
            " ",
            ",",
            ".",
            ")",
            "[",
            "]",
            "{",
            "}",
        ),
        *(
            "hunter2",
            "a1",
            "$",
            "${A}",
            "-----",
            "-----BEGIN PRIVATE KEY-----",
            "-----END ",
            "[redacted:name]",
        ),
        *("sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z", "://", "@", "eyJ", "\n", "Bearer ", "a" * 20 + "1"),
    ]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_words_without_secrets_are_not_changed_again(text: str) -> None:
    kept = RULES.redact_words(text)
    assert RULES.redact_words(kept) is kept
    assert kept is text or MARKER.search(kept)


@pytest.mark.parametrize(
    "flood",
    [
        *(
            "password=" * 30_000,
            "password" * 30_000,
            "token: " * 30_000,
            "password='" * 30_000,
            "a-" * 150_000,
            "note:password=" * 30_000,
            "password=" + "a." * 40 + "Z9!x",
            "password=" + "a." * 60_000 + "@1Z",
            "a_" * 150_000,
            "my_password=" * 20_000,
        ),
        *("password=" + "a/" * 150_000, "password=" + "a-" * 150_000, "password=" + "a" * 300_000 + ")" * 9),
        *(
            "note:password=" * 30_000,
            "a_" * 150_000,
            "my_password=" * 20_000,
            "password=a1" + "a1." * 90_000,
            "password=a1" + ")" * 300_000,
            "token:" + " " * 300_000,
        ),
    ],
)
def test_no_text_takes_long(flood: str) -> None:
    RULES.redact_words(flood)
