"""The SQL that is shipped: numbered migrations and named queries."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

import ledger.stores
from ledger.stores.scripts import migrations, queries, statements

STORES = Path(ledger.stores.__path__[0])
DIALECTS = sorted(folder.name for folder in (STORES / "sql").iterdir() if folder.is_dir())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_migrations_are_numbered_without_a_gap(dialect: str) -> None:
    assert [step.version for step in migrations(dialect)] == list(range(1, len(migrations(dialect)) + 1))
    assert all(step.name and step.script for step in migrations(dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_stands_once_and_is_used(dialect: str) -> None:
    text = (STORES / "sql" / dialect / "queries.sql").read_text()
    assert len(queries(dialect)) == text.count("-- name: ")
    code = "".join(path.read_text() for path in STORES.rglob("*.py"))
    unused = [name for name in queries(dialect) if not re.search(rf'"{name}"', code)]
    assert unused == ["find_key", "find_act", "find_claim"]
    assert '"find_{column}"' in code
    assert not any("--" in query for query in queries(dialect).values())


def test_a_script_is_split_where_statements_end() -> None:
    script = """
    -- a comment; with a semicolon
    CREATE TABLE t (a);

    CREATE TRIGGER x BEFORE DELETE ON t
    BEGIN
        SELECT 1;
        SELECT 2;
    END;
    """
    found = statements(script, sqlite3.complete_statement)
    assert [re.sub(r"--.*\n", "", text).split()[:2] for text in found] == [
        ["CREATE", "TABLE"],
        ["CREATE", "TRIGGER"],
    ]
