"""The address of a PostgreSQL ledger: a URL as libpq takes it, with this store's own options in its query."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict

from ledger.canonical import invalid

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
        InvalidInput: it is malformed.
    """
    base, _, query = url.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    options = {name: _option(name, unquote(value)) for name, _, value in pairs if name in _OWN}
    rest = "&".join(f"{name}={value}" for name, _, value in pairs if name not in _OWN)
    try:
        return Address(dict(conninfo_to_dict(f"{base}?{rest}" if rest else base)), options)
    except Error as error:
        raise invalid("url", f"this is no address of PostgreSQL: {error}") from error


def check_schema(name: str) -> str:
    """Return the name of a schema.

    Raises:
        InvalidInput: it is none, or PostgreSQL's own.
    """
    if not 0 < len(name.encode(errors="replace")) <= LONGEST_SCHEMA or "\0" in name or name.startswith("pg_"):
        raise invalid("schema", "a schema has a name of 1 to 63 bytes that does not begin with pg_")
    return name


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


_OWN = ("schema", "prepare_threshold", "replica_url")
