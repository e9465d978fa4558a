"""Every tool, called as a client calls it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Ledger, Runtime, Tool, open_ledger
from ledger.adapters.mcp.tools import tools
from tests.adapters.mcp.samples import FIRST, FOUND, RUN, SAMPLES, prepare
from tests.adapters.mcp.served import AGENT, Served, check_fits, served, text_of

pytestmark = pytest.mark.anyio

READING: dict[str, dict[str, Any]] = {
    "contract": {"run": RUN},
    "brief": {"run": RUN},
    "may": {"run": RUN, "tool": "pay", "args": {"order": 1}},
    "runs": {"prefix": "r", "status": "open"},
    "log": {"run": RUN},
    "questions": {},
    "ask": {"question": "writers", "parameters": {"run": RUN}},
    "verify": {"run": RUN},
}


def test_there_is_a_sample_of_each_tool() -> None:
    assert SAMPLES.keys() | READING.keys() | {"run_resume"} == tools().keys()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_tool_that_says_something_says_it_once(mode: str) -> None:
    for tool, sample in SAMPLES.items():
        with open_ledger(":memory:") as ledger:
            prepare(ledger)
            if tool in FIRST:
                FIRST[tool](ledger)
            found = FOUND[tool](ledger) if tool in FOUND else {}
            arguments = {"run": RUN, **sample, **found}
            async with served(ledger, mode=mode) as one:
                listed = {each.name: each for each in (await one.client.list_tools()).tools}
                first = await one.call(tool, **arguments)
                check_fits(listed[tool].output_schema, first)
                assert not first["repeated"], tool
                assert first["events"], tool
                end = one.desk.ledger.store.end()
                await said_again(one, tool, arguments)
                assert one.desk.ledger.store.end() == end, tool
                for event in first["events"]:
                    after = event["position"] - 1
                    log = one.desk.awaited.log(event["run"], after=after, limit=1)
                    assert [record.actor async for record in log] == [AGENT], tool


async def said_again(one: Served, tool: str, arguments: dict[str, Any]) -> None:
    if tool in {"authority_revoke", "obligation_discharge"}:
        assert (await one.fails(tool, **arguments))["code"] == "not_open"
    else:
        again = await one.call(tool, **arguments)
        assert (again["repeated"], again["events"]) == (True, []), tool


async def test_each_tool_that_reads_answers_as_it_says(ledger: Ledger) -> None:
    prepare(ledger)
    before = ledger.contract(RUN).position
    async with served(ledger) as one:
        listed = {each.name: each for each in (await one.client.list_tools()).tools}
        for tool, arguments in READING.items():
            found = await one.call(tool, **arguments)
            check_fits(listed[tool].output_schema, found)
        assert (await one.call("contract", run=RUN))["position"] == before


async def test_what_is_missing_unknown_or_malformed_is_told_by_its_path(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        for each in tools().values():
            good = {"run": RUN, **{**READING, **SAMPLES}.get(each.name, {})}
            if each.name in {"runs", "questions", "ask"}:
                del good["run"]
            if each.name == "approval_request":
                good["key"] = "5" * 64
            for name in each.takes["required"]:
                told = {field: value for field, value in good.items() if field != name}
                error = await one.fails(each.name, **told)
                assert (error["code"], error["data"]["path"]) == ("invalid_input", name), each.name
            error = await one.fails(each.name, **good, tenant="other")
            assert (error["code"], error["data"]["path"]) == ("invalid_input", "tenant"), each.name
            assert not error["retryable"]
        for tool, field, value in (
            ("contract", "run", "$ledger"),
            ("run_open", "run", "$source:policy:refunds"),
            ("run_suspend", "run", ["r"]),
            ("contract", "limit", 0),
            ("contract", "at", "yesterday"),
            ("log", "after", -1),
            ("run_suspend", "reason", "  "),
            ("run_suspend", "call_id", "a b"),
            ("run_resume", "dry_run", "yes"),
            ("obligation_open", "due", "tomorrow"),
            ("message_record", "content", float("nan")),
            ("plan_commit", "steps", []),
        ):
            told = {"run": RUN, **SAMPLES.get(tool, {}), field: value}
            error = await one.fails(tool, **told)
            assert error["code"] == "invalid_input"
            assert error["data"]["path"].startswith(field), tool


async def test_what_is_no_unicode_text_is_refused(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        error = await one.fails("run_suspend", run=RUN, reason="\ud800")
        assert "a lone surrogate" in error["message"]


async def test_what_is_said_as_nothing_is_not_given(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        said = await one.call("run_suspend", run=RUN, reason="lunch", by=None, about=None, call_id=None)
        assert said["status"] == "suspended"
        assert (await one.call("contract", run=RUN, at=None))["suspended"]["reason"] == "lunch"


async def test_a_contract_is_told_as_words_for_a_model_now_and_earlier(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        now = await one.client.call_tool("contract", {"run": RUN})
        assert text_of(now).startswith(f"# Contract of run {RUN} at position ")
        assert "At most 100 EUR" in text_of(now)
        earlier = await one.call("contract", run=RUN, at=1)
        assert (earlier["position"], earlier["constraints"]) == (1, [])
        asked = await one.client.call_tool("brief", {"run": RUN})
        assert text_of(asked).startswith("# Takeover brief of run")


async def test_may_tells_what_is_against_an_act_and_records_nothing(ledger: Ledger) -> None:
    run = ledger.open_run("r", "Go")
    async with served(ledger) as one:
        found = await one.call("may", run="r", tool="pay", args={"order": 18})
        assert (found["allowed"], found["recorded"], found["declared"]) == (True, False, False)
        run.suspend(reason="lunch")
        asked = await one.client.call_tool("may", {"run": "r", "tool": "pay", "args": {"order": 18}})
        assert [each["code"] for each in asked.structured_content["objections"]] == ["run_is_held"]
        assert "It may not begin." in text_of(asked)
        assert ledger.contract("r").position == 2


async def test_may_knows_how_tools_are_declared_that_were_named_at_the_start(ledger: Ledger) -> None:
    prepare(ledger)
    mail = Tool("mail", lambda to: to, needs_approval=True)
    async with served(ledger, tools=[mail]) as one:
        found = await one.call("may", run=RUN, tool="mail", args={"to": "kim"})
        assert found["declared"]
        assert [each["code"] for each in found["objections"]] == ["approval_required"]
        error = await one.fails("may", run=RUN, tool="mial", args={})
        assert "did you mean mail" in error["message"]
        error = await one.fails("may", run=RUN, tool="mail", args={"too": "kim"})
        assert error["code"] == "invalid_input"


async def test_a_run_goes_on_through_the_gate(ledger: Ledger) -> None:
    runtime = Runtime(model="small-4")
    async with served(ledger, runtime=runtime) as one:
        await one.call("run_open", run="new", goal="Refund order 18")
        assert ledger.contract("new").runtime == runtime, "who starts the server says what runs"
        await one.call("run_suspend", run="new", reason="lunch")
        error = await one.fails("cursor_move", run="new", node="refund")
        assert (error["code"], "run_resume" in error["hint"]) == ("run_is_held", True)
        asked = await one.call("run_resume", run="new", dry_run=True)
        assert (asked["verdict"], asked["dry_run"], asked["position"]) == ("continue", True, None)
        assert ledger.contract("new").status == "suspended"
        gone_on = await one.client.call_tool("run_resume", {"run": "new"})
        assert gone_on.structured_content["verdict"] == "continue"
        assert "# Contract of run new" in text_of(gone_on)
        assert ledger.contract("new").incarnation == 2
        assert (await one.call("cursor_move", run="new", node="refund"))["status"] == "open"


async def test_a_run_that_somebody_else_goes_on_with_is_not_written_to(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        await one.call("cursor_move", run=RUN, node="a")
        ledger.run(RUN).suspend(reason="lunch")
        other = Actor("agent:other")
        ledger.run(RUN, actor=Actor("human:kim")).revoke("g", by="human:kim", reason="other")
        assert ledger.resume(RUN, actor=other, take_over=False, dry_run=True).reasons
        ledger.open_run("free", "Go", actor=AGENT)
        await one.call("cursor_move", run="free", node="a")
        ledger.run("free").suspend(reason="lunch")
        assert ledger.resume("free", actor=other)
        error = await one.fails("cursor_move", run="free", node="b")
        assert (error["code"], error["retryable"]) == ("superseded", False)
        report = {"key": "k", "tool": "look", "value": 1, "observed_at": "2026-01-31T09:00:00Z"}
        assert (await one.call("observation_record", run="free", **report))["events"], "a report is heard"
        assert (await one.call("run_resume", run="free"))["verdict"] == "reconcile", "it runs elsewhere"


async def test_a_refusal_leaves_the_verdict_and_its_reasons(ledger: Ledger) -> None:
    prepare(ledger)
    async with served(ledger) as one:
        await one.call("run_suspend", run=RUN, reason="lunch")
        ledger.source("policy:refunds").withdraw("limit", reason="replaced", by="human:kim")
        found = await one.call("run_resume", run=RUN)
        assert found["verdict"] == "restart"
        assert found["reasons"][0]["kind"] == "constraint_withdrawn", found["reasons"]
        assert ledger.contract(RUN).status == "held"
