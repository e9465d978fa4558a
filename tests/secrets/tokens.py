"""Tokens of every shape, made up piece by piece so that no file holds one, and values that hold them."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from ledger.values import SecretRef

WORD = string.ascii_letters + string.digits + "_-"
UPPER = string.ascii_uppercase + string.digits
ALNUM = string.ascii_letters + string.digits


def _of(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


def _random(least: int, most: int, alphabet: str = WORD) -> st.SearchStrategy[str]:
    """Draw characters with a digit and a letter near their beginning, as random ones have."""
    return _of(alphabet, least, most).map(lambda text: "q7" + text)


def _after(prefix: str, rest: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return rest.map(lambda text: prefix + text)


_PEM = st.builds(
    lambda kind, body, broken: (
        f"-----BEGIN {kind}PRIVATE KEY-----\n{body}"
        + ("" if broken else f"\n-----END {kind}PRIVATE KEY-----")
    ),
    st.sampled_from(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]),
    _of(ALNUM + "+/=", 40, 90),
    st.booleans(),
)

TOKENS: dict[str, st.SearchStrategy[str]] = {
    "private-key": _PEM,
    "stripe-key": st.sampled_from(["sk", "rk"]).flatmap(
        lambda kind: st.sampled_from(["live", "test"]).flatmap(
            lambda mode: _after(f"{kind}_{mode}_", _of(ALNUM, 16, 40))
        )
    ),
    "webhook-secret": _after("whsec_", _of(ALNUM + "+/=", 20, 40)),
    "aws-key-id": st.sampled_from(["AK", "AS"]).flatmap(lambda kind: _after(f"{kind}IA", _of(UPPER, 16, 16))),
    "github-token": st.sampled_from(["ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"]).flatmap(
        lambda prefix: _after(prefix, _of(ALNUM, 30, 80))
    ),
    "gitlab-token": _after("glpat-", _of(WORD, 20, 30)),
    "slack-token": st.sampled_from(["xoxb-", "xoxp-", "xapp-"]).flatmap(
        lambda prefix: _after(prefix, _random(10, 40, ALNUM + "-"))
    ),
    "google-key": _after("AI" + "za", _of(WORD, 35, 35)),
    "google-token": st.sampled_from(["ya29.", "GOCSPX-"]).flatmap(
        lambda prefix: _after(prefix, _of(WORD, 28, 40))
    ),
    "anthropic-key": _after("sk-ant-api03-", _random(20, 90)),
    "openai-key": st.sampled_from(["sk-proj-", "sk-", "sk-or-v1-"]).flatmap(
        lambda prefix: _after(prefix, _random(30, 60, ALNUM))
    ),
    "huggingface-token": _after("hf_", _of(ALNUM, 34, 34)),
    "npm-token": _after("npm_", _of(ALNUM, 36, 36)),
    "pypi-token": _after("pypi-AgE", _of(WORD, 60, 90)),
    "sendgrid-key": st.builds("SG.{}.{}".format, _of(WORD, 22, 22), _of(WORD, 43, 43)),
    "shopify-token": _after("shpat_", _of("0123456789abcdef", 32, 32)),
    "digitalocean-token": _after("dop_v1_", _of("0123456789abcdef", 64, 64)),
    "vault-token": _after("hvs.", _random(24, 90)),
    "telegram-token": st.builds("{}:AA{}".format, st.integers(10**8, 10**10 - 1), _of(WORD, 33, 33)),
    "jwt": st.builds("eyJ{}.eyJ{}.{}".format, *[_of(WORD, 12, 60)] * 3),
}
"""By the name of their shape: tokens that are the secret as a whole."""

EMBEDDED: dict[str, tuple[str, st.SearchStrategy[str], str]] = {
    "bearer-token": ("Bearer ", _random(20, 60, WORD + "."), ""),
    "basic-auth": ("Authorization: Basic ", _random(10, 40, ALNUM + "+/"), ""),
    "azure-key": ("AccountName=x;AccountKey=", _of(ALNUM + "+/", 86, 86), ";"),
    "url-key": ("https://api.example.org/?api_key=", _of(ALNUM, 10, 40), "&q=1"),
    "url-password": ("postgresql://kim:", _of(ALNUM + "-_.!%", 8, 40), "@db.example.org:5432/shop"),
    "slack-webhook": (
        "https://hooks.slack.com/services/T",
        _of(UPPER, 8, 8).map(lambda text: f"{text}/B{text}/{text}{text}{text}"),
        "",
    ),
}
"""By the name of their shape: what stands before a secret, the secret, and what stands behind it."""

SECRETS = st.one_of(*TOKENS.values())
"""A token of any shape."""

HARMLESS = st.text("abc XYZ.,;:!?/@é🚀\n\"\\'{}[]()=&#0123456789-_", max_size=12)
"""Pieces of texts that hold no token, whatever they are joined with."""

PLAIN_KEYS = st.sampled_from(
    ["order", "max_tokens", "page_token", "cardinality", "notes", "user-id", "é", ""]
)


def nested(
    leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str] = PLAIN_KEYS
) -> st.SearchStrategy[Any]:
    """Draw lists, tuples and objects of leaves."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(keys, inner, max_size=4)
        ),
        max_leaves=15,
    )


OTHERS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.just(SecretRef("stripe-key"))
)
