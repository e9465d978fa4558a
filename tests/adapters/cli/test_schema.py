"""`schema`; what the documents say is tested with them."""

from __future__ import annotations

import pytest

from ledger.adapters.schemas import command_schemas, event_schemas
from tests.adapters.cli.conftest import Call


def test_prints_both_unions_and_needs_no_ledger(call: Call) -> None:
    answer = call("schema")
    assert (answer.code, answer.err) == (0, "")
    assert answer.document == {"events": event_schemas(), "commands": command_schemas()}


@pytest.mark.parametrize("which", ["events", "commands"])
def test_prints_one_union(call: Call, which: str) -> None:
    document = call("schema", which).document
    assert document == call("schema").document[which]
    on_one_line = call("schema", which, "--json")
    assert on_one_line.document == document
    assert on_one_line.out.count("\n") == 1


def test_there_are_no_other_unions(call: Call) -> None:
    answer = call("schema", "queries")
    assert (answer.code, answer.out) == (64, "")
    assert answer.err.startswith("intent-ledger: Invalid value for 'WHICH': 'queries' is not one of ")
