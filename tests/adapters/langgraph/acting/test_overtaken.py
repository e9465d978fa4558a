"""Graphs that others overtake, restart or join while they work: what they save, and who is told what."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import MessagesState

from ledger.adapters.langgraph import LedgerSaver, ThreadIsHeld, ledger_run
from ledger.errors import (
    EffectInFlight,
    PositionConflict,
    RunIsClosed,
    StateMoved,
    Superseded,
)
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    DONE,
    HUMAN,
    KIM,
    ONCE,
    PAY,
    Bank,
    agent_of,
    ask,
    beside,
    call,
    chain,
    on,
    saving,
)


def overtaking(saver: LedgerSaver, meanwhile: Any) -> Any:
    """Make a graph in whose first node something happens to its thread."""

    def node(state: MessagesState) -> dict[str, Any]:
        meanwhile()
        return {"messages": [HumanMessage("after that")]}

    return chain(saver, {"node": node})


def test_a_graph_that_was_overtaken_saves_nothing_more_whoever_looks_at_its_thread_meanwhile() -> None:
    with saving() as saver:

        def meanwhile() -> None:
            saver.ledger.resume("t#1", actor=AGENT)
            graph.get_state(on("t"))
            graph.update_state(on("t"), ask("edited"))

        graph = overtaking(saver, meanwhile)
        with pytest.raises(Superseded):
            graph.invoke(ask(), on("t"), durability="sync")
        texts = [one.text for one in graph.get_state(on("t")).values["messages"]]
    assert "after that" not in texts


def test_a_thread_that_goes_on_elsewhere_is_edited_here_all_the_same() -> None:
    with saving() as saver:
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        agent_of(beside(saver), DONE, []).invoke(ask(), on("t"))
        agent.update_state(on("t"), ask("edited"))
        assert agent.get_state(on("t")).values["messages"][-1].text == "edited"


def test_a_graph_whose_thread_was_restarted_meanwhile_leaves_nothing_in_the_successor() -> None:
    with saving() as saver:
        graph = overtaking(saver, lambda: saver.restart("t", reason="anew", by=KIM, actor=HUMAN))
        with pytest.raises(RunIsClosed):
            graph.invoke(ask(), on("t"), durability="sync")
        assert graph.get_state(on("t")).values == {}
        assert saver.ledger.contract("t#2").saved is None


def test_a_node_may_close_the_run_of_its_thread() -> None:
    with saving() as saver:
        graph = overtaking(saver, lambda: ledger_run().close("completed"))
        graph.invoke(ask(), on("t"), durability="sync")
        assert saver.ledger.contract("t#1").status == "closed"
        assert graph.get_state(on("t")).values["messages"][-1].text == "after that"


def test_of_two_who_begin_a_thread_at_once_one_goes_on_and_both_pay_once() -> None:
    bank, told = Bank(), list[Any]()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE)
        together = threading.Barrier(2)

        def begin() -> None:
            together.wait()
            try:
                told.append(agent.invoke(ask(), on("t"))["messages"][-1].content)
            except (PositionConflict, EffectInFlight) as error:
                told.append(type(error))

        threads = [threading.Thread(target=begin) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert "done" in told or set(told) <= {StateMoved, EffectInFlight}
        assert len(told) == 2
    assert len(bank.paid) <= 1


def test_who_speaks_while_a_tool_is_at_work_is_told_so_and_stops_nobody() -> None:
    bank, told = Bank(), list[Any]()
    begun, go_on = threading.Event(), threading.Event()

    def pay(order: int, amount: str) -> dict[str, Any]:
        """Pay, and take a while."""
        begun.set()
        assert go_on.wait(60)
        return bank.pay(order, amount)

    with saving() as saver:
        lines = [[PAY], [call("pay", "2", order=18, amount="1")], "done"]
        agent = agent_of(saver, lines, [pay], ONCE)
        first = threading.Thread(target=lambda: told.append(agent.invoke(ask(), on("t"))))
        first.start()
        assert begun.wait(60)
        for one in (agent, agent_of(beside(saver), lines, [pay], ONCE)):
            with pytest.raises(ThreadIsHeld, match="effect_executing") as held:
                one.invoke(ask("and?"), on("t"))
            assert held.value.position is None, "nothing is recorded"
        go_on.set()
        first.join()
        assert told[0]["messages"][-1].content == "done"
        assert saver.ledger.contract("t#1").status == "open"
    assert bank.paid == [(17, "10.00"), (18, "1")]
