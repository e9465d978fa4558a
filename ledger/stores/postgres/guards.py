"""Whether what guards a ledger's tables is as its migrations make it, read from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import in_schema
from ledger.stores.scripts import migrations


class Expected(NamedTuple):
    """What the migrations make, by name."""

    tables: frozenset[str]
    indexes: frozenset[str]
    constraints: frozenset[str]
    triggers: Mapping[str, str]
    """The statement of each, written as PostgreSQL writes it back."""
    policies: Mapping[str, frozenset[str]]
    """The words that each one's condition has to have."""
    functions: Mapping[str, str]
    """The body of each."""
    secured: frozenset[str]
    """Tables with row-level security."""
    forced: frozenset[str]
    """Of these the ones where it holds for the owner too."""


@cache
def expected(version: int, schema: str) -> Expected:
    """Read out of the migrations what a schema of some version holds."""
    script = "\n".join(step.script for step in migrations("postgres")[:version])
    text = re.sub(r"^\s*--.*\n", "", script, flags=re.MULTILINE)

    def names(pattern: str) -> frozenset[str]:
        return frozenset(re.findall(pattern, text))

    triggers = re.findall(r"(CREATE TRIGGER (\w+) .*?);", text, re.DOTALL)
    policies = re.findall(r"CREATE POLICY (\w+) ON .*?(?:USING|WITH CHECK) \((.*?)\);", text, re.DOTALL)
    functions = re.findall(r"CREATE FUNCTION \{schema\}\.(\w+)\(.*?AS \$\$(.*?)\$\$", text, re.DOTALL)
    return Expected(
        tables=names(r"CREATE TABLE \{schema\}\.(\w+)"),
        indexes=names(r"CREATE (?:UNIQUE )?INDEX (\w+)"),
        constraints=names(r"CONSTRAINT (\w+)"),
        triggers={name: _plain(in_schema(statement, schema)) for statement, name in triggers},
        policies={name: _words(condition.replace("{schema}.", "")) for name, condition in policies},
        functions={name: in_schema(body, schema) for name, body in functions},
        secured=names(r"ALTER TABLE \{schema\}\.(\w+) ENABLE ROW LEVEL SECURITY"),
        forced=names(r"ALTER TABLE \{schema\}\.(\w+) FORCE ROW LEVEL SECURITY"),
    )


def altered(session: Session, queries: Mapping[str, str], version: int, schema: str) -> tuple[str, ...]:
    """List what is missing, switched off, or not as the migrations make it, and what was added to it."""

    def ask(name: str) -> dict[str, tuple[Any, ...]]:
        return {row[0]: row[1:] for row in session.connection.execute(queries[name], (schema,)).fetchall()}

    return tuple(sorted(_differences(expected(version, schema), ask)))


def _differences(made: Expected, ask: Any) -> Iterator[str]:
    tables = ask("tables")
    for name in made.tables:
        if name not in tables:
            yield f"table {name}"
            continue
        persistence, secured, forced = tables[name]
        if persistence != "p":
            yield f"table {name}: not logged"
        if (secured, forced) != (name in made.secured, name in made.forced):
            yield f"table {name}: row-level security"
    for kind, names, found in (
        ("index", made.indexes, ask("indexes")),
        ("constraint", made.constraints, ask("constraints")),
    ):
        for name in names:
            if found.get(name) != (True,):
                yield f"{kind} {name}"
    yield from _triggers(made, ask("triggers"))
    yield from _policies(made, ask("policies"))
    functions = ask("functions")
    for name, body in made.functions.items():
        if functions.get(name) != (body,):
            yield f"function {name}"
    for name in ask("rules"):
        yield f"rule {name}: not the ledger's"


def _triggers(made: Expected, found: Mapping[str, tuple[Any, ...]]) -> Iterator[str]:
    for name, statement in made.triggers.items():
        if name not in found:
            yield f"trigger {name}"
            continue
        enabled, definition = found[name]
        if enabled != "A":
            yield f"trigger {name}: switched off"
        if _plain(definition) != statement:
            yield f"trigger {name}"
    for name in found.keys() - made.triggers.keys():
        yield f"trigger {name}: not the ledger's"


def _policies(made: Expected, found: Mapping[str, tuple[Any, ...]]) -> Iterator[str]:
    for name, words in made.policies.items():
        if name not in found or not words <= _words(found[name][1]):
            yield f"policy {name}"
    for name in found.keys() - made.policies.keys():
        # One more policy may only take away what the others allow, or it opens what they do not.
        if found[name][0]:
            yield f"policy {name}: not the ledger's"


def _plain(statement: str) -> str:
    """Leave out what PostgreSQL adds when it writes a statement back."""
    return re.sub(r'[\s()"]', "", statement).lower()


def _words(condition: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_]{3,}", condition.lower())) - {
        "select",
        "from",
        "where",
        "text",
        "bigint",
    }
