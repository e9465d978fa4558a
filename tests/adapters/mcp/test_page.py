"""The page on MCP: its program runs as it stands, its client starts the server, its lines are taken."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from ledger import Actor, open_ledger
from ledger.adapters.cli import main
from ledger.adapters.mcp.lines import MOST_BYTES
from ledger.adapters.mcp.listening import place_of
from ledger.adapters.mcp.resources import TEMPLATES
from ledger.adapters.mcp.saying import LOOKED_BACK
from ledger.adapters.mcp.tokens import SHORTEST_TOKEN, Bearer, bearers_in
from ledger.adapters.mcp.tools import tools
from tests.adapters.cli.command import PROGRAM
from tests.conftest import ROOT
from tests.test_readme import blocks

PAGE = (ROOT / "docs/how-to/mcp.md").read_text("utf-8")
LINES = re.findall(r"^    intent-ledger (.*)$", PAGE, re.MULTILINE)
(SNIPPET,) = blocks(PAGE, "json")
_, PROGRAM_SHOWN = blocks(PAGE, "python")
TOKENS, PRINTED = blocks(PAGE, "text")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_program_prints_what_it_says(capfd: pytest.CaptureFixture[str]) -> None:
    exec(compile(PROGRAM_SHOWN, "program.py", "exec"), {"__name__": "__main__"})
    assert capfd.readouterr().out == PRINTED
    with open_ledger("runs.db") as ledger:
        first = next(iter(ledger.log("refund-17")))
        assert first.actor == Actor("agent:refunds", session="s-1")


@pytest.mark.slow
def test_a_client_that_is_configured_so_is_served_by_a_process(tmp_path: Path) -> None:
    configured = json.loads(SNIPPET)["mcpServers"]["ledger"]
    assert configured["command"] == "intent-ledger"
    arguments = [one.replace("/srv/agent", str(tmp_path)) for one in configured["args"]]
    server = StdioServerParameters(command=str(PROGRAM), args=arguments)

    async def talk() -> None:
        async with Client(server, mode="legacy") as client:
            assert {one.name for one in (await client.list_tools()).tools} == set(tools())
            result = await client.call_tool("run_open", {"run": "r", "goal": "Go ä"})
            assert not result.is_error
            found = await client.read_resource("ledger://runs/r/contract")
            assert len(found.contents) == 2

    anyio.run(talk)
    with open_ledger(tmp_path / "runs.db") as ledger:
        assert ledger.contract("r").goal.text == "Go ä"


@pytest.mark.parametrize("line", [line for line in LINES if "--list" in line])
def test_its_lists_are_shown(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(line)) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in tools())
    assert "approval.answer" in shown


def test_it_says_what_a_server_takes() -> None:
    listening = [shlex.split(line) for line in LINES if "--http" in line]
    assert len(listening) == 4
    for words in listening:
        bearers = [Bearer("t" * 16)] if {"--token-in", "--token-file"} & {*words} else []
        assert place_of(words[words.index("--http") + 1], bearers=bearers).port == 8765
    assert f"at least {SHORTEST_TOKEN} characters" in PAGE
    assert f"{MOST_BYTES / 1024**2:.0f} MiB" in PAGE
    assert f"{LOOKED_BACK:,} events" in PAGE


def test_its_file_of_tokens_is_one(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKENS, "utf-8")
    one, other = bearers_in(file)
    assert (one.actor, other.actor) == (Actor("agent:refunds", session="s-1"), Actor("agent:mails"))


def test_every_tool_and_address_that_it_names_is_there() -> None:
    named = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", PAGE)) - {
        "asserted_by",
        "as_of",
        "call_id",
        "dry_run",
        "left_out",
        "no_token",
        "still_running",
        "wrong_token",
    }
    assert named <= set(tools()), named
    reading = {name for name, tool in tools().items() if tool.reads}
    assert reading <= set(re.findall(r"`(\w+)`", PAGE))
    for template in TEMPLATES.values():
        assert template.partition("{run}/")[2].partition("{")[0] in PAGE
