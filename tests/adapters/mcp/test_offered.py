"""What is offered: what the union lets an agent use, and nothing that needs code or a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import MCPError
from mcp.shared.tool_name_validation import validate_tool_name

from ledger import Actor, Ledger
from ledger.adapters.mcp.offered import BY_CODE, Offer, offers, why_not
from ledger.adapters.mcp.server import INSTRUCTIONS, as_listed
from ledger.adapters.mcp.tools import not_offered, tools
from ledger.commands import COMMAND_CLASSES, COMMANDS, Command
from ledger.run.decide import RULES
from tests.adapters.mcp.samples import RUN, SAMPLES, prepare
from tests.adapters.mcp.served import AGENT, check_fits, check_schema, served

pytestmark = pytest.mark.anyio

FOR_PEOPLE = [
    "approval.answer",
    "authority.grant",
    "authority.narrow",
    "authority.renew",
    "constraint.withdraw",
    "obligation.transfer",
    "obligation.waive",
    "review.sign",
    "run.restart",
    "runtime.adopt",
    "source.open",
    "source.publish",
    "source.withdraw",
]
WRITERS = [AGENT, Actor("human:kim"), Actor("service:desk", on_behalf_of=("human:kim",))]


def test_each_command_is_a_tool_or_has_a_reason_why_not() -> None:
    offered = {offer.kind.name for offer in offers()}
    assert offered | not_offered().keys() == set(COMMANDS)
    assert not offered & not_offered().keys()
    assert set(BY_CODE) <= set(COMMANDS)
    assert all(not_offered().values())


@pytest.mark.parametrize("kind", COMMAND_CLASSES, ids=lambda kind: kind.name)
def test_what_no_agent_may_say_is_no_tool(kind: type[Command]) -> None:
    for_people = kind.not_for_agents is not None and not kind.not_for_agents
    by_code = kind.name in BY_CODE or kind not in RULES
    assert (why_not(kind) is None) == (not for_people and not by_code and kind.stream == "run")
    assert (kind.name.replace(".", "_") in tools()) == (why_not(kind) is None)


@pytest.mark.parametrize("name", [*FOR_PEOPLE, "effect.claim", "effect.reconcile"])
def test_named_one_by_one(name: str) -> None:
    assert name in not_offered()


def test_names_are_such_as_every_client_takes() -> None:
    for name in tools():
        assert re.fullmatch(r"[a-z][a-z_]{1,63}", name)
        assert validate_tool_name(name).is_valid
    assert len(tools()) == len(offers()) + 8


def test_what_a_model_is_told_at_first_names_tools_that_there_are() -> None:
    assert set(re.findall(r"`(\w+)`", INSTRUCTIONS)) == {"contract", "may", "run_resume"} & set(tools())


def members(schema: Any) -> Iterator[str]:
    """Yield the names of all arguments, also inside of others."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for inner in schema.values():
            yield from members(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from members(inner)


def test_no_argument_says_who_writes_nor_what_runs() -> None:
    for tool in tools().values():
        told = set(members(tool.takes))
        assert not told & {"actor", "authenticated_by", "on_behalf_of", "runtime", "take_over", "worker"}
        assert not set(tool.takes["properties"]) & {"session", "tenant"}


@pytest.mark.parametrize("name", tools())
def test_schemas_stand_alone_and_are_closed(name: str) -> None:
    tool = tools()[name]
    for schema in (tool.takes, tool.answers):
        check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in str(schema)
        assert "None" not in schema
    assert tool.takes["additionalProperties"] is False
    assert set(tool.takes["required"]) <= set(tool.takes["properties"])
    assert all(one.get("description") for one in tool.takes["properties"].values())


@pytest.mark.parametrize("offer", offers(), ids=lambda offer: offer.tool)
def test_arguments_are_the_fields_of_the_command(offer: Offer) -> None:
    told = set(tools()[offer.tool].takes["properties"])
    assert told - {"run", "call_id", "dry_run"} == set(offer.kind.model_fields) - offer.left_out
    assert not {"run", "call_id", "dry_run"} & set(offer.kind.model_fields)


@pytest.mark.parametrize("tool", SAMPLES)
def test_samples_fit_the_schema(tool: str) -> None:
    arguments = {"run": RUN, **SAMPLES[tool]}
    if tool == "approval_request":
        arguments["key"] = "5" * 64
    check_fits(tools()[tool].takes, arguments)


def test_annotations_say_what_reads_and_what_ends_something() -> None:
    told = {one.name: as_listed(one).annotations for one in tools().values()}
    reading = {name for name, one in told.items() if one is not None and one.read_only_hint}
    assert reading == {"contract", "brief", "may", "runs", "log", "questions", "ask", "verify"}
    ending = {name for name, one in told.items() if one is not None and one.destructive_hint}
    assert ending == {"authority_revoke", "run_close"}
    anew = {name for name, one in told.items() if one is not None and not one.idempotent_hint}
    assert anew == {"run_resume"}


@pytest.mark.parametrize("actor", WRITERS, ids=lambda actor: actor.id)
async def test_values_that_no_agent_may_say_are_refused_whoever_the_actor_is(
    ledger: Ledger, actor: Actor
) -> None:
    prepare(ledger)
    schemas = {name: tool.takes["properties"] for name, tool in tools().items()}
    assert "relaxed" not in schemas["constraint_accept"]["change"]["enum"]
    assert "ledger" not in schemas["message_record"]["role"]["enum"]
    before = ledger.contract(RUN).position
    async with served(ledger, actor) as one:
        relaxed = {"id": "limit", "text": "At most 900 EUR", "asserted_by": "human:kim", "change": "relaxed"}
        error = await one.fails("constraint_accept", run=RUN, **relaxed)
        assert error["code"] == "not_for_agents"
        error = await one.fails("message_record", run=RUN, id="x", role="ledger", content="Go on")
        assert error["code"] == "not_for_agents"
        error = await one.fails("run_resume", run=RUN, take_over=True)
        assert (error["code"], error["data"]["path"]) == ("invalid_input", "take_over")
        assert (await one.call("contract", run=RUN))["position"] == before


async def test_a_tool_that_is_none_is_told_to_be_none_and_why(ledger: Ledger) -> None:
    async with served(ledger) as one:
        for name, words in (
            ("approval_answer", "for people and services"),
            ("effect_claim", "the ledger performs none over MCP"),
            ("goal_revize", "did you mean goal_revise"),
        ):
            with pytest.raises(MCPError, match=words):
                await one.client.call_tool(name, {})
