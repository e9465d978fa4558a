"""What clients try that mean no good, or do without meaning any harm."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import MCPError

from ledger import Ledger
from ledger.adapters.mcp import faults
from ledger.adapters.mcp.desk import Desk
from ledger.errors import InvalidInput
from tests.adapters.mcp.served import AGENT, Served, check_fits, document_of, served, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _run(ledger: Ledger) -> None:
    ledger.open_run("r", "Go", actor=AGENT)


async def test_the_name_of_a_call_gives_nothing_away_of_a_secret_that_was_redacted(ledger: Ledger) -> None:
    async with served(ledger) as one:
        causes = set()
        for run, password in (("r", "p4821"), ("other", "p4822")):
            await one.call("run_open", run=run, goal="Go")
            said = {"run": run, "id": "m", "role": "tool", "content": {"password": password}, "call_id": "c"}
            await one.call("message_record", **said)
            assert (await one.call("message_record", **said))["repeated"]
            causes.add(list(ledger.log(run))[-1].causation)
        assert len(causes) == 1, "what differs only in the secret has one digest"


KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
HUSHED: list[tuple[str, dict[str, Any], dict[str, list[str]]]] = [
    ("run_open", {"run": "new", "goal": f"use {KEY}"}, {"goal": ["openai-key"]}),
    ("run_fork", {"run": "r", "as_run": "fork", "at": 1, "reason": KEY}, {"reason": ["openai-key"]}),
    (
        "goal_revise",
        {"run": "r", "text": f"use {KEY}", "reason": "postgresql://a:b@c", "by": "human:kim"},
        {"reason": ["url-password"], "text": ["openai-key"]},
    ),
    ("plan_commit", {"run": "r", "steps": [{"name": "s", "description": KEY}]}, {"steps": ["openai-key"]}),
    (
        "message_record",
        {"run": "r", "id": "m", "role": "user", "content": {"password": "hunter2", "text": KEY}},
        {"content": ["name", "openai-key"]},
    ),
    (
        "observation_record",
        {"run": "r", "key": "k", "tool": "t", "value": [KEY], "observed_at": "2026-01-31T09:15:00Z"},
        {"value": ["openai-key"]},
    ),
]


@pytest.mark.parametrize(("tool", "said", "fields"), HUSHED)
@pytest.mark.parametrize("call_id", [None, "c-1"])
async def test_who_said_a_secret_is_told_of_which_field_it_was_kept_out(
    ledger: Ledger, tool: str, said: dict[str, Any], fields: dict[str, list[str]], call_id: str | None
) -> None:
    if call_id is not None and tool not in ("run_open", "run_fork"):
        said = {**said, "call_id": call_id}
    async with served(ledger) as one:
        for _ in range(2):
            result = await one.client.call_tool(tool, said)
            document = document_of(result)
            assert {told["field"]: told["rules"] for told in document["redacted"]} == fields
            assert all(f"{name} (" in text_of(result) for name in fields)
            assert KEY not in text_of(result)
        check_fits((await listed(one))[tool], document)
        assert "redacted" not in await one.call("assumption_make", run="r", id="a", text="All is well")


async def listed(one: Served) -> dict[str, Any]:
    return {tool.name: tool.output_schema for tool in (await one.client.list_tools()).tools}


async def test_calls_that_have_names_are_made_one_after_another(ledger: Ledger) -> None:
    many = 40
    positions = []

    async with served(ledger) as one:

        async def say(number: int) -> None:
            said = await one.call(
                "goal_revise", run="r", by="human:kim", reason="r", text=f"t{number}", call_id=f"c-{number}"
            )
            positions.append(said["position"])

        async with anyio.create_task_group() as group:
            for number in range(many):
                group.start_soon(say, number)
        assert sorted(positions) == list(range(2, many + 2))


@pytest.mark.parametrize("name", ["input", "claim", "./input"])
async def test_a_ledger_whose_name_is_a_word_leaves_the_words_of_errors_alone(
    ledger: Ledger, name: str
) -> None:
    error = InvalidInput("input: the input is no claim", path="input", reason="the input is no claim")
    said = faults.fault(error, Desk(ledger, AGENT, url=name).hidden)
    assert (said["code"], said["message"]) == ("invalid_input", "input: the input is no claim")
    assert said["hint"] == faults.fault(error)["hint"]
    assert said["data"]["path"] == "input"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("log", {"run": "r", "limit": "5"}),
        ("log", {"run": "r", "limit": True}),
        ("log", {"run": 5}),
        ("cursor_move", {"run": "r", "node": "a", "round": "1"}),
        ("cursor_move", {"run": "r", "node": "a", "round": 1.0}),
        ("observation_record", {"run": "r", "key": "k", "tool": "t", "value": 1, "observed_at": 1769850000}),
    ],
)
async def test_an_argument_of_another_type_is_refused(
    ledger: Ledger, tool: str, arguments: dict[str, Any]
) -> None:
    async with served(ledger) as one:
        assert (await one.fails(tool, **arguments))["code"] == "invalid_input"


async def test_all_that_is_missing_is_named_at_once(ledger: Ledger) -> None:
    async with served(ledger) as one:
        error = await one.fails("constraint_accept", run="r", id="c")
        assert "asserted_by" in error["message"]
        assert "text" in error["message"]
        error = await one.fails("may")
        assert "run" in error["message"]
        assert "tool" in error["message"]


async def test_what_an_opening_and_a_fork_came_to_is_said_in_words(ledger: Ledger) -> None:
    async with served(ledger) as one:
        for words in ("Opened z", "z was opened like this before"):
            said = await one.client.call_tool("run_open", {"run": "z", "goal": "Go"})
            assert text_of(said).startswith(words)
        await one.call("cursor_move", run="r", node="a")
        for words in ("Opened f, a fork of r at its position 1", "f was forked like this before"):
            said = await one.client.call_tool("run_fork", {"run": "r", "as_run": "f", "at": 1})
            assert text_of(said).startswith(words)


async def test_a_part_of_an_address_is_given_once(ledger: Ledger) -> None:
    async with served(ledger) as one:
        with pytest.raises(MCPError, match="more than once"):
            await one.client.read_resource("ledger://runs/r/log?after=1&after=2")


async def test_the_tool_that_weighs_says_where_nothing_is_declared(ledger: Ledger) -> None:
    async with served(ledger) as one:
        said = await one.client.call_tool("may", {"run": "r", "tool": "refund"})
        assert "refund is not declared here" in text_of(said)
