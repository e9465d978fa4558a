"""`refresh`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ledger import Source, Step, open_ledger
from ledger.gateway.tools import tool
from ledger.run.keys import check_key
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call, Module
from tests.adapters.cli.ledgers import AGENT, KIM

TOOLS = """
from ledger import tool

@tool(recovery="read_only", fresh_for=3600)
def stock(shelf: int):
    print("the shop is asked")
    return {"left": 3}

@tool(recovery="read_only", fresh_for=3600)
async def price(order: int):
    return "10.50"

@tool(recovery="read_only", fresh_for=3600)
def weather(place: str):
    raise ConnectionError("no route, though sk_live_abcdefghijklmnopqrstuvwx is right")
"""

OLD = datetime.now(UTC) - timedelta(days=2)


@pytest.fixture
def rested(tmp_path: Path) -> Path:
    """Return a ledger with a held run that rests on answers of three tools, of two days ago."""
    path = tmp_path / "rested.db"
    with open_ledger(path, clock=lambda: OLD) as ledger:
        read = tool(recovery="read_only", fresh_for=3600)
        run = ledger.open_run("refund-17", "Refund order 17", actor=AGENT)

        def stock(shelf: int) -> object:
            return {"left": 3}

        def price(order: int) -> object:
            return "10.00"

        def weather(place: str) -> object:
            return "fine"

        run.perform(read(stock), {"shelf": 4})
        run.perform(read(price), {"order": 17})
        run.perform(read(weather), {"place": "Ulm"})
        keys = [seen.key for seen in run.contract.observations]
        run.commit_plan([Step(name="pay", rests_on=tuple(f"observation:{key}" for key in keys))])
    with open_ledger(path, actor=AGENT) as ledger:
        assert not ledger.resume("refund-17", actor=KIM, idle_seconds=None)
    return path


def test_each_is_asked_anew_and_told_and_what_is_stale_still_decides_the_code(
    call: Call, module: Module, rested: Path
) -> None:
    answer = call("refresh", "refund-17", "--tools", module("shop", TOOLS), "--ledger", rested)
    assert answer.code == 2, "one could not be asked"
    title, *rows = [line.split() for line in answer.out.splitlines()]
    assert title == ["KEY", "TOOL", "IT", "SAYS", "NOW", "WHY"]
    assert [row[1:] for row in rows[:2]] == [
        ["stock", "as", "before", "fresh", "-"],
        ["price", "changed", "fresh", "-"],
    ]
    assert " ".join(rows[2][1:]) == (
        "weather not refreshed STALE ConnectionError: no route, though [redacted:stripe-key] is right"
    )
    assert answer.err == "the shop is asked\nof 3 looked at, 1 must still not be relied on\n"
    with open_ledger(rested) as ledger:
        assert [record.name for record in ledger.log("refund-17")].count("observation.recorded") == 5
        left = ledger.resume("refund-17", actor=KIM, dry_run=True, idle_seconds=None)
        assert [one.kind for one in left.reasons] == ["observation_stale"]


def test_all_that_is_rested_on_and_as_json(call: Call, module: Module, rested: Path) -> None:
    text = re.sub("raise ConnectionError.*", "return 'fine'", TOOLS)
    shop = module("shop", text)
    answer = call("refresh", "refund-17", "--tools", shop, "--ledger", rested, "--json")
    assert answer.code == 0
    document = answer.document
    assert (document["run"], document["stale"]) == ("refund-17", 0)
    assert [(one["tool"], one["found"], one["is_fresh"]) for one in document["looked_at"]] == [
        ("stock", "refreshed", True),
        ("price", "changed", True),
        ("weather", "refreshed", True),
    ]
    assert [one["position"] for one in document["looked_at"]] == [7, 8, 9]
    assert document["position"] == 9
    again = call("refresh", "refund-17", "--tools", shop, "--ledger", rested)
    assert (again.code, again.out) == (0, "")
    assert again.err == "nothing that run refund-17 rests on has to be looked at again\n"
    every = call("refresh", "refund-17", "--tools", shop, "--ledger", rested, "--all", "--json")
    assert [one["found"] for one in every.document["looked_at"]] == ["refreshed"] * 3


def test_without_a_module_nothing_is_asked(call: Call, rested: Path) -> None:
    answer = call("refresh", "refund-17", "--ledger", rested, "--json")
    assert answer.code == 2
    assert {one["because"] for one in answer.document["looked_at"]} == {
        f"no tool {name!r} is registered here with its function" for name in ("stock", "price", "weather")
    }


def test_a_source_is_told_by_its_reader_only(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "bound.db"
    with open_ledger(path, clock=lambda: OLD) as ledger:
        ledger.source("policy:refunds").publish("1", {"a": "Refund once"})
        run = ledger.open_run("refund-17", "Refund order 17")
        run.accept("a", "Refund once", source=Source("policy", "refunds"), asserted_by="human:kim")
        run.observe(check_key("policy:refunds"), 1, tool="source.policy", fresh_for=60, observed_at=OLD)
    answer = call("refresh", "refund-17", "--ledger", path, "--json")
    assert answer.code == 2
    (one,) = answer.document["looked_at"]
    assert (one["tool"], one["because"]) == ("source.policy", "no reader is registered for its kind")


def test_a_narrow_terminal_gets_entries(module: Module, rested: Path) -> None:
    answer = at_terminal("refresh", "refund-17", "--tools", module("shop", TOOLS), "--ledger", rested)
    assert answer.code == 2
    assert ": changed, fresh" in answer.out
    assert ": not refreshed, STALE" in answer.out


def test_a_run_that_has_ended_or_is_not_there_is_told(call: Call, rested: Path) -> None:
    with open_ledger(rested) as ledger:
        ledger.run("refund-17").close("cancelled", by="human:kim")
    assert call("refresh", "refund-17", "--ledger", rested).code == 4
    assert call("refresh", "nobody", "--ledger", rested).code == 3
