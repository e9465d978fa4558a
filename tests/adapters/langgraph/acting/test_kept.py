"""What tools return is kept for the call that asks, and what cannot be kept undoes no act."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.types import Command

from tests.adapters.langgraph.acting.agents import ONCE, agent_of, answers, ask, call, names, on, saving


class Receipt:
    """What no codec knows."""


def commanding(order: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Look."""
    return Command(update={"messages": [ToolMessage("seen", tool_call_id=tool_call_id)]})


def listing(order: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Look."""
    return [Command(update={"messages": [ToolMessage("seen", tool_call_id=tool_call_id)]})]


def telling(order: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Look."""
    return ToolMessage("seen", tool_call_id=tool_call_id, additional_kwargs={"colour": "red"})


@pytest.mark.parametrize("look", [commanding, listing, telling])
def test_what_was_looked_at_before_answers_the_call_that_asks(look: Any) -> None:
    acting = StructuredTool.from_function(look, name="look")
    lines = [[call("look", "a", order=1), call("look", "b", order=1)], [call("look", "c", order=1)], "done"]
    with saving() as saver:
        told = agent_of(saver, lines, [acting], {"look": "read_only"}).invoke(ask(), on("t"))
    assert [(one.tool_call_id, one.content) for one in answers(told)] == [
        ("a", "seen"),
        ("b", "seen"),
        ("c", "seen"),
    ]


@pytest.mark.parametrize("kind", ["artifact", "command"])
def test_an_act_whose_result_cannot_be_kept_was_done(kind: str, caplog: Any) -> None:
    done: list[int] = []

    @tool(response_format="content_and_artifact")
    def artifact(order: int) -> tuple[str, Receipt]:
        """Pay."""
        done.append(order)
        return "paid", Receipt()

    @tool
    def command(order: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Pay."""
        done.append(order)
        said = ToolMessage("paid", tool_call_id=tool_call_id, artifact=Receipt())
        return Command(update={"messages": [said]})

    lines = [[call(kind, "a", order=17)], [call(kind, "b", order=17)], "done"]
    with saving() as saver, caplog.at_level(logging.WARNING, "ledger"):
        told = agent_of(saver, lines, [artifact, command], {kind: "at_most_once"}).invoke(ask(), on("t"))
        first, again = answers(told)
        assert (first.status, str(first.content)[:4]) == ("success", "paid")
        assert "came to: paid" in str(again.content)
        assert "effect.succeeded" in names(saver.ledger)
    assert done == [17]
    assert any("is kept in words only" in one.message for one in caplog.records)


def test_a_tool_that_is_a_class_of_its_own_is_an_act_in_a_thread_too() -> None:
    got: list[int] = []

    async def later(order: int) -> str:
        """Pay."""
        raise AssertionError

    class Paying(StructuredTool):
        def _run(self, order: int, **more: Any) -> str:  # type: ignore[override]
            got.append(order)
            return "paid"

    paying = Paying.from_function(coroutine=later, name="pay", description="Pay.")
    lines = [[call("pay", "a", order=17)], [call("pay", "b", order=17)], "done"]
    with saving() as saver:
        told = agent_of(saver, lines, [paying], ONCE).invoke(ask(), on("t"))
        assert "possible_repeat" in str(answers(told)[1].content)
    assert got == [17]
