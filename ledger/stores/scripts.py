"""Read what `sql/` holds: named queries and numbered migrations, as text.

A query file is a row of `-- name: …` headings, each followed by its explanation and one statement. A
migration is `NNNN_name.sql`; its number is the schema version it leads to. Other scripts have a name alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_HEADING = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """One step from schema `version` − 1 to `version`."""

    version: int
    name: str
    script: str


@cache
def queries(dialect: str, file: str = "queries") -> Mapping[str, str]:
    """Read the named queries of a dialect, without their comments."""
    parts = _HEADING.split(script(dialect, file))
    named = zip(parts[1::2], parts[2::2], strict=True)
    return MappingProxyType({name: _statement(text) for name, text in named})


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Read the migrations of a dialect, in order."""
    files = ((_MIGRATION.fullmatch(file.name), file) for file in _folder(dialect).iterdir())
    return tuple(
        sorted(Migration(int(name[1]), name[2], file.read_text("utf-8")) for name, file in files if name)
    )


@cache
def script(dialect: str, name: str) -> str:
    """Read a script of a dialect that is neither: it may be run at any time."""
    return (_folder(dialect) / f"{name}.sql").read_text("utf-8")


def statements(script: str, complete: Callable[[str], bool]) -> list[str]:
    """Split a script where `complete` says that a statement ends; a trigger holds semicolons of its own."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if pending.rstrip().endswith(";") and complete(pending):
            found.append(pending.strip())
            pending = ""
    return found


def _folder(dialect: str) -> Traversable:
    # Read through the import system, so that a zipped package works too; imported late, for its cost.
    from importlib.resources import files

    return files(__package__) / "sql" / dialect


def _statement(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("--"))
