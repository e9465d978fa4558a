"""What clients read by its address, complete, and are prompted with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ReadResourceResult, ResourceTemplateReference, TextResourceContents

from ledger import Ledger, open_ledger
from ledger.adapters.mcp.resources import address
from tests.adapters.mcp.served import served

pytestmark = pytest.mark.anyio

ODD = "order/17 100%?a=b#ä"
"""An id that an address has to hold in another form."""


def texts(result: ReadResourceResult) -> list[tuple[str, str]]:
    found = [one for one in result.contents if isinstance(one, TextResourceContents)]
    assert len(found) == len(result.contents)
    return [(one.mime_type or "", one.text) for one in found]


async def read(client: Client, uri: str) -> dict[str, Any]:
    (kind, text), *_ = texts(await client.read_resource(uri))
    assert kind == "application/json"
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_contract_and_brief_are_read_as_json_and_in_words_for_a_model(good: Path, mode: str) -> None:
    async with served(open_ledger(good), mode=mode) as one:
        for what in ("contract", "brief"):
            told = texts(await one.client.read_resource(f"ledger://runs/refund-17/{what}"))
            assert [kind for kind, _ in told] == ["application/json", "text/markdown"]
            assert json.loads(told[0][1])["run"] == "refund-17"
            assert "Refund order 17, tell the customer" in told[1][1]
        contract = await one.desk.awaited.contract("refund-17")
        words = texts(await one.client.read_resource("ledger://runs/refund-17/contract"))[1][1]
        assert words == contract.to_prompt(one.desk.now())


async def test_runs_questions_and_a_log_behind_a_position(good: Path) -> None:
    async with served(open_ledger(good)) as one:
        runs = (await read(one.client, "ledger://runs"))["runs"]
        assert "refund-17" in {run["run"] for run in runs}
        assert len((await read(one.client, "ledger://questions"))["questions"]) > 20
        first = (await read(one.client, "ledger://runs/refund-17/log"))["events"]
        rest = (await read(one.client, "ledger://runs/refund-17/log?after=3"))["events"]
        assert rest == first[3:]


async def test_an_id_is_percent_encoded(ledger: Ledger) -> None:
    ledger.open_run(ODD, "Go")
    async with served(ledger) as one:
        listed = [each.uri for each in (await one.client.list_resources()).resources]
        assert address(ODD, "contract") in listed
        assert address(ODD, "contract").startswith("ledger://runs/order%2F17%20100%25")
        for uri in listed[2:]:
            assert (await read(one.client, uri))["run"] == ODD


async def test_resources_are_listed_a_page_at_a_time_with_their_templates(ledger: Ledger) -> None:
    for number in range(60):
        ledger.open_run(f"r-{number:02}", "Go")
    async with served(ledger) as one:
        first = await one.client.list_resources()
        assert first.next_cursor == "r-49"
        second = await one.client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        listed = [each.uri for each in first.resources + second.resources]
        assert len(listed) == len(set(listed)) == 2 + 3 * 60
        templates = [
            each.uri_template for each in (await one.client.list_resource_templates()).resource_templates
        ]
        assert templates == [
            "ledger://runs/{run}/contract",
            "ledger://runs/{run}/brief",
            "ledger://runs/{run}/log{?after}",
        ]


async def test_a_prompt_gives_the_brief_of_a_run_and_sends_to_the_gate(good: Path) -> None:
    async with served(open_ledger(good)) as one:
        (prompt,) = (await one.client.list_prompts()).prompts
        assert prompt.name == "resume"
        (message,) = (await one.client.get_prompt("resume", {"run": "refund-17"})).messages
        assert message.content.type == "text"
        assert "call run_resume" in message.content.text
        assert "# Takeover brief of run refund-17" in message.content.text
        for name, arguments, words in (
            ("resum", {"run": "refund-17"}, "did you mean resume"),
            ("resume", {}, "run: Field required"),
            ("resume", {"run": "nope"}, "no run 'nope' was opened"),
        ):
            with pytest.raises(MCPError, match=words):
                await one.client.get_prompt(name, arguments)


async def test_ids_of_runs_are_completed(good: Path) -> None:
    async with served(open_ledger(good)) as one:
        prompt = PromptReference(name="resume")
        found = await one.client.complete(prompt, {"name": "run", "value": "ref"})
        assert found.completion.values == ["refund-17"]
        template = ResourceTemplateReference(uri="ledger://runs/{run}/log{?after}")
        assert (await one.client.complete(template, {"name": "run", "value": "o"})).completion.values == [
            "other"
        ]
        assert (await one.client.complete(template, {"name": "after", "value": "1"})).completion.values == []
