"""Answers of a bounded size, and how to read on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger import Ledger
from ledger.adapters.mcp import cutting
from ledger.adapters.mcp.cutting import cut, shortened, some
from tests.adapters.mcp.served import Served, served

pytestmark = pytest.mark.anyio

LONG = "x" * 30_000


def test_some_items_are_taken_as_there_is_room_for_and_at_least_one() -> None:
    assert some([1, 2, 3], 2) == ([1, 2], 1)
    assert some([1, 2, 3], 2, offset=2) == ([3], 0)
    assert some([1, 2, 3], 2, offset=9) == ([], 0)
    assert some([LONG, LONG, LONG], 9) == ([LONG, LONG], 1)
    whole = "y" * (cutting.MOST_BYTES * 2)
    assert some([whole, 1], 9) == ([whole], 1)


def test_what_is_cut_says_what_is_missing() -> None:
    assert cut({"a": [1, 2], "b": "text", "c": []}, 2) == {"a": [1, 2], "b": "text", "c": []}
    assert cut({"a": [1, 2, 3], "b": "text"}, 2) == {"a": [1, 2], "b": "text", "left_out": {"a": 1}}
    assert shortened("short", "Read on.") == "short"
    words = shortened("z" * (cutting.MOST_CHARACTERS + 7), "Read on.")
    assert words.endswith("[Cut here: 7 characters are missing. Read on.]\n")


async def test_a_contract_is_read_on_list_by_list(ledger: Ledger) -> None:
    run = ledger.open_run("r", "Go")
    for number in range(7):
        run.assume(f"a-{number}", "So it is")
        run.promise(f"p-{number}", LONG, owed_to="customer:17")
    async with served(ledger) as one:
        for tool in ("contract", "brief"):
            first = await one.call(tool, run="r", limit=3)
            assert [item["id"] for item in first["assumptions"]] == ["a-0", "a-1", "a-2"]
            assert first["left_out"]["assumptions"] == 4
            assert first["left_out"]["obligations"] == 5, "two fill the room"
            assert await _all_of(one, tool, "assumptions", 3) == [f"a-{n}" for n in range(7)]
            assert await _all_of(one, tool, "obligations", 100) == [f"p-{n}" for n in range(7)]
            error = await one.fails(tool, run="r", section="assumption")
            assert "did you mean assumptions" in error["message"]
            assert (await one.fails(tool, run="r", offset=3))["data"]["path"] == "offset"
        result = await one.client.call_tool("contract", {"run": "r"})
        (content,) = result.content
        assert content.type == "text"
        assert "[Cut here:" in content.text
        assert len(content.text) < cutting.MOST_CHARACTERS + 200


async def _all_of(one: Served, tool: str, section: str, limit: int) -> list[str]:
    found: list[str] = []
    left = 1
    while left:
        part = await one.call(tool, run="r", section=section, offset=len(found), limit=limit)
        assert part["position"] == 15
        found += [item["id"] for item in part[section]]
        left = part.get("left_out", {}).get(section, 0)
    return found


async def test_logs_and_runs_are_read_page_by_page(ledger: Ledger) -> None:
    run = ledger.open_run("r", "Go")
    for number in range(6):
        run.assume(f"a-{number}", LONG if number == 3 else "So it is")
    for number in range(5):
        ledger.open_run(f"s-{number}", "Go")
        ledger.open_run(f"long-{number}", LONG)
    async with served(ledger) as one:
        assert await _pages(one, "log", "events", "position", {"run": "r", "limit": 3}) == [3, 3, 1]
        assert await _pages(one, "runs", "runs", "run", {"prefix": "s-", "limit": 2}) == [2, 2, 1]
        assert await _pages(one, "runs", "runs", "run", {"prefix": "long-"}) == [2, 2, 1]


async def _pages(one: Served, tool: str, of: str, by: str, arguments: dict[str, Any]) -> list[int]:
    sizes: list[int] = []
    seen: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page = await one.call(tool, **arguments, **after)
        sizes.append(len(page[of]))
        seen += [item[by] for item in page[of]]
        if page["next"] is None:
            assert seen == sorted(set(seen))
            return sizes
        after = {"after": page["next"]}


async def test_rows_of_an_answer_are_read_on_as_of_the_same_place(ledger: Ledger) -> None:
    run = ledger.open_run("r", "Go")
    for number in range(5):
        run.promise(f"p-{number}", "Call them", owed_to="customer:17")
    async with served(ledger) as one:
        asked: dict[str, Any] = {"question": "obligations", "limit": 2}
        first = await one.call("ask", **asked)
        assert (len(first["rows"]), first["left_out"]) == (2, {"rows": 3})
        run.promise("p-9", "Call them", owed_to="customer:17")
        rest = await one.call("ask", **asked | {"limit": 9}, offset=2, as_of=first["as_of"])
        assert len(rest["rows"]) == 3
        assert "left_out" not in rest
        told = [
            row["obligation"] if "obligation" in row else row["id"] for row in first["rows"] + rest["rows"]
        ]
        assert sorted(told) == [f"p-{n}" for n in range(5)]


async def test_a_question_is_told_with_what_it_cannot_tell(ledger: Ledger) -> None:
    async with served(ledger) as one:
        listed = (await one.call("questions"))["questions"]
        assert len(listed) > 20
        assert all(question["cannot"] and question["about"] for question in listed)
        assert not any("example" in question for question in listed), "it is a command line"
        assert len(json.dumps(listed)) < cutting.MOST_BYTES
        (writers,) = (await one.call("questions", question="writers"))["questions"]
        assert {column["name"] for column in writers["columns"]} >= {"actor", "session"}
        error = await one.fails("ask", question="wirters")
        assert error["code"] == "invalid_input"
        error = await one.fails("ask", question="writers", parameters={"run": "r", "since": "yesterday"})
        assert error["code"] == "invalid_input"
        error = await one.fails("ask", question="writers", parameters={"catch_up": 1})
        assert error["data"]["path"] == "parameters.catch_up"
