"""The store's SQL, written out for the schema it lives in."""

from __future__ import annotations

from psycopg.sql import Identifier

from ledger.stores.scripts import queries

DEFAULT_SCHEMA = "intent_ledger"


def statements(schema: str, file: str = "queries") -> dict[str, str]:
    """Return the named statements of a file for a schema."""
    return {name: in_schema(text, schema) for name, text in queries("postgres", file).items()}


def in_schema(text: str, schema: str) -> str:
    """Put the schema's name into a statement or script."""
    return text.replace("{schema}", Identifier(schema).as_string())
