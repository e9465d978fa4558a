"""The statements of a read model, made from its declaration and never from data.

Every name was checked by `check_model` and stands in quotes; every value is a parameter. What differs
between databases is handed in: the schema before a table's name, the types, the marks of parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ledger.stores.read_models import Kind, Model, Table


def table_name(model: Model, table: Table) -> str:
    """Name the table in a database."""
    return f"projection_{model.projection}_v{model.version}{'b' * model.slot}_{table.name}"


def table_names(model: Model) -> str:
    """List the tables of a model by their names in it, as a cursor holds them."""
    return " ".join(table.name for table in model.tables)


def column_names(table: Table) -> list[str]:
    """List the columns behind the tenant: those declared, then `gid`."""
    return [*(column.name for column in table.columns), "gid"]


def column_kinds(table: Table) -> dict[str, Kind]:
    """Return the kinds of the columns behind the tenant, in their order."""
    return {**{column.name: column.kind for column in table.columns}, "gid": "integer"}


def all_columns(table: Table) -> tuple[str, ...]:
    """List every column of a table as it is made."""
    return ("tenant", *column_names(table))


def listed(names: Sequence[str]) -> str:
    """Write names in quotes, with commas between them."""
    return ", ".join(f'"{name}"' for name in names)


def creation(model: Model, table: Table, types: Mapping[Kind, str], within: str = "") -> list[str]:
    """Write the statements that make a table and its indexes; `within` is the schema and a dot."""
    name = table_name(model, table)
    lines = [
        f'"tenant" {types["text"]} NOT NULL',
        *(
            f'"{column.name}" {types[column.kind]}{"" if column.optional else " NOT NULL"}'
            for column in table.columns
        ),
        f'"gid" {types["integer"]} NOT NULL',
        f'CONSTRAINT "{name}_place" PRIMARY KEY ("tenant", {listed(table.key)})',
    ]
    made = [f'CREATE TABLE {within}"{name}" ({", ".join(lines)})']
    for number, columns in enumerate(table.indexes, 1):
        made.append(f'CREATE INDEX "{name}_{number}" ON {within}"{name}" ("tenant", {listed(columns)})')
    return made


def upsert(model: Model, table: Table, source: str, within: str = "") -> str:
    """Write the statement that stores rows of a source, whether or not there are rows with their keys."""
    columns = column_names(table)
    changed = [name for name in columns if name not in table.key]
    updates = ", ".join(f'"{name}" = excluded."{name}"' for name in changed)
    return (
        f'INSERT INTO {within}"{table_name(model, table)}" ("tenant", {listed(columns)}) {source} '
        f'ON CONFLICT ("tenant", {listed(table.key)}) DO UPDATE SET {updates}'
    )
