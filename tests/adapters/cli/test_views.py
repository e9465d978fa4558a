"""`obligations` and `approvals`: what is open across all runs, from the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger import Actor, open_ledger
from ledger.events import ApprovalAnswered, ApprovalRequested
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import KIM, ticking

PAST, FAR = datetime(2020, 1, 31, 9, tzinfo=UTC), datetime(2999, 1, 31, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open") / "ledger.db"
    with open_ledger(path, clock=ticking(), actor=KIM) as ledger:
        first, second = ledger.open_run("first", "goal"), ledger.open_run("second", "goal")
        first.promise("mail", "Mail\x1b[2J the customer", owed_to="customer:17", due=PAST)
        second.promise("call", "Call", owed_to="customer:18", due=FAR)
        second.promise("some day", "Write", owed_to="customer:17")
        requests = [
            ApprovalRequested(id="ends", key="1" * 64, expires_at=FAR, question="May\x1b[2J it?"),
            ApprovalRequested(id="late", key="2" * 64, expires_at=PAST),
            ApprovalRequested(id="yes", key="3" * 64),
            # Nobody answers for themselves: `KIM` imports the requests, and a service what Lee said.
            ApprovalAnswered(id="yes", answer="approved", by="human:lee"),
        ]
        ledger.import_events("first", requests[:3], expected=2)
    with open_ledger(path, clock=ticking(), actor=Actor("service:desk")) as ledger:
        ledger.import_events("first", requests[3:], expected=5)
    return path


def test_what_is_owed_is_listed_by_when_it_is_due(path: Path, call: Call) -> None:
    said = call("obligations", "--ledger", path)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].split() == ["DUE", "OWED", "TO", "RUN", "STATUS", "ID", "POSITION", "WHAT"]
    assert lines[1].startswith("2020-01-31 09:00:00Z OVERDUE  customer:17  first   open")
    assert lines[1].endswith(r"Mail\x1b[2J the customer")
    assert [line.split()[0] for line in lines[2:]] == ["2999-01-31", "-"]
    assert said.err.startswith("as of global position 9; 9 events handled; by the clock at ")


def test_obligations_are_a_document_too(path: Path, call: Call) -> None:
    document = call("obligations", "--overdue", "--ledger", path, "--json").document
    assert document.keys() == {"obligations", "as_of", "now", "events", "notes"}
    assert (document["as_of"], document["events"], document["notes"]) == ("9", 9, [])
    assert document["obligations"] == [
        {
            "run": "first",
            "id": "mail",
            "text": "Mail\x1b[2J the customer",
            "owed_to": "customer:17",
            "due": "2020-01-31T09:00:00.000000Z",
            "overdue": True,
            "at": document["obligations"][0]["at"],
            "position": 2,
            "run_status": "open",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ((), ["mail", "call", "some day"]),
        (("--overdue",), ["mail"]),
        (("--owed-to", "customer:17"), ["mail", "some day"]),
        (("--owed-to", "customer:17", "--run", "second"), ["some day"]),
        (("--owed-to", "customer:99"), []),
    ],
)
def test_obligations_are_filtered(path: Path, call: Call, arguments: tuple[str, ...], ids: list[str]) -> None:
    said = call("obligations", *arguments, "--ledger", path, "--json")
    assert [one["id"] for one in said.document["obligations"]] == ids
    plain = call("obligations", *arguments, "--ledger", path)
    assert (plain.code, bool(plain.out)) == (0, bool(ids))
    assert ("nothing is owed" in plain.err) is not bool(ids)


@pytest.mark.parametrize(
    ("arguments", "states"),
    [
        ((), {"ends": "pending"}),
        (("--all",), {"late": "expired", "ends": "pending", "yes": "approved"}),
        (("--run", "second"), {}),
    ],
)
def test_what_waits_for_an_answer_is_listed(
    path: Path, call: Call, arguments: tuple[str, ...], states: dict[str, str]
) -> None:
    found = call("approvals", *arguments, "--ledger", path, "--json").document["approvals"]
    assert {one["id"]: one["state"] for one in found} == states
    plain = call("approvals", *arguments, "--ledger", path)
    assert plain.code == 0
    lines = plain.out.splitlines()[1:]
    assert [state for line in lines for state in states.values() if f"  {state} " in line] == list(
        states.values()
    )
    assert ("no act waits" in plain.err) is not bool(states)
    if "yes" in states:
        (answered,) = (one for one in found if one["id"] == "yes")
        assert (answered["answered_by"], answered["answered_position"]) == ("human:lee", 6)


def test_at_a_narrow_terminal_they_are_entries(path: Path) -> None:
    owed = at_terminal("obligations", "--ledger", path, columns=60, watched=False).out
    assert "mail of first\n  to customer:17, due 2020-01-31 09:00:00Z OVERDUE," in owed
    asked = at_terminal("approvals", "--all", "--ledger", path, columns=60, watched=False).out
    assert "\n  approval ends\n" in asked
    assert "of first: pending\n" in asked
    assert r"May\x1b[2J it?" in asked


@pytest.mark.parametrize("command", ["obligations", "approvals"])
def test_there_has_to_be_such_a_run(path: Path, call: Call, command: str) -> None:
    said = call(command, "--run", "none", "--ledger", path, "--json")
    assert (said.code, said.error["code"]) == (3, "run_not_found")
