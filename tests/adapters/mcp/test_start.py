"""How the server is started: what the command line says of who speaks, and with what."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Actor, Runtime, open_ledger
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.listening import Place
from tests.adapters.cli.conftest import Call, Module, call, module
from tests.adapters.mcp.served import served

__all__ = ["call", "module"]

SHOP = """
from ledger import Tool

print("a greeting that is no line of the protocol")
mail = Tool("mail", lambda to: to, needs_approval=True)
"""


@pytest.fixture
def desks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Desk]:
    """Return the desks that would have been served."""
    for name in ("URL", "TENANT", "ACTOR"):
        monkeypatch.delenv(f"INTENT_LEDGER_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    found: list[Desk] = []

    async def keep(desk: Desk) -> None:
        found.append(desk)
        await desk.awaited.open_run("r", "Go", actor=desk.actor, runtime=desk.runtime)

    monkeypatch.setattr("ledger.adapters.mcp.server.serve_stdio", keep)
    return found


def test_the_command_line_says_who_speaks_and_with_what(
    call: Call, module: Module, desks: list[Desk]
) -> None:
    module("mcp_shop", SHOP)
    words = ("--session", "s-1", "--runtime", "model=small-4", "--tools", "mcp_shop", "--tenant", "acme")
    answer = call("mcp", "--actor", "agent:refunds", *words, "--create")
    assert (answer.code, answer.out) == (0, "")
    assert "a greeting" in answer.err
    (desk,) = desks
    assert desk.actor == Actor("agent:refunds", session="s-1")
    assert desk.runtime == Runtime(model="small-4")
    assert desk.tools == {"mail"}
    with open_ledger("ledger.db", tenant="acme") as ledger:
        assert ledger.contract("r").runtime == desk.runtime


def test_settings_of_the_environment_do_as_well(
    call: Call, desks: list[Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENT_LEDGER_ACTOR", "agent:refunds")
    monkeypatch.setenv("INTENT_LEDGER_URL", "other.db")
    assert call("mcp", "--create").code == 0
    assert call("mcp", "--create", "--actor", "agent:other").code == 4, "the run is another agent's"
    assert [desk.actor.id for desk in desks] == ["agent:refunds", "agent:other"]


def test_a_session_that_nobody_names_is_drawn_for_each_start_and_told(call: Call, desks: list[Desk]) -> None:
    told = [call("mcp", "--actor", "agent:refunds", "--create").err for _ in range(2)]
    sessions = [desk.actor.session or "" for desk in desks]
    assert len({*sessions, ""}) == 3
    assert all(f"session {one}, drawn" in said for one, said in zip(sessions, told, strict=True))


def test_a_token_speaks_for_the_actor_or_for_whom_its_line_names(
    call: Call, desks: list[Desk], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoken: list[list[Actor]] = []

    async def keep(desk: Desk, place: Place, listening: object, heard: object) -> None:
        spoken.append([one.actor or desk.actor for one in place.bearers])

    monkeypatch.setattr("ledger.adapters.mcp.listening.serve_http", keep)
    monkeypatch.setenv("THE_TOKEN", "t" * 16)
    asked = ("mcp", "--create", "--http", "127.0.0.1:0")
    answer = call(*asked, "--actor", "agent:a", "--session", "s", "--token-in", "THE_TOKEN")
    assert answer.code == 0, answer.err
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{'a' * 16} agent:b\n{'b' * 16} agent:b\n{'c' * 16} agent:c s-3\n", "utf-8")
    answer = call(*asked, "--token-file", str(tokens))
    assert answer.code == 0, answer.err
    (own,), (one, same, other) = spoken
    assert own == Actor("agent:a", session="s")
    assert one == same, "two tokens of one actor are one program"
    assert (one.id, other) == ("agent:b", Actor("agent:c", session="s-3"))
    assert f"session {one.session} of agent:b, drawn" in answer.err
    tokens.write_text("c" * 16, "utf-8")
    answer = call(*asked, "--token-file", str(tokens))
    assert answer.code == 64
    assert "--actor agent:NAME" in answer.err


@pytest.mark.anyio
async def test_a_ledger_on_postgresql_is_served_alike(fresh_database: str) -> None:
    async with served(open_ledger(fresh_database), url=fresh_database) as one:
        await one.call("run_open", run="r", goal="Go")
        first = await one.call("cursor_move", run="r", node="a", call_id="c-1")
        assert (await one.call("cursor_move", run="r", node="a", call_id="c-1"))["events"] == first["events"]
        assert (await one.call("ask", question="writers", parameters={"run": "r"}))["rows"][0]["actor"] == (
            "agent:refunds"
        )
        assert (await one.call("verify", run="r"))["standing"] == "sound"
        one.desk.ledger.close()
        error = await one.fails("contract", run="r")
        assert error["code"] == "store_unavailable"
        assert "127.0.0.1" not in str(error)
