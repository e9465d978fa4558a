"""Tool calls are acts in graphs of all kinds: tool nodes, subgraphs, what is sent, event loops."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls, ThreadIsHeld
from ledger.errors import OutcomeUnknown
from tests.adapters.langgraph.acting.agents import (
    ONCE,
    PAY,
    Bank,
    Script,
    agent_of,
    answers,
    ask,
    call,
    chain,
    names,
    on,
    paying,
    saving,
)


def intended(saver: LedgerSaver, run: str = "t#1") -> list[Any]:
    return [one.event for one in saver.ledger.log(run) if one.name == "effect.intended"]


def asking(*calls: Any) -> Any:
    """Make a node that asks for tools, as a model would."""

    def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=list(calls))]}

    return model


def test_the_calls_of_a_tool_node_run_at_once_and_each_once() -> None:
    bank = Bank()
    calls = [call("pay", str(at), order=at, amount="10.00") for at in range(6)]
    with saving() as saver:
        acts = LedgerToolCalls(saver, ONCE)
        graph = chain(saver, {"model": asking(*calls), "tools": acts.node([bank.pay])})
        graph.invoke(ask(), on("t"))
        before = next(one for one in graph.get_state_history(on("t")) if one.next == ("tools",))
        graph.invoke(None, before.config)
    assert sorted(order for order, _ in bank.paid) == list(range(6))


def test_subgraphs_and_what_is_sent_are_told_apart_by_path_and_message() -> None:
    bank = Bank()
    with saving() as saver:
        acts = LedgerToolCalls(saver, ONCE)
        inner: Any = StateGraph(MessagesState)
        inner.add_node(
            "model",
            lambda state: {
                "messages": [
                    AIMessage(
                        "", tool_calls=[call("pay", order=int(state["messages"][-1].content), amount="1")]
                    )
                ]
            },
        )
        inner.add_node("tools", acts.node([bank.pay]))
        inner.add_edge(START, "model").add_edge("model", "tools")
        outer: Any = StateGraph(MessagesState)
        outer.add_node("worker", inner.compile())
        outer.add_conditional_edges(
            START, lambda state: [Send("worker", {"messages": [HumanMessage(str(at))]}) for at in range(3)]
        )
        graph = outer.compile(checkpointer=saver)
        graph.invoke(ask(), on("t"))
        assert len(bank.paid) == 3
        steps = {act.step.partition("/")[0] for act in intended(saver)}
        assert steps == {"worker|tools"}
        assert len({act.step for act in intended(saver)}) == 3


def test_a_plain_tool_node_takes_the_wrappers_too() -> None:
    bank = Bank()
    with saving() as saver:
        acts = LedgerToolCalls(saver, ONCE)
        builder: Any = StateGraph(MessagesState)
        builder.add_node("model", asking(PAY))
        builder.add_node(
            "tools",
            ToolNode([bank.pay], wrap_tool_call=acts.wrap_tool_call, awrap_tool_call=acts.awrap_tool_call),
        )
        builder.add_edge(START, "model").add_edge("model", "tools")
        graph = builder.compile(checkpointer=saver)
        for _ in graph.stream(ask(), on("t"), stream_mode=["updates", "messages"]):
            pass
        assert len(intended(saver)) == 1
    assert len(bank.paid) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_agent_in_an_event_loop_acts_once(durability: Any) -> None:
    bank = Bank()
    calls = [call("pay", "1", order=17, amount="10.00"), call("later", "2", order=17, amount="10.00")]
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="later")
    with saving() as saver:
        model = Script(lines=[calls, calls, "done"])
        agent = agent_of(
            saver, [], [bank.pay, later], {"pay": "at_most_once", "later": "at_most_once"}, model=model
        )
        told = answers(await agent.ainvoke(ask(), on("t"), durability=durability))
        assert [one.status for one in told] == ["success", "success", "error", "error"]
        assert len(intended(saver)) == 2
        saver.faces.close()
    assert len(bank.paid) == 2


def test_a_tool_that_has_to_be_awaited_is_not_begun_without_an_event_loop() -> None:
    bank = Bank()
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="pay")
    with saving() as saver:
        with pytest.raises(NotImplementedError):
            agent_of(saver, [[PAY], "done"], [later], ONCE).invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]


@pytest.mark.parametrize("mode", ["debug", "checkpoints", "tasks"])
def test_what_a_graph_streams_holds_nothing_but_data(mode: Any) -> None:
    with paying([[PAY], "done"], ONCE) as (_saver, _bank, agent):
        streamed = list(agent.stream(ask(), on("t"), stream_mode=mode, durability="sync"))
        assert streamed
        assert "Entered(" not in repr(streamed)


@pytest.mark.anyio
async def test_in_an_event_loop_too_an_act_of_which_nobody_knows_stops_the_graph() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="pay")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [later], ONCE)
        with pytest.raises(OutcomeUnknown):
            await agent.ainvoke(ask(), on("t"))
        with pytest.raises(ThreadIsHeld, match="effect_unknown"):
            await agent.ainvoke(None, on("t"))
        agent = agent_of(
            saver, [[PAY], "done"], [later], {"pay": {"recovery": "queryable", "probe": bank.find}}
        )
        told = await agent.ainvoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["found 1"]
        saver.faces.close()
    assert len(bank.paid) == 1
