"""Tokens that clients bring over HTTP, and for whom who brings one speaks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ledger.canonical import invalid
from ledger.errors import InvalidInput
from ledger.values import Actor

SHORTEST_TOKEN = 16
"""Characters of the shortest token that is taken."""


class Bearer(NamedTuple):
    """A token."""

    token: str
    actor: Actor | None = None
    """Who speaks with it; None: whoever the server speaks for."""


def bearers_in(path: Path) -> tuple[Bearer, ...]:
    """Read a file of tokens: one a line, then for whom it speaks, `KIND:NAME`, and in which session.

    What follows a token may be left out. Empty lines, and those that begin with `#`, say nothing.

    Raises:
        InvalidInput: a line is none of this; it is named by its number, and never shown.
        OSError: the file cannot be read.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise invalid("--token-file", f"{path} is no text in UTF-8") from None
    found = [
        _bearer(line.split(), number)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise invalid("--token-file", f"{path} has no token")
    return checked(found, "--token-file")


def _bearer(words: list[str], number: int) -> Bearer:
    token, *who = words
    if not who:
        return Bearer(token)
    if len(who) > 2:
        raise invalid("--token-file", f"line {number} is not TOKEN [KIND:NAME [SESSION]]")
    id, *session = who
    try:
        return Bearer(token, Actor(id, session=session[0] if session else None))
    except InvalidInput as error:
        # A token that stands in the wrong place is not shown.
        what = "SESSION" if error.path == "session" else "KIND:NAME"
        raise invalid("--token-file", f"line {number}: {what} is malformed") from None


def checked(bearers: Iterable[Bearer], option: str) -> tuple[Bearer, ...]:
    """Return the tokens, if each is one.

    Raises:
        InvalidInput: one is too short, cannot be sent in a header, or stands for two.
    """
    known = tuple(bearers)
    for one in known:
        if len(one.token) < SHORTEST_TOKEN:
            raise invalid(option, f"a token has at least {SHORTEST_TOKEN} characters")
        if not (one.token.isascii() and one.token.isprintable() and " " not in one.token):
            raise invalid(option, "a token has printable characters of ASCII, and no blank")
    if len({one.token for one in known}) < len(known):
        raise invalid(option, "a token stands there twice")
    return known
