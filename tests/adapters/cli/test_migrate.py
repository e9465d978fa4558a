"""`migrate`, and that nothing else migrates."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.stores import scripts, sqlite_inspection, sqlite_schema
from ledger.stores.scripts import Migration
from tests.adapters.cli.conftest import Call

PRESENT = sqlite_schema.supported_version()


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this program know one schema more than the ledgers of these tests have."""
    known = scripts.migrations("sqlite")
    step = Migration(len(known) + 1, "more", "CREATE TABLE more (id INTEGER PRIMARY KEY);\n")
    for module in (sqlite_schema, sqlite_inspection):
        monkeypatch.setattr(module, "migrations", lambda dialect: (*known, step))


def test_says_that_nothing_was_to_be_done(call: Call, good: Path) -> None:
    answer = call("migrate", "--ledger", good)
    assert answer.code == 0
    assert "up to date" in answer.out
    document = call("migrate", "--ledger", good, "--json").document
    assert document == {"path": str(good), "before": PRESENT, "after": PRESENT}


@pytest.mark.usefixtures("newer")
def test_brings_an_older_ledger_to_the_schema_of_this_program(call: Call, good: Path) -> None:
    document = call("migrate", "--ledger", good, "--json").document
    assert document == {"path": str(good), "before": PRESENT, "after": PRESENT + 1}
    assert call("runs", "--ledger", good).code == 0
    assert call("migrate", "--ledger", good, "--json").document["before"] == PRESENT + 1


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("arguments", [("runs",), ("log", "refund-17"), ("verify", "--all")])
def test_no_other_command_migrates(call: Call, good: Path, arguments: tuple[str, ...]) -> None:
    before = good.read_bytes()
    answer = call(*arguments, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "schema_mismatch")
    assert "intent-ledger migrate" in answer.error["message"]
    assert good.read_bytes() == before


@pytest.mark.usefixtures("newer")
def test_an_import_does_not_migrate_either(call: Call, good: Path, tmp_path: Path) -> None:
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"id": "c1", "messages": [{"role": "user", "content": "Hello"}]}\n')
    before = good.read_bytes()
    assert call("import", chats, "--ledger", good).code == 3
    assert good.read_bytes() == before


def test_makes_a_ledger_of_an_empty_file_that_was_named_on_purpose(call: Call, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    assert call("migrate", "--ledger", empty, "--json").document["before"] == 0
    assert call("runs", "--ledger", empty).code == 0
