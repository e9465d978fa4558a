"""Over HTTP: who is let in, and a real server that several clients speak to."""

from __future__ import annotations

import socket
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

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.listening import Place, app_of, place_of
from ledger.adapters.mcp.tokens import Bearer, bearers_in
from ledger.errors import InvalidInput
from tests.adapters.cli.command import PROGRAM, environment
from tests.adapters.cli.conftest import Call, call
from tests.conftest import ROOT
from tests.test_readme import blocks

__all__ = ["call"]

TOKEN = "a-token-of-some-length"
OTHER = "a-token-of-somebody-else"


class Listening(NamedTuple):
    """A server that listens, and its ledger."""

    url: str
    path: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    path = tmp_path_factory.mktemp("http") / "ledger.db"
    tokens = path.with_name("tokens")
    tokens.write_text(f"# who may\n{TOKEN}\n\n{OTHER}  agent:other  s-9\n", "utf-8")
    words = ("mcp", "--ledger", str(path), "--create", "--actor", "agent:refunds")
    command = [
        str(PROGRAM),
        *words,
        "--http",
        "127.0.0.1:0",
        "--token-file",
        str(tokens),
        "--name",
        "ledger.example",
    ]
    with subprocess.Popen(
        command, env=environment(), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
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
        assert TOKEN not in said + rest
        assert OTHER not in said + rest


@asynccontextmanager
async def client_of(server: Listening, mode: str, token: str = TOKEN) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
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
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_who_brings_a_token_speaks_as_the_actor_it_stands_for(server: Listening, mode: str) -> None:
    async def talk() -> None:
        async with client_of(server, mode) as one, client_of(server, mode, OTHER) as other:
            for client, name in ((one, "mine"), (other, "theirs")):
                opened = await client.call_tool("run_open", {"run": f"{name}-{mode}", "goal": "Go"})
                assert not opened.is_error, opened.structured_content

    anyio.run(talk)
    with open_ledger(server.path) as ledger:
        (mine,), (theirs,) = ledger.log(f"mine-{mode}"), ledger.log(f"theirs-{mode}")
        assert mine.actor.id == "agent:refunds"
        assert theirs.actor == Actor("agent:other", session="s-9")


@pytest.mark.slow
def test_a_session_of_the_protocol_is_open_to_none_but_the_token_it_was_begun_with(server: Listening) -> None:
    accepts = {"Accept": "application/json, text/event-stream"}
    begun = httpx2.post(server.url, json=HELLO, headers=accepts | {"Authorization": f"Bearer {TOKEN}"})
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for token, status in ((TOKEN, 200), (OTHER, 404)):
        headers = accepts | session | {"Authorization": f"Bearer {token}"}
        assert httpx2.post(server.url, json=ping, headers=headers).status_code == status


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


@pytest.mark.slow
def test_the_page_shows_how_a_program_speaks_to_it(
    server: Listening, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_TOKEN", TOKEN)
    shown: dict[str, Any] = {}
    over_http, _ = blocks((ROOT / "docs/how-to/mcp.md").read_text("utf-8"), "python")
    exec(compile(over_http.replace("http://127.0.0.1:8765/mcp", server.url), "program.py", "exec"), shown)
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
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://ledger.example.evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://ledger.example"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://localhost:3000"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "ledger.example"}, 200),
        ({"Authorization": f"Bearer {OTHER}"}, 200),
        ({"Authorization": f"Bearer {TOKEN} {OTHER}"}, 401),
        ({"Authorization": f"bearer {TOKEN}"}, 200),
        ({"Authorization": f"Bearer{TOKEN}"}, 401),
    ],
)
def test_who_brings_no_token_or_comes_from_elsewhere_is_not_let_in(
    server: Listening, headers: dict[str, str], status: int
) -> None:
    accepts = {"Accept": "application/json, text/event-stream"}
    answer = httpx2.post(server.url, json=HELLO, headers=accepts | headers)
    assert answer.status_code == status
    if status == 401:
        brought = "Authorization" in headers
        assert answer.json()["code"] == ("wrong_token" if brought else "no_token")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert ("invalid_token" in answer.headers["WWW-Authenticate"]) == brought
        assert TOKEN not in answer.text


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("brought", "code"),
    [([], "no_token"), ([(b"authorization", b"Bearer not-the-token-of-anybody")], "wrong_token")],
)
async def test_who_is_sent_away_is_told_in_the_log_without_the_token(
    ledger: Ledger, brought: list[tuple[bytes, bytes]], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(ledger, Actor("agent:refunds", session="s-1"))
    door = app_of(desk, Place("127.0.0.1", 0, (Bearer(TOKEN, desk.actor),)))
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing of it is read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": brought, "client": ("192.0.2.7", 4711)}
    await door(scope, receive, send)
    await desk.close()
    assert sent[0]["status"] == 401
    assert caplog.messages == [f"401 {code}: a request from 192.0.2.7 was not let in"]


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
    assert (place.host, place.port, place.bearers) == (host, port, ())


@pytest.mark.parametrize(
    "given",
    [
        "0.0.0.0:8765",
        "[::]:8765",
        "ledger.example:8765",
        "192.168.1.7:8765",
        "127.0.0.1",
        "127.0.0.1:x",
        "127.0.0.1:99999",
    ],
)
def test_it_refuses_what_others_could_reach_without_a_token(given: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        place_of(given)
    assert refused.value.path == "--http"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "has no token"),
        ("# nobody\n", "has no token"),
        ("short\n", "at least 16 characters"),
        (f"{TOKEN}\n{TOKEN} agent:other\n", "twice"),
        (f"# a\n{TOKEN} refunds\n", "line 2: KIND:NAME"),
        (f"{TOKEN} agent:a s-1 more\n", "line 1"),
        (f"agent:refunds {TOKEN}\n", "line 1: KIND:NAME"),
        ("a-token-with-ä-in-it\n", "ASCII"),
    ],
)
def test_a_file_that_holds_no_tokens_is_refused_and_none_is_shown(
    tmp_path: Path, lines: str, words: str
) -> None:
    file = tmp_path / "tokens"
    file.write_text(lines, "utf-8")
    with pytest.raises(InvalidInput, match=words) as refused:
        bearers_in(file)
    assert refused.value.path == "--token-file"
    assert TOKEN not in str(refused.value)


