"""Whether what guards a ledger's tables is as its migrations make it, read from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from psycopg.sql import Identifier

from ledger.stores.postgres.session import Session
from ledger.stores.postgres.template import in_schema
from ledger.stores.scripts import migrations


class Policy(NamedTuple):
    """One policy; conditions as `_condition` writes them, None where there is none."""

    table: str
    permissive: bool
    command: str
    """`*` all, `a` INSERT, `r` SELECT, as the catalogue has it."""
    for_all_roles: bool
    using: str | None
    check: str | None


class Expected(NamedTuple):
    """What the migrations make, by name."""

    tables: frozenset[str]
    indexes: frozenset[str]
    constraints: frozenset[str]
    triggers: Mapping[str, str]
    """The statement of each, written as PostgreSQL writes it back."""
    policies: Mapping[str, Policy]
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
    functions = re.findall(r"CREATE FUNCTION \{schema\}\.(\w+)\(.*?AS \$\$(.*?)\$\$", text, re.DOTALL)
    return Expected(
        tables=names(r"CREATE TABLE \{schema\}\.(\w+)"),
        indexes=names(r"CREATE (?:UNIQUE )?INDEX (\w+)"),
        constraints=names(r"CONSTRAINT (\w+)"),
        triggers={name: _plain(in_schema(statement, schema)) for statement, name in triggers},
        policies=dict(_made_policies(text)),
        functions={name: in_schema(body, schema) for name, body in functions},
        secured=names(r"ALTER TABLE \{schema\}\.(\w+) ENABLE ROW LEVEL SECURITY"),
        forced=names(r"ALTER TABLE \{schema\}\.(\w+) FORCE ROW LEVEL SECURITY"),
    )


def hiding(session: Session, queries: Mapping[str, str], version: int, schema: str) -> tuple[str, ...]:
    """List the policies that may keep rows from who reads: those of another kind than the migrations make."""
    # Tables of projections are no part of the record, and have policies of their own.
    made, tables = expected(version, schema).policies, expected(version, schema).tables
    found = _policies_found(session.connection.execute(queries["policies"], (schema,)).fetchall(), schema)
    missing = [f"policy {name} is missing" for name in made if name not in found and _hides(made[name])]
    others = [
        f"policy {name} is not the ledger's"
        for name, policy in found.items()
        if policy != made.get(name) and _hides(policy) and policy.table in tables
    ]
    return tuple(sorted(missing + others))


def _hides(policy: Policy) -> bool:
    """Tell whether a policy decides what is read; one that has only a check decides what is written."""
    return policy.command in "r*" and policy.using is not None


def altered(session: Session, queries: Mapping[str, str], version: int, schema: str) -> tuple[str, ...]:
    """List what is missing, switched off, or not as the migrations make it, and what was added to it."""

    def ask(name: str) -> dict[str, tuple[Any, ...]]:
        return {row[0]: row[1:] for row in session.connection.execute(queries[name], (schema,)).fetchall()}

    return tuple(sorted(_differences(expected(version, schema), ask, schema)))


def _differences(made: Expected, ask: Any, schema: str) -> Iterator[str]:
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
    yield from _policies(made, ask("policies"), schema)
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


def _policies(made: Expected, rows: Mapping[str, tuple[Any, ...]], schema: str) -> Iterator[str]:
    found = _policies_found([(name, *row) for name, row in rows.items()], schema)
    for name, policy in made.policies.items():
        if found.get(name) != policy:
            yield f"policy {name}"
    for name in found.keys() - made.policies.keys():
        # One more policy may only take away what the others allow, or it opens what they do not.
        if found[name].permissive and found[name].table in made.tables:
            yield f"policy {name}: not the ledger's"


def _made_policies(text: str) -> Iterator[tuple[str, Policy]]:
    pattern = (
        r"CREATE POLICY (\w+) ON \{schema\}\.(\w+)( AS RESTRICTIVE)?( FOR INSERT)? "
        r"(USING|WITH CHECK) \((.*?)\);"
    )
    for name, table, restrictive, insert, kind, condition in re.findall(pattern, text, re.DOTALL):
        plain = _condition(condition.replace("{schema}.", ""))
        sides = (plain, None) if kind == "USING" else (None, plain)
        yield name, Policy(table, not restrictive, "a" if insert else "*", True, *sides)


def _policies_found(rows: Iterable[tuple[Any, ...]], schema: str) -> dict[str, Policy]:
    def plain(condition: str | None) -> str | None:
        if condition is None:
            return None
        # Written with the schema or without, as the search path of the session has it.
        for name in (Identifier(schema).as_string(), schema):
            condition = condition.replace(f"{name}.", "")
        return _condition(condition)

    return {
        name: Policy(table, permissive, command, for_all, plain(using), plain(check))
        for name, table, permissive, command, for_all, using, check in rows
    }


def _condition(text: str) -> str:
    """Leave out what PostgreSQL adds when it writes a condition back: types, names, brackets."""
    added = r'::(?:text|oid|bigint)\b| AS (?:array_agg|"coalesce")(?!\w)|(?<![\w.])(?:members|epoch)\.(?=\w)'
    text = re.sub(added, "", text)
    # What stands between quotes is left as it is: a space there is another value.
    words = re.findall(r"'(?:[^']|'')*'|\w+|[^\s()\"]", text)
    return " ".join(word if word.startswith("'") else word.lower() for word in words)


def _plain(statement: str) -> str:
    """Leave out what PostgreSQL adds when it writes a statement back."""
    return re.sub(r'[\s()"]', "", statement).lower()
