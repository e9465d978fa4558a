"""What tools return comes back from the record, and what is injected into them is no argument."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from ledger import Happened, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.testing import Clock
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    ONCE,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    on,
    saving,
)


def intended(saver: LedgerSaver, run: str = "t#1") -> list[Any]:
    return [one.event for one in saver.ledger.log(run) if one.name == "effect.intended"]


def test_artifacts_and_commands_come_back_from_the_record_as_they_were() -> None:
    done: list[str] = []

    @tool(response_format="content_and_artifact")
    def draw(what: str) -> tuple[str, dict[str, Any]]:
        """Draw."""
        done.append("draw")
        return "drawn", {"points": [1, 2]}

    @tool(response_format="content_and_artifact")
    def count(what: str) -> tuple[str, set[int]]:
        """Count."""
        done.append("count")
        return "counted", {1, 2}

    @tool
    def note(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note."""
        done.append("note")
        return Command(update={"messages": [ToolMessage("noted", tool_call_id=tool_call_id)]})

    @tool
    def mark(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Mark."""
        done.append("mark")
        return ToolMessage("marked", tool_call_id=tool_call_id, additional_kwargs={"colour": "red"})

    tools = (draw, note, count, mark)
    calls = [call(one.name, str(at), what="a") for at, one in enumerate(tools)]
    declared_ = dict.fromkeys((one.name for one in tools), "at_most_once")
    with saving() as saver:
        agent = agent_of(saver, [calls, "done"], tools, declared_)
        first = answers(agent.invoke(ask(), on("t")))
        before = next(one for one in agent.get_state_history(on("t")) if "tools" in one.next)
        again = answers(agent.invoke(None, before.config))
    assert sorted(done) == ["count", "draw", "mark", "note"]
    assert [(one.content, one.artifact, one.tool_call_id) for one in again] == [
        (one.content, one.artifact, one.tool_call_id) for one in first
    ]
    assert [one.additional_kwargs for one in again] == [one.additional_kwargs for one in first]
    assert (first[2].artifact, first[3].additional_kwargs) == ({1, 2}, {"colour": "red"})


def test_what_is_injected_is_no_argument_and_a_model_cannot_forge_it() -> None:
    seen: list[Any] = []

    @tool
    def pay(
        order: int,
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        token: Annotated[str, InjectedToolArg] = "mine",
    ) -> str:
        """Pay."""
        seen.append((len(state["messages"]), tool_call_id, token))
        return "paid"

    with saving() as saver:
        lines = [[call("pay", order=17, token="theirs", nonsense=1)], "done"]
        agent_of(saver, lines, [pay], ONCE).invoke(ask(), on("t"))
        (act,) = intended(saver)
        assert act.args == '{"order":17}'
    assert seen == [(2, "call-1", "mine")]


def test_a_tool_that_is_described_by_a_schema_takes_what_it_is_given() -> None:
    seen: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"order": {"type": "integer"}, "a-b": {}},
        "required": ["order"],
    }

    def pay(**given: Any) -> str:
        seen.append(given)
        return "paid"

    described = StructuredTool(name="pay", description="Pay.", args_schema=schema, func=pay)
    with saving() as saver:
        lines = [[call("pay", order=17, **{"a-b": 1})], "done"]
        agent_of(saver, lines, [described], ONCE).invoke(ask(), on("t"))
        assert intended(saver)[0].args == '{"a-b":1,"order":17}'
    assert seen == [{"order": 17, "a-b": 1}]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("ch_1", "ch_1"),
        ({"id": "ch_1"}, '{"id":"ch_1"}'),
        ({"content": "ch_1"}, "ch_1"),
        ({"content": [{"type": "text", "text": "ch_1"}]}, "ch_1"),
        (["ch_1", 2], '["ch_1",2]'),
        (17, "17"),
        ("ch " * 100_000, "ch ch"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_what_the_outside_says_that_an_act_came_to_is_told_whatever_its_shape(found: Any, told: str) -> None:
    bank, clock = Bank(), Clock()
    declared = {"pay": {"recovery": "queryable", "probe": lambda key, args: Happened(found)}}
    pay = call("pay", order=17, amount="10.00")
    with open_ledger(":memory:", clock=clock) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        bank.failing = SystemExit()
        with pytest.raises(SystemExit):
            agent_of(saver, [[pay], [pay], "done"], [bank.pay], declared).invoke(ask(), on("t"))
        clock.tick(3600)
        answer = agent_of(beside(saver), [[pay], [pay], "done"], [bank.pay], declared).invoke(None, on("t"))
        first, again = answers(answer)
        assert (first.status, again.status) == ("success", "error")
        assert told in first.text
        assert f"and came to: {told}" in again.text
        assert len(again.text) < 11_000
    assert bank.paid == [(17, "10.00")]