def test_with_a_token_it_listens_where_it_is_told() -> None:
    place = place_of("0.0.0.0:8765", bearers=[Bearer(TOKEN)], names=["ledger.example"])
    assert (place.host, place.names) == ("0.0.0.0", ("ledger.example",))


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
        ((*agent, "--http", "127.0.0.1:0", "--token-in", "SHORT"), 64, "at least 16 characters"),
        ((*agent, "--name", "ledger.example"), 64, "go with --http"),
        ((*agent, "--token-file", "tokens"), 64, "go with --http"),
        ((*agent, "--http", "0", "--token-file", "tokens", "--token-in", "TOKEN"), 64, "either"),
        ((*agent, "--http", "0", "--token-file", "tokens"), 3, "tokens: No such file"),
        (("--actor", "customer:17"), 64, "--actor"),
        (agent, 3, "there is no such ledger"),
        ((*agent, "--http", "192.0.2.1:0", "--token-in", "TOKEN", "--create"), 3, ""),
    ):
        monkeypatch.setenv("TOKEN", TOKEN)
        monkeypatch.setenv("SHORT", TOKEN[:15])
        answer = call("mcp", *arguments, "--ledger", path)
        assert (answer.code, answer.out) == (code, ""), answer.err
        assert words in answer.err
        assert TOKEN not in answer.err


def test_where_the_place_is_taken_no_ledger_is_made(call: Call, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        answer = call(
            "mcp", "--actor", "agent:a", "--http", place, "--create", "--ledger", tmp_path / "ledger.db"
        )
    assert answer.code == 3, answer.err
    assert not list(tmp_path.iterdir())


def test_its_help_names_no_actor_that_is_taken_for_granted(call: Call) -> None:
    shown = " ".join(call("mcp", "--help").out.split())
    assert "there is no default" in shown
    assert "LOGIN@HOST" not in shown


def test_a_missing_sdk_is_told_with_the_extra_that_has_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    answer = call("mcp", "--actor", "agent:refunds", "--ledger", tmp_path / "ledger.db")
    assert answer.code == 64
    assert "pip install '.[mcp]'" in answer.err
    assert call("mcp", "--list").code == 0
