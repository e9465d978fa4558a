"""A call that got no answer, made again under the name that the client gave it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.mcp.saying import LOOKED_BACK
from ledger.errors import StoreUnavailable
from ledger.stores.base import Append
from ledger.stores.memory import MemoryStore
from tests.adapters.mcp.served import AGENT, served
from tests.aio.conftest import Held, edge_on

pytestmark = pytest.mark.anyio


@pytest.fixture
def ledger() -> Ledger:
    ledger = open_ledger(":memory:")
    ledger.open_run("r", "Go", actor=AGENT)
    return ledger


async def test_it_is_told_what_was_recorded_the_first_time_whatever_followed(ledger: Ledger) -> None:
    async with served(ledger) as one:
        first = await one.call("cursor_move", run="r", node="a", call_id="c-1")
        ledger.run("r").move("b")
        again = await one.call("cursor_move", run="r", node="a", call_id="c-1")
        assert (again["repeated"], again["position"]) == (True, first["position"])
        assert again["events"] == first["events"]
        assert ledger.contract("r").position == 3
        said = await one.call("cursor_move", run="r", node="a", call_id="c-2")
        assert (said["repeated"], said["position"]) == (False, 4)


async def test_an_answer_that_was_lost_is_found_again() -> None:
    store = MemoryStore()
    held = Held(store)
    ledger = Ledger(edge_on(held))
    ledger.open_run("r", "Go")

    def lost(append: Append) -> Exception:
        store.append(append)
        return StoreUnavailable(
            "the line to /var/lib/secret.db was cut", reason="cut", path="/var/lib/secret.db"
        )

    async with served(ledger) as one:
        held.fail = lost
        error = await one.fails("cursor_move", run="r", node="a", call_id="c-1")
        assert (error["code"], error["retryable"]) == ("store_unavailable", True)
        assert "secret" not in str(error)
        held.fail = lambda append: None
        again = await one.call("cursor_move", run="r", node="a", call_id="c-1")
        assert (again["repeated"], again["position"]) == (True, 2)
        assert ledger.contract("r").position == 2


async def test_a_name_stands_for_one_call_of_one_actor(ledger: Ledger) -> None:
    async with served(ledger) as one:
        await one.call("cursor_move", run="r", node="a", call_id="c-1")
        for tool, arguments in (
            ("cursor_move", {"node": "b"}),
            ("assumption_make", {"id": "x", "text": "It is so"}),
        ):
            error = await one.fails(tool, run="r", **arguments, call_id="c-1")
            assert (error["code"], error["data"]["path"]) == ("invalid_input", "call_id")
        assert (await one.call("cursor_move", run="r", node="b", call_id="c"))["events"], (
            "no beginning counts"
        )
    assert ledger.tenant == "default"


async def test_the_same_name_of_another_actor_is_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).open_run("r", "Go", actor=AGENT)
    for actor, position in ((AGENT, 2), (Actor("agent:other"), 4)):
        async with served(open_ledger(path), actor) as one:
            for name, call_id in (("first", {"call_id": "c-1"}), ("second", {})):
                words = {"id": f"{name}-{position}", "text": "So it is"}
                said = await one.call("assumption_make", run="r", **words, **call_id)
                assert said["position"] == position + (name == "second")


async def test_two_servers_that_are_asked_at_once_record_it_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).open_run("r", "Go", actor=AGENT)
    found: list[bool] = []

    async def say(name: str) -> None:
        async with served(open_ledger(path)) as one:
            for number in range(5):
                said = await one.call("cursor_move", run="r", node=f"n-{number}", call_id=f"c-{number}")
                found.append(said["repeated"])
                await one.call("cursor_move", run="r", node=f"{name}-{number}")

    async with anyio.create_task_group() as group:
        group.start_soon(say, "a")
        group.start_soon(say, "b")
    with open_ledger(path) as ledger:
        causes = [record.causation for record in ledger.log("r") if record.causation]
        nodes = [getattr(record.event, "node", "") for record in ledger.log("r")]
    assert len(causes) == len(set(causes)) == 5
    assert sorted(found) == [False] * 5 + [True] * 5
    assert sum(node.startswith("n-") for node in nodes) == 5


async def test_a_call_is_looked_for_among_the_newest_events_only(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LOOKED_BACK == 1000
    monkeypatch.setattr("ledger.adapters.mcp.saying.LOOKED_BACK", 2)
    async with served(ledger) as one:
        await one.call("cursor_move", run="r", node="a", call_id="c-1")
        await one.call("cursor_move", run="r", node="b")
        assert (await one.call("cursor_move", run="r", node="a", call_id="c-1"))["repeated"]
        await one.call("cursor_move", run="r", node="c")
        assert not (await one.call("cursor_move", run="r", node="a", call_id="c-1"))["repeated"]
