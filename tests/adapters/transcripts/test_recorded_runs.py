"""Recorded runs of a real agent: everything in them arrives, and nothing that is not in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.transcripts import ImportReport, import_transcripts
from ledger.events import EffectFailed, EffectIntended, EffectSucceeded, MessageRecorded, ObservationRecorded
from tests.adapters.transcripts.conversation import events

BY_ITSELF = re.compile(r"^Error")


class Recorded(NamedTuple):
    ledger: Ledger
    report: ImportReport
    transcripts: dict[str, list[dict[str, Any]]]
    tools: dict[str, dict[str, Any]]
    file: Path
    tools_file: Path


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def recorded(
    request: pytest.FixtureRequest, shared_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recorded]:
    """Import all recorded runs once, and read their file in the plainest way beside it."""
    file = shared_dir / "data" / "airline-runs.jsonl"
    tools = shared_dir / "data" / "airline-tools.json"
    read = [json.loads(line) for line in file.read_text().splitlines()]
    url = ":memory:" if request.param == "memory" else tmp_path_factory.mktemp("recorded") / "ledger.db"
    with open_ledger(url, actor=Actor("service:importer")) as ledger:
        report = import_transcripts(ledger, file, tools=tools)
        transcripts = {one["id"]: one["messages"] for one in read}
        yield Recorded(ledger, report, transcripts, json.loads(tools.read_text())["tools"], file, tools)


def asked(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the tool and the arguments of every call, in order."""
    for message in messages:
        for call in message.get("tool_calls") or []:
            yield call["function"]["name"], call["function"]["arguments"]


def test_every_recorded_run_arrives(recorded: Recorded) -> None:
    assert recorded.report.counts == {"added": 40, "grown": 0, "unchanged": 0, "refused": 0, "broken": 0}
    assert {run.run for run in recorded.ledger.runs().runs} == set(recorded.transcripts)
    assert {run.status for run in recorded.ledger.runs().runs} == {"suspended"}


def test_the_same_file_again_adds_nothing(recorded: Recorded) -> None:
    end = recorded.ledger.store.end()
    again = import_transcripts(recorded.ledger, recorded.file, tools=recorded.tools_file)
    assert again.unchanged == 40
    assert recorded.ledger.store.end() == end


def test_every_message_arrives_as_it_was(recorded: Recorded) -> None:
    for run, messages in recorded.transcripts.items():
        said = [event for event in events(recorded.ledger, run) if isinstance(event, MessageRecorded)]
        assert [event.id for event in said] == [str(number) for number in range(1, len(messages) + 1)]
        contents = [json.loads(recorded.ledger.blob(str(event.content.digest))) for event in said]
        assert contents == messages
        first = next(message for message in messages if message["role"] == "user")
        assert recorded.ledger.contract(run).goal.text == first["content"]


def test_the_calls_of_each_tool_are_as_many_as_in_the_file(recorded: Recorded) -> None:
    counted: Counter[str] = Counter()
    for run in recorded.transcripts:
        for event in events(recorded.ledger, run):
            if isinstance(event, EffectIntended | ObservationRecorded):
                counted[event.tool] += 1
                assert (recorded.tools[event.tool]["recovery"] == "read_only") is isinstance(
                    event, ObservationRecorded
                )
    in_file = Counter(tool for messages in recorded.transcripts.values() for tool, _ in asked(messages))
    assert counted == in_file
    assert len(in_file) > 8


def test_the_outcomes_are_those_in_the_file(recorded: Recorded) -> None:
    for run, messages in recorded.transcripts.items():
        outcomes = [e for e in events(recorded.ledger, run) if isinstance(e, EffectFailed | EffectSucceeded)]
        results = [
            message["content"]
            for message in messages
            if message["role"] == "tool" and recorded.tools[message["name"]]["recovery"] != "read_only"
        ]
        assert [isinstance(event, EffectFailed) for event in outcomes] == [
            BY_ITSELF.search(result) is not None for result in results
        ]
        assert recorded.ledger.contract(run).effects == ()


def bookings(recorded: Recorded, run: str) -> list[EffectIntended]:
    return [event for event in events(recorded.ledger, run) if isinstance(event, EffectIntended)]


def test_a_booking_that_was_meant_twice_is_two_effects_of_one_act(recorded: Recorded) -> None:
    done = {e.key for e in events(recorded.ledger, "airline-0-3") if isinstance(e, EffectSucceeded)}
    booked = [e for e in bookings(recorded, "airline-0-3") if e.tool == "book_reservation" and e.key in done]
    twice = [act for act, count in Counter(event.act for event in booked).items() if count == 2]
    assert len(twice) == 1
    first, second = [event for event in booked if event.act == twice[0]]
    assert (first.occurrence, second.occurrence) == ("1", "2")
    assert first.key != second.key
    assert first.args == second.args


@pytest.mark.parametrize("run", ["airline-13-0", "airline-8-1"])
def test_calls_repeated_after_a_refusal_are_attempts_of_one_act(recorded: Recorded, run: str) -> None:
    failed = {event.key for event in events(recorded.ledger, run) if isinstance(event, EffectFailed)}
    by_act: dict[str, list[EffectIntended]] = {}
    for event in bookings(recorded, run):
        by_act.setdefault(event.act, []).append(event)
    repeated = [group for group in by_act.values() if len(group) > 1 and group[0].key in failed]
    assert repeated
    for group in repeated:
        assert [event.occurrence for event in group] == [str(n) for n in range(1, len(group) + 1)]
        assert len({event.key for event in group}) == len(group)


def test_the_constraints_are_the_top_level_items_of_the_policy(recorded: Recorded) -> None:
    policy = next(iter(recorded.transcripts.values()))[0]["content"]
    items: list[str] = []
    for row in policy.split("\n"):
        if row.startswith("- "):
            items.append(row.removeprefix("- "))
        elif row.startswith("  - "):
            items[-1] += "\n" + row.removeprefix("  ")
    assert len(items) == 26
    for run in recorded.transcripts:
        assert [c.text for c in recorded.ledger.contract(run).constraints] == items
    (source,) = recorded.ledger.sources().values()
    assert [item.text for item in source.items] == items
    assert all(c.published for c in recorded.ledger.contract("airline-0-3").constraints)


def test_ids_of_calls_that_come_again_mislead_nothing(recorded: Recorded) -> None:
    messages = recorded.transcripts["airline-0-3"]
    ids = Counter(call["id"] for message in messages for call in message.get("tool_calls") or [])
    assert max(ids.values()) > 1
    args = {e.key: e.args for e in bookings(recorded, "airline-0-3")}
    outcomes = [
        (args[e.key], e.result.json_text if isinstance(e, EffectSucceeded) and e.result else None)
        for e in events(recorded.ledger, "airline-0-3")
        if isinstance(e, EffectFailed | EffectSucceeded)
    ]
    expected = []
    for call, result in pairwise(messages):
        for tool, text in asked([call]):
            if recorded.tools[tool]["recovery"] != "read_only":
                said = None if BY_ITSELF.search(result["content"]) else result["content"]
                expected.append((json.loads(text), said))
    assert [(json.loads(a), None if r is None else json.loads(r)) for a, r in outcomes] == expected


def test_every_record_is_in_the_global_order_once(recorded: Recorded) -> None:
    followed = Counter(record.run for record in recorded.ledger.follow())
    for run in recorded.transcripts:
        assert followed[run] == recorded.ledger.contract(run).position
    assert recorded.report.events == sum(followed[run] for run in recorded.transcripts)
