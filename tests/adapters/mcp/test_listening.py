"""Over HTTP: who is let in, and a real server that several clients speak to."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from ledger import open_ledger
from ledger.adapters.mcp.listening import place_of
from ledger.errors import InvalidInput
from tests.adapters.cli.command import PROGRAM, environment
from tests.adapters.cli.conftest import Call, call
from tests.conftest import ROOT
from tests.test_readme import blocks

__all__ = ["call"]

TOKEN = "a-token-of-some-length"


class Listening(NamedTuple):
    """A server that listens, and its ledger."""

    url: str
    path: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    path = tmp_path_factory.mktemp("http") / "ledger.db"
    words = ("mcp", "--ledger", str(path), "--create", "--actor", "agent:refunds")
    command = [
        str(PROGRAM),
        *words,
        "--http",
        "127.0.0.1:0",
        "--token-in",
        "THE_TOKEN",
        "--name",
        "ledger.example",
    ]
    with subprocess.Popen(
        command, env=environment(THE_TOKEN=TOKEN), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        while "listening on " not in said:
            said = process.stderr.readline()
            assert said, "it ended"
        yield Listening(said.rpartition(" ")[2].strip(), path)
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(60) == 0
        assert "Traceback" not in rest
        assert TOKEN not in rest


@asynccontextmanager
async def client_of(server: Listening, mode: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.slow
def test_several_clients_speak_to_one_server(server: Listening) -> None:
    async def talk(name: str, mode: str) -> None:
        async with client_of(server, mode) as client:
            result = await client.call_tool("run_open", {"run": name, "goal": "Go"})
            assert not result.is_error, result.structured_content
            for number in range(3):
                said = {"run": name, "id": f"a-{number}", "text": "So it is"}
                assert not (await client.call_tool("assumption_make", said)).is_error
            found = await client.read_resource(f"ledger://runs/{name}/contract")
            assert len(found.contents) == 2

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(talk, "one", "auto")
            group.start_soon(talk, "two", "legacy")

    anyio.run(all_at_once)
    with open_ledger(server.path) as ledger:
        for run in ("one", "two"):
            assert ledger.contract(run).position == 4
            assert {record.actor.id for record in ledger.log(run)} == {"agent:refunds"}


@pytest.mark.slow
def test_the_page_shows_how_a_program_speaks_to_it(
    server: Listening, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_TOKEN", TOKEN)
    shown: dict[str, Any] = {}
    over_http, _ = blocks((ROOT / "docs/how-to/mcp.md").read_text("utf-8"), "python")
    exec(compile(over_http, "program.py", "exec"), shown)
    anyio.run(shown["main"], server.url)
    assert capsys.readouterr().out.startswith("[")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}, 421),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "ledger.example"}, 200),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
        ({"Authorization": f"Bearer{TOKEN}"}, 401),
    ],
)
def test_who_brings_no_token_or_comes_from_elsewhere_is_not_let_in(
    server: Listening, headers: dict[str, str], status: int
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accepts = {"Accept": "application/json, text/event-stream"}
    assert httpx2.post(server.url, json=hello, headers=accepts | headers).status_code == status


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ("8765", "127.0.0.1", 8765),
        (":0", "127.0.0.1", 0),
        ("localhost:1", "localhost", 1),
        ("[::1]:2", "::1", 2),
    ],
)
def test_it_listens_on_this_machine_unless_told(given: str, host: str, port: int) -> None:
    place = place_of(given)
    assert (place.host, place.port, place.token) == (host, port, None)


@pytest.mark.parametrize(
    ("given", "token"),
    [
        ("0.0.0.0:8765", None),
        ("[::]:8765", None),
        ("ledger.example:8765", None),
        ("192.168.1.7:8765", None),
        ("127.0.0.1:8765", "short"),
        ("127.0.0.1", None),
        ("127.0.0.1:x", None),
        ("127.0.0.1:99999", None),
    ],
)
def test_it_refuses_what_others_could_reach_without_a_token(given: str, token: str | None) -> None:
    with pytest.raises(InvalidInput) as refused:
        place_of(given, token=token)
    assert refused.value.path in {"--http", "--token-in"}


def test_with_a_token_it_listens_where_it_is_told() -> None:
    assert place_of("0.0.0.0:8765", token=TOKEN, names=["ledger.example"]).names == ("ledger.example",)


def test_the_command_refuses_what_it_cannot_serve(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("URL", "TENANT", "ACTOR"):
        monkeypatch.delenv(f"INTENT_LEDGER_{name}", raising=False)
    monkeypatch.delenv("NO_TOKEN", raising=False)
    path = tmp_path / "ledger.db"
    agent = ("--actor", "agent:refunds")
    for arguments, code, words in (
        ((), 64, "--actor agent:NAME"),
        ((*agent, "--http", "0.0.0.0:0"), 64, "--token-in"),
        ((*agent, "--http", "127.0.0.1:0", "--token-in", "NO_TOKEN"), 64, "NO_TOKEN is not set"),
        ((*agent, "--name", "ledger.example"), 64, "go with --http"),
        (("--actor", "customer:17"), 64, "--actor"),
        (agent, 3, "there is no such ledger"),
        ((*agent, "--http", "192.0.2.1:0", "--token-in", "TOKEN", "--create"), 3, ""),
    ):
        monkeypatch.setenv("TOKEN", TOKEN)
        answer = call("mcp", *arguments, "--ledger", path)
        assert (answer.code, answer.out) == (code, ""), answer.err
        assert words in answer.err
        assert TOKEN not in answer.err


def test_a_missing_sdk_is_told_with_the_extra_that_has_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = call("mcp", "--actor", "agent:refunds", "--ledger", tmp_path / "ledger.db")
    assert answer.code == 64
    assert "pip install '.[mcp]'" in answer.err
    assert call("mcp", "--list").code == 0
