"""Tools that are no acts, that ask by themselves, and that act within one another."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, interrupt

from ledger import current_effect, open_ledger
from ledger import tool as declared
from ledger.adapters.langgraph import LedgerSaver, ledger_run
from ledger.errors import OutcomeUnknown
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    ONCE,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    names,
    on,
    saving,
)


def test_a_tool_that_is_declared_to_be_no_act_is_called_as_ever() -> None:
    bank = Bank()
    noted: list[str] = []

    def note(what: str) -> str:
        """Note something."""
        noted.append(what)
        return "noted"

    calls = [call("note", "1", what="a"), call("note", "2", what="a")]
    with saving() as saver:
        told = agent_of(saver, [calls, "done"], [note, bank.pay], {"note": None}).invoke(ask(), on("t"))
        assert [one.content for one in answers(told)] == ["noted", "noted"]
        assert names(saver.ledger) == ["run.opened"]


def test_a_tool_that_interrupts_is_in_doubt_unless_it_says_that_it_asks_before_it_acts() -> None:
    paid: list[Any] = []

    def pay(order: int) -> str:
        """Pay."""
        said = interrupt("really?")
        paid.append((order, said))
        return "paid"

    lines = [[call("pay", order=17)], "done"]
    with saving() as saver:
        agent = agent_of(saver, lines, [pay], ONCE)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        agent = agent_of(
            saver, lines, [pay], {"pay": {"recovery": "at_most_once", "definite_errors": GraphInterrupt}}
        )
        (asked,) = agent.invoke(ask(), on("other"))["__interrupt__"]
        assert asked.value == "really?"
        told = agent.invoke(Command(resume={asked.id: "yes"}), on("other"))
        assert [one.content for one in answers(told)] == ["paid"]
        looks = agent_of(saver, lines, [pay], {"pay": "read_only"})
        (asked,) = looks.invoke(ask(), on("third"))["__interrupt__"]
        looks.invoke(Command(resume="yes"), on("third"))
    assert paid == [(17, "yes")] * 2


def test_an_act_inside_of_a_tool_is_the_tool_that_it_names() -> None:
    bank = Bank()

    @declared(recovery="at_most_once")
    def pay(order: int, amount: str) -> str:
        return str(bank.pay(order, amount)["id"])

    def settle(order: int) -> str:
        """Settle an order."""
        return str(ledger_run().perform("pay", {"order": order, "amount": "1"}, step="inside"))

    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent = agent_of(saver, [[call("settle", order=17)], "done"], [settle], {"settle": "at_most_once"})
        assert [one.content for one in answers(agent.invoke(ask(), on("t")))] == ["ch_1"]
    assert bank.paid == [(17, "1")]


def test_what_a_tool_is_told_by_the_ledger_is_sent_again_under_its_key_outside_of_the_graph() -> None:
    sent: list[tuple[str, int]] = []

    @declared(recovery="idempotent", dedupes_for=86_400)
    def pay(order: int, *, effect: Any) -> str:
        """Pay."""
        sent.append((effect.key, order))
        if len(sent) == 1:
            raise ConnectionResetError("gone")
        return "paid"

    def of_the_graph(order: int) -> str:
        """Pay."""
        return str(pay(order=order, effect=current_effect()))

    acting = StructuredTool.from_function(of_the_graph, name="pay")
    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        with pytest.raises(OutcomeUnknown):
            agent_of(saver, [[call("pay", order=17)], "done"], [acting]).invoke(ask(), on("t"))
        told = agent_of(beside(saver), [[call("pay", order=17)], "done"], [acting]).invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["paid"]
    assert len(sent) == 2
    assert len(set(sent)) == 1
