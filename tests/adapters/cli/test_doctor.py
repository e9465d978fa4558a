"""`doctor`; what it looks at is tested with the check-up itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.adapters.cli.conftest import Call


def test_nothing_bad_exits_with_0(call: Call, good: Path) -> None:
    good.chmod(0o600)
    answer = call("doctor", "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.endswith("nothing breaks a promise\n")
    document = call("doctor", "--ledger", good, "--json").document
    assert document["fine"] is True
    assert document["path"] == str(good)
    assert {check["state"] for check in document["checks"]} <= {"ok", "note"}


def test_something_bad_exits_with_1_and_says_what_to_do(call: Call, good: Path) -> None:
    with closing(sqlite3.connect(good)) as connection:
        connection.execute("DROP TRIGGER events_refuse_delete")
    answer = call("doctor", "--ledger", good)
    assert answer.code == 1
    lines = answer.out.splitlines()
    at = next(number for number, line in enumerate(lines) if "guards" in line)
    assert lines[at].startswith("  bad ")
    assert "verify --all" in lines[at + 1]
    assert call("doctor", "--ledger", good, "--json").document["fine"] is False
