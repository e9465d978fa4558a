"""`contract`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import open_ledger
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import KIM
from tests.adapters.cli.stops import filled, make


def test_shows_who_asserted_what_from_which_source_and_when(call: Call, good: Path) -> None:
    lines = call("contract", "refund-17", "--ledger", good).out.splitlines()
    at = lines.index("  limit-100: At most 100 EUR")
    assert lines[at + 1] == (
        "    asserted by human:kim, from policy:refunds revision 4; "
        "accepted by agent:refunds, 2026-01-31 09:00:02Z; "
        "not enforced: no machine checks it; position 2"
    )
    at = lines.index("  limit-500: Up to 500 EUR")
    assert "CLAIMED" in lines[at + 1]


def test_shows_everything_a_contract_holds(call: Call, good: Path) -> None:
    out = call("contract", "refund-17", "--ledger", good).out
    for words in (
        "Goal, revision 2",
        "revised by human:kim, 2026-01-31 09:00:07Z, position 7: customer asked",
        "1. look-up with tool get_order",
        "to customer:17, due 2026-01-31 10:00:00Z OVERDUE",
        "in-stock: The item is in stock",
        "till-noon: agent:refunds may refund",
        "spent or passed on 0 of 100.00 EUR, LAPSED 2026-01-31 12:00:00Z",
        "seen with get_order, STALE",
        "at refund, round 2; next tell",
    ):
        assert words in out
    pays = call("contract", "pays", "--ledger", good).out
    assert "pay in step book: unknown, attempt 1, imported" in pays
    other = call("contract", "other", "--ledger", good).out
    assert "suspended by human:kim at position 2 (asked): lunch" in other
    assert "closed as cancelled" in call("contract", "done", "--ledger", good).out


def test_the_document_is_the_contract_and_its_status(call: Call, good: Path) -> None:
    document = call("contract", "refund-17", "--ledger", good, "--json").document
    with open_ledger(good) as ledger:
        expected = ledger.contract("refund-17")
    assert document.pop("status") == "open"
    assert [one.pop("enforced") for one in document["constraints"]] == [False, False]
    assert type(expected).model_validate(document) == expected


def test_it_says_what_a_machine_enforces_of_a_constraint(call: Call) -> None:
    above = {"path": "/amount", "operator": "gt", "value": 100}
    with open_ledger("ledger.db") as ledger:
        run = ledger.open_run("r", goal="Refund")
        rule = {"tools": ["refund"], "when": [above], "needs_approval": True}
        run.accept("ask", "Ask above 100", asserted_by="human:kim", rule=rule)
        run.accept("kind", "Be kind", asserted_by="human:kim", rule={})
    enforced = "enforced: for refund, where /amount is greater than 100: a person approves it"
    for shown in (call("contract", "r").out, call("contract", "r", "--prompt").out):
        assert enforced in shown
        assert "not enforced: no machine checks it" in shown
    document = call("contract", "r", "--json").document
    assert [one["enforced"] for one in document["constraints"]] == [True, False]
    diff = call("diff", "r", "--json").document
    assert [one["new"]["enforced"] for one in diff["differences"]] == [True, False]
    assert "+ enforced: no" in call("diff", "r").out


def test_shows_it_at_a_position_and_at_a_time(call: Call, good: Path) -> None:
    for at in ("6", "2026-01-31T09:00:06Z", "2026-01-31T10:00:06+01:00"):
        document = call("contract", "refund-17", "--ledger", good, "--at", at, "--json").document
        assert document["position"] == 6
        assert document["goal"]["text"] == "Refund order 17"


def test_judges_what_time_changes_by_the_moment_that_was_asked_about(call: Call, good: Path) -> None:
    out = call("contract", "refund-17", "--ledger", good, "--at", "11").out
    assert "OVERDUE" not in out
    assert "until 2026-01-31 12:00:00Z" in out


def test_the_prompt_is_what_the_library_renders(call: Call, good: Path) -> None:
    with open_ledger(good) as ledger:
        contract = ledger.contract("refund-17", at=9)
    expected = contract.to_prompt(contract.at)
    assert call("contract", "refund-17", "--ledger", good, "--at", "9", "--prompt").out == expected
    document = call("contract", "refund-17", "--ledger", good, "--at", "9", "--prompt", "--json").document
    assert document == {"run": "refund-17", "position": 9, "prompt": expected}


@pytest.mark.parametrize(
    "at", ["noon", "2026-01-31", "2026-01-31T09:15:00", "-1", "1.5", "", "٣", "0001-01-01T00:00+23:00"]
)
def test_what_is_neither_a_position_nor_a_moment_is_a_usage_error(call: Call, good: Path, at: str) -> None:
    answer = call("contract", "refund-17", "--ledger", good, f"--at={at}")
    assert (answer.code, answer.out) == (64, "")


@pytest.mark.parametrize("at", ["0", "12"])
def test_a_position_the_run_never_had_is_refused(call: Call, good: Path, at: str) -> None:
    answer = call("contract", "refund-17", "--ledger", good, "--at", at, "--json")
    assert answer.code == 64
    assert answer.error["code"] == "invalid_input"
    assert answer.error["data"]["path"] == "at"


@pytest.mark.parametrize("verb", ["contract", "log"])
def test_a_run_nobody_opened_could_not_be_shown(call: Call, good: Path, verb: str) -> None:
    answer = call(verb, "refund-71", "--ledger", good, "--json")
    assert (answer.code, answer.out) == (3, "")
    assert answer.error["code"] == "run_not_found"
    assert answer.error["data"] == {"run": "refund-71"}
    plain = call(verb, "refund-71", "--ledger", good)
    assert plain.err == "intent-ledger: no run 'refund-71' was opened\n"


def test_a_time_before_the_run_could_not_be_shown(call: Call, good: Path) -> None:
    answer = call("contract", "refund-17", "--ledger", good, "--at", "2020-01-01T00:00:00Z")
    assert answer.code == 3


def test_what_holds_a_run_is_shown_with_the_command_that_names_the_ways_out(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "stops.db"
    stop = make(path, "authority_of_another_session")
    call("resume", "r", *stop.ask, "--ledger", path)
    out = call("contract", "r", "--ledger", path).out
    assert (
        "\nWhat holds it\n  authority_of_another_session: grant 'g' of agent:refunds is for session s-1"
        in out
    )
    assert "cleared by authority.renewed, position 2\n" in out
    assert "granted by human:kim, for session s-1; " in out
    last = out.splitlines()[-1]
    assert call(*filled(last.strip()), *stop.ask).out.count("asked only, nothing is recorded") == 1
    assert "--dry-run" not in call("contract", "r", "--at", "3", "--ledger", path).out


def test_a_goal_names_who_opened_the_run_and_for_whom(call: Call, good: Path) -> None:
    assert (
        "as opened by agent:refunds for human:kim, 2026-01-31"
        in call("contract", "refund-17", "--at", "3", "--ledger", good).out
    )
    assert "as opened by human:kim, 2026-01-31" in call("contract", "other", "--ledger", good).out
    brief = call("brief", "refund-17", "--at", "3", "--ledger", good).out
    assert "(as opened by agent:refunds for human:kim, 2026-01-31" in brief


def test_a_child_and_one_that_was_restarted_name_their_kin(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "kin.db"
    with open_ledger(path, actor=KIM) as ledger:
        ledger.open_run("p", "All").open_child("c", "A part")
        ledger.restart("p", as_="p2", reason="anew", by="human:kim")
    assert ", child of p\n" in call("contract", "c", "--ledger", path).out.replace("  child", ", child")
    assert "at position 3: anew; p2 succeeds it\n" in call("contract", "p", "--ledger", path).out
