"""The address of a PostgreSQL ledger: a URL as libpq takes it, with this store's own options in its query."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import unquote

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from ledger.canonical import invalid
from ledger.errors import InvalidInput

LONGEST_SCHEMA = 63
"""Bytes of a name in PostgreSQL; a longer one would be cut, and two could become one."""


class Address(NamedTuple):
    """An address, taken apart."""

    parameters: dict[str, Any]
    """As libpq takes them; they may hold a password."""
    options: dict[str, Any]
    """Arguments of the store that stand in the query: `schema`, `prepare_threshold` (a number or `none`)."""


def parse(url: str) -> Address:
    """Take an address apart.

    Raises:
        InvalidInput: it is malformed. Nothing is quoted of it that may be part of a password.
    """
    scheme = re.match(r"postgres(ql)?://", url, re.IGNORECASE)
    if scheme is None:
        raise invalid("url", "write the server as postgresql://user@host:port/database")
    place, _, query = url[scheme.end() :].partition("?")
    user, at, rest = place.partition("@")
    if "@" in rest or (at and "/" in user):
        raise _malformed()
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    options = {name: _option(name, unquote(value)) for name, _, value in pairs if name in _OWN}
    for name, _, _ in pairs:
        if re.fullmatch("[a-z_]+", name) and name not in {*_OWN, *_OF_URLS, *_known()}:
            # What follows a question mark may be the rest of a password.
            raise _malformed() if "@" in query else invalid("url", f"there is no option {name!r}")
    others = "&".join("".join(pair) for pair in pairs if pair[0] not in _OWN)
    try:
        parameters = dict(conninfo_to_dict(f"postgresql://{place}?{others}"))
    except Error:
        raise _malformed() from None
    if not re.fullmatch("[0-9,]*", str(parameters.get("port") or "")):
        raise _malformed()
    return Address(parameters, options)


def check_schema(name: str) -> str:
    """Return the name of a schema.

    Raises:
        InvalidInput: it is none, PostgreSQL's own, or holds a dollar.
    """
    size = len(name.encode(errors="replace"))
    # A dollar could end what is quoted by dollars, as the bodies of functions are.
    if not 0 < size <= LONGEST_SCHEMA or {"\0", "$"} & set(name) or name.startswith("pg_"):
        raise invalid("schema", "a schema has a name of 1 to 63 bytes without $ that does not begin with pg_")
    return name


def _malformed() -> InvalidInput:
    return invalid(
        "url",
        "this is no address of PostgreSQL: in postgresql://user:password@host:port/database special "
        "characters of each part are percent-encoded: @ is %40, / is %2F, ? is %3F, % is %25, a space is %20",
    )


def _known() -> list[str]:
    return [option.keyword.decode() for option in Conninfo.get_defaults()]


def _option(name: str, value: str) -> object:
    if name == "schema":
        return check_schema(value)
    if name == "replica_url":
        return value
    if value.lower() == "none":
        return None
    if not value.isascii() or not value.isdigit():
        raise invalid("url", "prepare_threshold is a number, or none behind a pooler in transaction mode")
    return int(value)


_OF_URLS = ("ssl",)
"""What only a URL may hold: `ssl=true` stands for sslmode=require."""
_OWN = ("schema", "prepare_threshold", "replica_url")
