"""Questions about forty recorded runs, against what their transcripts say when they are read by hand.

What a transcript says is worked out here from its JSON alone: which calls change something is what the tools
file says, and a call failed if its result matches what that file calls a refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.transcripts import import_transcripts
from ledger.canonical import canonical_text
from projections.asking import ask

IMPORTER = Actor("service:importer", session="batch-1")


class Call(NamedTuple):
    """A call of a transcript that may have changed something."""

    tool: str
    args: str
    status: str


class Airline(NamedTuple):
    """The recorded runs, as JSON and as a ledger."""

    ledger: Ledger
    transcripts: dict[str, list[dict[str, Any]]]
    calls: dict[str, list[Call]]


@pytest.fixture(scope="module")
def airline(shared_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airline]:
    data = shared_dir / "data"
    tools = json.loads((data / "airline-tools.json").read_text())["tools"]
    lines = (data / "airline-runs.jsonl").read_text().splitlines()
    transcripts = {one["id"]: one["messages"] for one in map(json.loads, lines)}
    with open_ledger(tmp_path_factory.mktemp("airline") / "ledger.db", actor=IMPORTER) as ledger:
        import_transcripts(ledger, data / "airline-runs.jsonl", tools=data / "airline-tools.json")
        yield Airline(ledger, transcripts, {run: _calls(said, tools) for run, said in transcripts.items()})


def _calls(messages: list[dict[str, Any]], tools: dict[str, Any]) -> list[Call]:
    found = []
    for place, call in _asked(messages):
        name = call["function"]["name"]
        if tools[name]["recovery"] == "read_only":
            continue
        refused = tools[name].get("failed_if")
        # Ids are given again later in some of them: the first answer behind the call is its own.
        answers = (said for said in messages[place:] if said.get("tool_call_id") == call["id"])
        result = next((said["content"] for said in answers), None)
        if result is None:
            status = "unknown"
        else:
            status = "failed" if refused and re.search(refused, result) else "succeeded"
        args = canonical_text(json.loads(call["function"]["arguments"]))
        found.append(Call(name, args, status))
    return found


def _asked(messages: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """List the calls, each with the place of the message that asked for it."""
    return [(place, call) for place, said in enumerate(messages) for call in said.get("tool_calls") or ()]


def _column(ledger: Ledger, question: str, column: str, **given: Any) -> list[Any]:
    answer = ask(ledger, question, **given)
    place = [one.name for one in answer.columns].index(column)
    return [row[place] for row in answer.rows]


def test_effects_are_the_calls_that_may_have_changed_something(airline: Airline) -> None:
    for run, calls in airline.calls.items():
        answer = ask(airline.ledger, "effects", run=run)
        names = [column.name for column in answer.columns]
        tool, args, status = (names.index(name) for name in ("tool", "args", "status"))
        assert [Call(*map(str, (row[tool], row[args], row[status]))) for row in answer.rows] == calls


def test_the_flight_that_was_booked_twice_was_cancelled_in_between(airline: Airline) -> None:
    done = [call for call in airline.calls["airline-0-3"] if call.status == "succeeded"]
    assert [call.tool for call in done] == [
        "book_reservation",
        "book_reservation",
        "cancel_reservation",
        "book_reservation",
    ]
    keys = _column(airline.ledger, "effects", "key", run="airline-0-3", status="succeeded")
    assert len(set(keys)) == 4, "each is an act of its own, also where the arguments are the same"
    acts = _column(airline.ledger, "effects", "act", run="airline-0-3", status="succeeded")
    again = [args for args in (call.args for call in done) if [call.args for call in done].count(args) > 1]
    assert len(acts) - len(set(acts)) == len(again) - len(set(again))


def test_every_act_was_bound_by_the_rules_of_the_document(airline: Airline) -> None:
    for run in ("airline-0-3", "airline-8-1", "airline-13-0"):
        document = " ".join(airline.transcripts[run][0]["content"].split())
        for key in dict.fromkeys(_column(airline.ledger, "effects", "key", run=run)):
            texts = _column(airline.ledger, "constraints-at-effect", "text", key=key)
            assert texts
            assert all(" ".join(text.split()) in document for text in texts)


def test_all_runs_follow_one_document(airline: Airline) -> None:
    (source,) = airline.ledger.sources()
    runs = set(_column(airline.ledger, "affected-runs", "run", source=source))
    assert runs == airline.transcripts.keys()
    assert set(_column(airline.ledger, "affected-runs", "now", source=source)) == {"unchanged"}


def test_what_is_open_is_what_got_no_result(airline: Airline) -> None:
    left = [run for run, calls in airline.calls.items() for call in calls if call.status == "unknown"]
    assert _column(airline.ledger, "open-outcomes", "run") == left


def test_whoever_imported_wrote_all_of_it(airline: Airline) -> None:
    for run in airline.transcripts:
        answer = ask(airline.ledger, "writers", run=run)
        assert [row[:3] for row in answer.rows] == [("service:importer", "batch-1", None)]
        assert [row[5] for row in answer.rows] == [airline.ledger.contract(run).position]


def test_what_was_seen_before_the_first_act_is_what_was_said_before_it(airline: Airline) -> None:
    run = "airline-0-3"
    messages = airline.transcripts[run]
    first = next(place for place, call in _asked(messages) if call["function"]["name"] == "book_reservation")
    key = _column(airline.ledger, "effects", "key", run=run)[0]
    answer = ask(airline.ledger, "seen-before-effect", key=key)
    names = [column.name for column in answer.columns]
    kind, name = names.index("kind"), names.index("name")
    roles = [row[name] for row in answer.rows if row[kind] == "message"]
    assert roles == [said["role"] for said in messages[: first + 1]]
    looks = [row[name] for row in answer.rows if row[kind] == "observation"]
    assert looks == [call["function"]["name"] for place, call in _asked(messages) if place < first]


def test_no_rule_that_a_machine_can_check_was_broken_and_nothing_was_refused(airline: Airline) -> None:
    assert _column(airline.ledger, "violations", "run") == []
    assert _column(airline.ledger, "refused-calls", "run") == []
