"""The public surface: what is listed, what is seen, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import ledger
import ledger.adapters.checkpointer
import ledger.adapters.cli
import ledger.adapters.transcripts


@pytest.mark.parametrize(
    "module",
    [ledger, ledger.adapters.checkpointer, ledger.adapters.cli, ledger.adapters.transcripts],
    ids=lambda m: m.__name__,
)
def test_all_equals_the_visible_names(module: ModuleType) -> None:
    seen = {name for name in dir(module) if not name.startswith("_")}
    submodules = {name for name in seen if isinstance(getattr(module, name), ModuleType)}
    assert sorted(seen - submodules) == sorted(module.__all__)


@pytest.mark.parametrize("name", ledger.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    assert (getattr(ledger, name).__doc__ or "").strip()


def loaded_by(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_every_name_but_those_of_event_loops_loads_nothing_heavy() -> None:
    names = ", ".join(name for name in ledger.__all__ if "sync" not in name.lower())
    modules = loaded_by(f"from ledger import {names}")
    heavy = {
        "eventsourcing",
        "psycopg",
        "typer",
        "rich",
        "pydantic_settings",
        "sqlite3",
        "anyio",
        "asyncio",
        "markdown_it",
    }
    assert modules & heavy == set()
    assert not {module for module in modules if module.startswith("ledger.adapters")}


def test_opening_a_ledger_in_memory_loads_no_database() -> None:
    modules = loaded_by("from ledger import open_ledger; open_ledger(':memory:').close()")
    assert modules & {"sqlite3", "eventsourcing", "typer", "rich"} == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        getattr(ledger, "no_such_name")  # noqa: B009 - a type checker knows that it is not there
