"""Secrets in free words that have no shape, and are known by the name in front of them: `password=hunter2`.

In prose a name and a colon are followed by words more often than by a secret. So only that counts which looks
like none of these: words, a reference, a path, a date, what stands in the place of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Set

from ledger.secrets.finding import NAME_RULE
from ledger.secrets.names import plain
from ledger.secrets.shapes import MARKER, PLACEHOLDER, marker

_PAIR = re.compile(
    r"(?<![A-Za-z0-9_])(?P<name>[A-Za-z][A-Za-z0-9_-]{1,60})"
    r"[\"'`]?[ \t]{0,3}(?::=|=>|[=:])(?!=)[ \t]{0,3}"
    r"(?:\"(?P<double>[^\"\s]{6,400})\"|'(?P<single>[^'\s]{6,400})'"
    # A text that ends with a bracket or a stop closes what was said around it.
    r"|(?P<bare>[^\s\"'`,;&<>|\[({][^\s\"'`,;&<>|]{5,}+))",
    re.ASCII,
)
_STOPS = ".:!?)]}"
_SHORTEST, _SHORTEST_PASSWORD = 8, 6

_HARMLESS = re.compile(
    r"[A-Z]{1,10}-[0-9]{1,7}"  # a ticket
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*"  # a time
    r"|[a-z][a-z0-9+]{1,20}://.*"  # where to find it; what is secret in an address has a shape
    r"|(?:[a-z]{1,40}|[0-9]{1,4})(?:[-_](?:[a-z]{1,40}|[0-9]{1,4}))+"  # words and numbers
    r"|[@~.]{0,2}/?(?:[a-z][a-z_.-]{0,40}[0-9]{0,3}[/:.])+[a-z][a-z_.-]{0,40}[0-9]{0,3}"  # a path or name
)


def without_pairs(text: str, names: Set[str]) -> str:
    """Return words without the values behind names of secrets; the same text where there are none.

    Args:
        text: what somebody said.
        names: as they are compared (`plain`).
    """
    if "=" not in text and ":" not in text:
        return text

    def instead(match: re.Match[str]) -> str:
        name = plain(match["name"])
        value = match["double"] or match["single"] or match["bare"].rstrip(_STOPS)
        if name not in names or not _is_secret(name, value):
            return match[0]
        start = max(match.start(one) for one in ("double", "single", "bare")) - match.start()
        return match[0][:start] + marker(NAME_RULE) + match[0][start + len(value) :]

    found = _PAIR.sub(instead, text)
    return text if found == text else found


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
