"""Why no connection came about: nobody answered, or a server refused this login for good.

The client library keeps the SQLSTATE of a refused connection to itself, so its words are all there is. They
decide no more than whether a repeat may help: words that are not known, as those of a server that speaks
another language, leave it at `unreachable`, which is tried again for a while.
"""

from __future__ import annotations

import re

import psycopg

from ledger.errors import StoreUnavailable
from ledger.stores.postgres.errors import reason_of, unavailable, words


def unreachable(where: str, error: psycopg.Error) -> StoreUnavailable:
    """Build the error of a connection that could not be made."""
    reason, advice = _refusal(error) or ("unreachable", "no connection can be made")
    return unavailable(where, reason, f"{advice} ({words(error)})")


def _refusal(error: psycopg.Error) -> tuple[str, str] | None:
    known = reason_of(error.sqlstate)
    if known is not None:
        return known
    if error.pgconn is not None and error.pgconn.needs_password:
        return reason_of("28P01")
    # Of several servers, or ways to one, each says why: one that may come back is worth another try.
    first, *attempts = str(error).split("connection to server")
    found = [_named(attempt) for attempt in attempts or [first]]
    return None if None in found else found[-1]


def _named(attempt: str) -> tuple[str, str] | None:
    for pattern, known in _WORDS:
        if re.search(pattern, attempt):
            return known if isinstance(known, tuple) else reason_of(known)
    return None


_NO_SSL = ("no_ssl", "the server offers no SSL: set it up there, or name another sslmode in the address")

_WORDS: tuple[tuple[str, str | tuple[str, str]], ...] = (
    ("server does not support SSL", _NO_SSL),
    ("unsupported startup parameter", "42P05"),
    ("authentication failed|no password supplied|no such user|no pg_hba.conf entry", "28P01"),
    ('role ".*" (does not exist|is not permitted to log in)', "28000"),
    ('database ".*" does not exist|no such database', "3D000"),
    ("permission denied for database", "42501"),
)
"""What servers and pgbouncer say, and the SQLSTATE that goes with it."""
