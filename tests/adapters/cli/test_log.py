"""`log`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.threads.dropping import prune
from ledger.codec import reencode
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import RAISE_THE_LIMIT
from tests.adapters.cli.stops import make
from tests.adapters.threads.plain import chat, states_of


def test_shows_one_event_a_line(call: Call, good: Path) -> None:
    lines = call("log", "refund-17", "--ledger", good).out.splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(1, 12))
    assert lines[6] == (
        "    7  2026-01-31 09:00:07Z  goal.revised  agent:refunds  "
        "'Refund order 17, tell the customer'; by human:kim, reason 'customer asked'"
    )


def test_shows_what_messages_say(call: Call, good: Path) -> None:
    assert "user m1: 'Where is my money?'" in call("log", "refund-17", "--ledger", good).out


def test_tells_who_was_authenticated(call: Call, good: Path) -> None:
    assert "authority.granted  human:kim (by badge)" in call("log", "refund-17", "--ledger", good).out


def test_json_lines_hold_the_record_its_hash_and_its_place_in_the_ledger(call: Call, good: Path) -> None:
    lines = [
        json.loads(line) for line in call("log", "refund-17", "--ledger", good, "--json").out.splitlines()
    ]
    with open_ledger(good) as ledger:
        records = list(ledger.log("refund-17"))
    assert len(lines) == len(records)
    for line, record in zip(lines, records, strict=True):
        assert line.pop("hash") == record.hash.hex()
        assert line.pop("global_position") == str(record.global_position)
        assert line == json.loads(reencode(record).record)


@pytest.mark.parametrize(
    ("bounds", "positions"),
    [
        (["--after", "9"], [10, 11]),
        (["--upto", "2"], [1, 2]),
        (["--limit", "3"], [1, 2, 3]),
        (["--after", "2", "--upto", "6", "--limit", "2"], [3, 4]),
    ],
)
def test_bounds(call: Call, good: Path, bounds: list[str], positions: list[int]) -> None:
    out = call("log", "refund-17", "--ledger", good, "--json", *bounds).out
    assert [json.loads(line)["position"] for line in out.splitlines()] == positions


def test_an_empty_range_is_said_on_standard_error(call: Call, good: Path) -> None:
    answer = call("log", "refund-17", "--ledger", good, "--after", "50")
    assert (answer.code, answer.out, answer.err) == (0, "", "no event in this range\n")


def test_shows_the_stream_of_a_source(call: Call, good: Path) -> None:
    out = call("log", "--source", "policy:refunds", "--ledger", good).out
    assert "source.opened" in out
    assert "source.revised" in out
    bounded = call("log", "--source", "policy:refunds", "--upto", "1", "--ledger", good, "--json").out
    assert [json.loads(line)["position"] for line in bounded.splitlines()] == [1]
    assert call("log", "--source", "policy:none", "--ledger", good).code == 3


def test_what_is_no_id_of_a_source_is_told_so(call: Call, good: Path) -> None:
    answer = call("log", "--source", "policy", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (64, "invalid_input")
    assert answer.error["data"]["path"] == "source"
    assert "'policy' is not 'kind:name'" in answer.error["message"]
    unknown = call("log", "--source", "policy:other", "--ledger", good, "--json")
    assert (unknown.code, unknown.error["code"]) == (3, "not_found")


def test_a_terminal_shows_each_event_on_lines_of_its_own(good: Path) -> None:
    out = at_terminal("log", "refund-17", "--ledger", good, columns=60).out
    assert max(map(len, out.splitlines())) <= 60
    assert "       'Refund order 17, tell the customer'\n" in out


@pytest.mark.parametrize(
    "statement", [RAISE_THE_LIMIT, "UPDATE events SET record = CAST(record AS TEXT) WHERE position = 2"]
)
def test_a_record_that_was_altered_is_bad_news(call: Call, good: Path, alter: Alter, statement: str) -> None:
    alter(good, statement)
    for verb in ("log", "contract"):
        answer = call(verb, "refund-17", "--ledger", good, "--json")
        assert answer.code == 1
        assert answer.error["code"] == "chain_broken"
        assert answer.error["data"]["position"] == 2


@pytest.fixture
def refused(call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "stops.db"
    stop = make(path, "constraint_reworded")
    assert call("resume", "r", *stop.ask, "--ledger", path).code == 10
    return path


def test_a_refusal_is_told_reason_by_reason(call: Call, refused: Path) -> None:
    line = call("log", "r", "--ledger", refused).out.splitlines()[-1]
    assert "  run.resume_refused  " in line
    assert "; 1. constraint_reworded: policy:refunds has other words for 'limit-100'" in line
    assert " (cleared by constraint.accepted, since 2020-01-31 09:" in line
    assert "; 2. source_revised: " in line
    assert "=" not in line


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_at_a_terminal_each_reason_begins_a_line(refused: Path, columns: int) -> None:
    out = at_terminal("log", "r", "--ledger", refused, columns=columns).out
    assert "\n       1. constraint_reworded: " in out
    assert "\n       2. source_revised: " in out
    assert all(len(line) <= columns for line in out.splitlines())


@pytest.fixture
def talked(tmp_path: Path) -> Path:
    """Return a ledger with a thread of which states were saved and given up."""
    path = tmp_path / "talked.db"
    with open_ledger(path) as ledger:
        states = states_of(ledger)
        chat(states, "order-17", 5)
        ledger.run("order-17#1").promise("mail", "Mail the customer", owed_to="customer:17")
        prune(states.threads, "order-17", by="human:kim", reason="old")
    return path


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (["--but", "state"], ["run.opened", "obligation.opened"]),
        (["--only", "state", "--but", "state.saved"], ["state.dropped"]),
        (["--only", "obligation.opened", "--only", "run"], ["run.opened", "obligation.opened"]),
        (["--only", "state.saved", "--after", "2", "--limit", "2"], ["state.saved", "state.saved"]),
        (["--but", "run", "--but", "state", "--limit", "1"], ["obligation.opened"]),
    ],
)
def test_events_are_chosen_by_their_name_or_kind(
    call: Call, talked: Path, chosen: list[str], names: list[str]
) -> None:
    told = call("log", "order-17#1", *chosen, "--ledger", talked, "--json")
    assert [json.loads(line)["name"] for line in told.out.splitlines()] == names


@pytest.mark.parametrize("option", ["--only", "--but"])
def test_a_name_that_no_event_has_is_a_mistake(call: Call, talked: Path, option: str) -> None:
    told = call("log", "order-17#1", option, "states", "--ledger", talked)
    assert (told.code, told.out) == (64, "")
    assert "no event is named 'states'" in told.err


def test_states_that_were_given_up_are_counted_and_not_listed(call: Call, talked: Path) -> None:
    (line,) = call("log", "order-17#1", "--only", "state.dropped", "--ledger", talked).out.splitlines()
    assert "states 4: 1, 2, 3, …" in line or "states 4: 4, 3, 2, …" in line
    assert "reason old" in line
