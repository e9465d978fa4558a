"""Clients that speak at once, are cancelled, go away, or have nothing to do with each other."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client

from ledger import Ledger, open_ledger
from ledger.adapters.mcp.desk import Desk
from ledger.adapters.mcp.server import build_server
from ledger.application.verifying import verify
from ledger.stores.memory import MemoryStore
from tests.adapters.mcp.served import AGENT, Served, served
from tests.aio.conftest import Held, edge_on, until

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@MODES
async def test_what_two_clients_say_at_once_is_all_recorded(ledger: Ledger, mode: str) -> None:
    ledger.open_run("r", "Go", actor=AGENT)
    desk = Desk(ledger, AGENT)
    server = build_server(desk)

    async def say(name: str) -> None:
        async with Client(server, mode=mode) as client, anyio.create_task_group() as group:
            for number in range(10):
                told = {"run": "r", "id": f"{name}-{number}", "text": "So it is"}
                group.start_soon(client.call_tool, "assumption_make", told)

    async with anyio.create_task_group() as group:
        group.start_soon(say, "a")
        group.start_soon(say, "b")
    contract = await desk.awaited.contract("r")
    assert contract.position == 21
    assert {one.id for one in contract.assumptions} == {f"{name}-{n}" for name in "ab" for n in range(10)}
    await desk.close()


@MODES
async def test_a_call_that_is_cancelled_is_recorded_wholly_or_not(mode: str) -> None:
    held = Held(MemoryStore())
    ledger = Ledger(edge_on(held))
    ledger.open_run("r", "Go", actor=AGENT)
    async with served(ledger, mode=mode) as one:
        scope = anyio.CancelScope()

        async def call() -> None:
            with scope:
                # It is one append to two runs.
                await one.call("run_open_child", run="r", as_run="child", goal="Look it up")

        async with anyio.create_task_group() as group:
            with held.held():
                group.start_soon(call)
                await until(held.begun.is_set)
                scope.cancel()
        assert scope.cancelled_caught
        await one.call("cursor_move", run="r", node="a")
        contract = await one.desk.awaited.contract("r")
        names = [record.name async for record in one.desk.awaited.log("r")]
        child = [record.name async for record in one.desk.awaited.log("child")]
        assert (names, child) == (["run.opened", "obligation.opened", "cursor.moved"], ["run.opened"])
        assert contract.obligations[0].id == "child"
        assert verify(ledger, "r").standing.value == "sound"


async def test_a_call_that_is_cancelled_before_its_turn_says_nothing() -> None:
    held = Held(MemoryStore())
    ledger = Ledger(edge_on(held))
    ledger.open_run("r", "Go", actor=AGENT)
    async with served(ledger) as one:
        async with anyio.create_task_group() as group:
            with held.held():
                group.start_soon(_move, one, "a")
                await until(held.begun.is_set)
                with anyio.CancelScope() as scope:
                    group.start_soon(_cancelled, one, scope)
                    await until(lambda: _waits(one))
                    scope.cancel()
                    await until(lambda: not _waits(one))
        nodes = [record.event async for record in one.desk.awaited.log("r", after=1)]
        assert [getattr(event, "node", None) for event in nodes] == ["a"]


async def _move(one: Served, node: str) -> None:
    await one.call("cursor_move", run="r", node=node)


async def _cancelled(one: Served, scope: anyio.CancelScope) -> None:
    with anyio.CancelScope() as mine:

        async def follow() -> None:
            await until(lambda: scope.cancel_called)
            mine.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(follow)
            await one.call("cursor_move", run="r", node="never")


def _waits(one: Served) -> bool:
    turns = one.desk.awaited._runs["r"]
    return bool(turns._waiting)


async def test_a_client_that_disappears_takes_nobody_with_it(ledger: Ledger) -> None:
    ledger.open_run("r", "Go", actor=AGENT)
    desk = Desk(ledger, AGENT)
    server = build_server(desk)

    async def fall_over() -> None:
        async with Client(server, mode="legacy") as client:
            await client.call_tool("cursor_move", {"run": "r", "node": "a"})
            raise RuntimeError("the client fell over")

    with pytest.raises(ExceptionGroup):
        await fall_over()
    async with Client(server, mode="legacy") as client:
        result = await client.call_tool("cursor_move", {"run": "r", "node": "b"})
        assert result.structured_content["position"] == 3
    await desk.close()


async def test_one_tenant_sees_nothing_of_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def of(tenant: str) -> Ledger:
        return open_ledger(path, tenant=tenant)

    of("acme").open_run("secret", "Buy them", actor=AGENT)
    async with served(of("other")) as one:
        assert (await one.call("runs"))["runs"] == []
        for tool in ("contract", "brief", "log", "verify"):
            assert (await one.fails(tool, run="secret"))["code"] == "run_not_found", tool
        assert (await one.fails("goal_revise", run="secret", text="x", reason="y", by="human:kim"))[
            "code"
        ] == ("run_not_found")
        error = await one.fails("ask", question="writers", parameters={"run": "secret"})
        assert error["code"] == "run_not_found"
        assert [each.uri for each in (await one.client.list_resources()).resources] == [
            "ledger://runs",
            "ledger://questions",
        ]
        said = await one.call("run_open", run="secret", goal="Something else")
        assert not said["repeated"]
    with of("acme") as ledger:
        assert ledger.contract("secret").goal.text == "Buy them"
