"""Secrets in free words that have no shape, and are known by the name in front of them: `password=hunter2`.

In prose a name and a colon are followed by words more often than by a secret. So only that counts which looks
like none of these: words, a reference, a path, a date, what stands in the place of a secret. A name with more
in front of it (`GITHUB_TOKEN`) counts only where it is set by `=`.
"""

from __future__ import annotations

import re
from collections.abc import Set

from ledger.secrets.finding import NAME_RULE
from ledger.secrets.names import DEFAULT_NAMES, plain, plain_names
from ledger.secrets.shapes import MARKER, PLACEHOLDER, marker

_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?P<name>[A-Za-z][A-Za-z0-9_-]{1,60})"
    r"[\"'`]?[ \t]{0,3}(?P<sets>:=|=>|[=:])(?!=)[ \t]{0,3}",
    re.ASCII,
)
_VALUE = re.compile(
    r"\"(?P<double>[^\"\s]{6,400})\"|'(?P<single>[^'\s]{6,400})'"
    # A text that ends with a bracket or a stop closes what was said around it.
    r"|(?P<bare>[^\s\"'`,;&<>|\[({][^\s\"'`,;&<>|]{5,}+)",
    re.ASCII,
)
_STOPS = ".:!?)]}"
_WITHIN = (":", "/")
"""In front of a name and a colon they make it part of a longer one: `arn:…:secret:db`, `acme/token:1.2`."""
_SHORTEST, _SHORTEST_PASSWORD = 8, 6

_NO_PAIR = frozenset({"authorization", "proxyauthorization", "pin"})
"""Names in front of words and numbers of papers; what is secret behind `Authorization:` has a shape."""

_KNOWN = plain_names(DEFAULT_NAMES)
_SET_IN_CAPITALS = re.compile(
    r"(?!.*(?:PUBLIC|PRIMARY|FOREIGN|SORT|PARTITION|CACHE|IDEMPOTENCY)_?KEY\Z|.*(?:PAGE|NEXT|SYNC)_?TOKEN\Z)"
    r"[A-Z0-9_]+?(?P<end>TOKEN|PASSWORD|SECRET|KEY)"
)
_ENDS = {"TOKEN": "token", "PASSWORD": "password", "SECRET": "secret", "KEY": "apikey"}

_SEGMENT = r"(?:[a-z][a-z0-9_.-]{0,60}|[0-9]{1,6})"
_ALGORITHM = (
    r"(?:sha-?[0-9]{1,3}|hmac|md5|aes-?[0-9]{3}|rsa-?[0-9]{4}|(?:ed|x)25519|(?:secp|prime)[0-9]{3}[krv][0-9]"
    r"|[ehpr]s[0-9]{3}|oauth-?[0-9](?:\.[0-9])?|base(?:32|58|64)|argon2(?:id|[id])?|pbkdf2|[0-9]fa)"
)
_HARMLESS = re.compile(
    r"[A-Z]{1,10}(?:[-/](?:[A-Z]{1,10}|[0-9]{1,7})){0,4}[-/][0-9]{1,7}|[A-Z]{2,5}[0-9]{4,10}"  # a ticket
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*"  # a time
    r"|[a-z][a-z0-9+]{1,20}://.*"  # where to find it; what is secret in an address has a shape
    r"|arn:[a-z-]{1,20}:.*"  # the same
    r"|(?:[a-z]{1,40}|[0-9]{1,4})(?:[-_](?:[a-z]{1,40}|[0-9]{1,4}))+"  # words and numbers
    r"|[0-9]{1,4}-?(?:char(?:acter)?|digit|letter|word|bit|byte|minute|hour|day|week|month)s?"  # so much
    r"|[@~.]{0,2}/?(?:[a-z][a-z_-]{0,40}[0-9]{0,3}[/:.])+[a-z][a-z_-]{0,40}[0-9]{0,3}"  # a path or name
    rf"|(?:[a-z][a-z0-9+.-]{{1,20}}:)?/?{_SEGMENT}(?:/{_SEGMENT})+(?:\#[A-Za-z0-9_.-]{{1,40}})?"  # a path
    r"|(?:[a-z]{2,10}:)?[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40})+"  # a variable
    r"|[A-Za-z0-9._+-]{1,64}@(?:[a-z0-9-]{1,60}\.){1,5}[a-z]{2,12}"  # an address of mail
    rf"|(?i:{_ALGORITHM}(?:[-_/+](?:{_ALGORITHM}|[a-z]{{1,12}}|[0-9]{{1,4}})){{0,4}})"  # how it is made
)


def without_pairs(text: str, names: Set[str]) -> str:
    """Return words without the values behind names of secrets; the same text where there are none.

    Args:
        text: what somebody said.
        names: as they are compared (`plain`).
    """
    if "=" not in text and ":" not in text:
        return text
    kept: list[str] = []
    done = at = 0
    while (found := _NAME.search(text, at)) is not None:
        # What stands behind another name may be a pair itself: `note: password=hunter2`.
        at = found.end()
        is_set = "=" in found["sets"]
        if not is_set and text[found.start() - 1 : found.start()] in _WITHIN:
            continue
        if not _says_secret(found["name"], is_set, names):
            continue
        value = _VALUE.match(text, at)
        if value is None:
            continue
        at = value.end()
        said = value["double"] or value["single"] or value["bare"].rstrip(_STOPS)
        if _is_secret(plain(found["name"]), said):
            start = value.start(value.lastgroup or 0)
            kept += (text[done:start], marker(NAME_RULE))
            done = start + len(said)
    return "".join((*kept, text[done:])) if kept else text


def _says_secret(name: str, is_set: bool, names: Set[str]) -> bool:
    """Tell whether a name is that of a secret, or ends like one and is set."""
    whole = plain(name)
    if whole in _NO_PAIR:
        return False
    if whole in names or whole in _KNOWN or not is_set:
        return whole in names
    capitals = _SET_IN_CAPITALS.fullmatch(name)
    if capitals is not None:
        return _ENDS[capitals["end"]] in names
    parts = name.replace("-", "_").split("_")
    ends = {plain("".join(parts[first:])) for first in range(1, len(parts))}
    # In small letters many a token is no secret: that of a page, of a sync, of a parser.
    return not ends.isdisjoint(names - _NO_PAIR - {"token"})


def _is_secret(name: str, value: str) -> bool:
    shortest = _SHORTEST_PASSWORD if "pass" in name else _SHORTEST
    return (
        len(value) >= shortest
        # Random characters have a digit among them, and a number alone says how much, or when.
        and any(one.isdigit() for one in value)
        and any(one.isalpha() for one in value)
        and not MARKER.search(value)
        and not PLACEHOLDER.fullmatch(value)
        and not _HARMLESS.fullmatch(value)
    )
