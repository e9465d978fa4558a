"""Tools that are given state of their graph: what of it belongs to the act is part of the act."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore

from ledger import Actor, Rule, Source
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls
from ledger.errors import InvalidInput
from ledger.values import Operator, Predicate
from tests.adapters.langgraph.acting.agents import KIM, Bank, agent_of, ask, call, on, saving

ASKS: dict[str, Any] = {"recovery": "at_most_once", "needs_approval": True}


class Shop(MessagesState):
    total: int


def shop(saver: LedgerSaver, declared: Any, paid: list[int], **more: Any) -> Any:
    """Make a graph whose tool pays what its state says."""

    def checkout(state: Annotated[Any, InjectedState]) -> str:
        """Check out."""
        paid.append(state["total"])
        return f"paid {state['total']}"

    calls = LedgerToolCalls(saver, {"checkout": declared}, **more)
    builder: Any = StateGraph(Shop)
    builder.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=[call("checkout")])]})
    builder.add_node("tools", calls.node([checkout]))
    builder.add_edge(START, "model").add_edge("model", "tools")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("state", [["total"], lambda state: {"total": state["total"]}])
def test_a_person_approves_what_the_state_says_and_nothing_else(state: Any) -> None:
    paid = list[int]()
    with saving() as saver:
        graph = shop(saver, {**ASKS, "state": state}, paid)
        (asked,) = graph.invoke({**ask(), "total": 10}, on("t"))["__interrupt__"]
        assert asked.value["args"] == {"total": 10}
        saver.ledger.approve(asked.value["approval"], by=KIM, actor=Actor("human:kim"))
        graph.update_state(on("t"), {"total": 1000}, as_node="model")
        (asked,) = graph.invoke(None, on("t"))["__interrupt__"]
        assert (asked.value["args"], paid) == ({"total": 1000}, [])
        graph.update_state(on("t"), {"total": 10}, as_node="model")
        graph.invoke(None, on("t"))
        assert paid == [10]


def test_acts_on_other_states_are_other_acts_and_rules_see_the_state() -> None:
    paid = list[int]()
    with saving() as saver:
        saver.threads.open("t").run.accept(
            "small",
            "Only small carts",
            source=Source("human", "kim"),
            asserted_by=KIM,
            rule=Rule(
                tools=("checkout",),
                require=(Predicate(operator=Operator.AT_MOST, path="/total", value="50"),),
            ),
        )
        graph = shop(saver, {"recovery": "at_most_once", "state": ["total"]}, paid)
        for total in (10, 20, 20, 100):
            told = graph.invoke({**ask(), "total": total}, on("t"))
        assert "constraint_violated" in told["messages"][-1].content
    assert paid == [10, 20]


def runtime(order: int, runtime: ToolRuntime) -> str:
    """Act."""
    return "done"


def store(order: int, kept: Annotated[BaseStore, InjectedStore()]) -> str:
    """Act."""
    return "done"


def state(order: int, cart: Annotated[dict[str, Any] | None, InjectedState] = None) -> str:
    """Act."""
    return "done"


def a_field(order: int, total: Annotated[int, InjectedState("total")]) -> str:
    """Act."""
    return "done"


class Subclass(BaseTool):
    name: str = "act"
    description: str = "Act."

    def _run(self, order: int, cart: Annotated[Any, InjectedState]) -> str:
        return "done"


TOOLS = pytest.mark.parametrize(
    "tool",
    [
        *(StructuredTool.from_function(one, name="act") for one in (runtime, store, state, a_field)),
        Subclass(),
    ],
)


@TOOLS
def test_what_is_given_state_and_needs_approval_says_what_of_it_is_approved(tool: Any) -> None:
    with saving() as saver:
        with pytest.raises(InvalidInput, match="of which a person who approves") as error:
            LedgerToolCalls(saver, {"act": ASKS}).node([tool])
        assert error.value.path == "tools.act.state"
        LedgerToolCalls(saver, {"act": {**ASKS, "state": ()}}).node([tool])
        with pytest.raises(InvalidInput, match="of which a person who approves"):
            agent_of(saver, [[call("act", order=17)], "done"], [tool], {"act": ASKS}).invoke(ask(), on("t"))


@TOOLS
def test_what_is_given_state_and_needs_none_is_warned_of_once(tool: Any, caplog: Any) -> None:
    with saving() as saver, caplog.at_level(logging.WARNING, "ledger"):
        for declared, warned in (("at_most_once", 1), ({"recovery": "at_most_once", "state": ()}, 0)):
            caplog.clear()
            calls = LedgerToolCalls(saver, {"act": declared})
            for _ in range(2):
                calls.node([tool])
            assert sum('declare "state"' in one.message for one in caplog.records) == warned


def test_where_a_rule_wants_approval_of_what_nobody_said_anything_of_the_graph_stops() -> None:
    paid = list[int]()
    with saving() as saver:
        saver.threads.open("t").run.accept(
            "ask",
            "Ask first",
            source=Source("human", "kim"),
            asserted_by=KIM,
            rule=Rule(tools=("checkout",), needs_approval=True),
        )
        with pytest.raises(InvalidInput, match="of which a person who approves"):
            shop(saver, "at_most_once", paid).invoke({**ask(), "total": 10}, on("t"))
    assert paid == []


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("total", "tools.pay.state"),
        ([1], "tools.pay.state"),
        (["order"], "tools.pay.state"),
        (lambda _: 3, "tools.pay.state"),
        (lambda _: {"order": 18}, "tools.pay.state"),
        (lambda _: {"cart": object()}, "tools.pay.state.cart"),
    ],
)
def test_what_cannot_be_said_of_a_state_is_an_error(said: Any, path: str) -> None:
    bank = Bank()
    declared = {"pay": {"recovery": "at_most_once", "state": said}}
    lines = [[call("pay", order=17, amount="1")], "done"]
    with saving() as saver, pytest.raises(InvalidInput) as error:
        agent_of(saver, lines, [bank.pay], declared).invoke(ask(), on("t"))
    assert error.value.path == path
    assert not bank.paid
