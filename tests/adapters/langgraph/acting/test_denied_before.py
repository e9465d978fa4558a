"""A no to what a run of the thread asked that has ended: it is recorded there, and the next one knows."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from ledger import Rule, Source
from ledger.adapters.langgraph import LedgerSaver, ledger_run
from ledger.errors import ApprovalDenied, ApprovalRequired, RunIsClosed
from tests.adapters.langgraph.acting.agents import (
    ASKS,
    HUMAN,
    KIM,
    NO,
    ONCE,
    YES,
    Bank,
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

LINES: list[Any] = [[call("pay", f"c{at}", order=17, amount="1")] for at in range(3)]


def close(saver: LedgerSaver) -> None:
    saver.ledger.run("t#1", actor=HUMAN).close("abandoned", reason="tidy up", by=KIM)


@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize("by_rule", [False, True])
def test_a_no_is_recorded_where_it_was_asked_and_counts_in_the_next_run(by_id: bool, by_rule: bool) -> None:
    bank = Bank()
    with saving() as saver:
        if by_rule:
            rule, source = Rule(tools=("pay",), needs_approval=True), Source("human", "kim")
            kim = saver.ledger.open_run("t#1", goal="Pay", thread="t", actor=HUMAN)
            kim.accept("ask", "Ask first", source=source, asserted_by=KIM, rule=rule)
        agent = agent_of(saver, [*LINES, "done"], [bank.pay], ONCE if by_rule else ASKS)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        close(saver)
        told = agent.invoke(Command(resume={asked.id: NO} if by_id else NO), on("t"))
        assert ["approval_denied" in one.text for one in answers(told)] == [True] * 3
        assert "not this one" in answers(told)[0].text
        assert names(saver.ledger)[-1] == "approval.answered"
        assert "approval.requested" not in names(saver.ledger, "t#2")
    assert not bank.paid


@pytest.mark.anyio
async def test_in_an_event_loop_a_no_counts_in_the_next_run_too() -> None:
    with paying([*LINES, "done"], ASKS) as (saver, bank, agent):
        await agent.ainvoke(ask(), on("t"))
        close(saver)
        told = await agent.ainvoke(Command(resume=NO), on("t"))
        assert ["approval_denied" in one.text for one in answers(told)] == [True] * 3
        saver.faces.close()
    assert not bank.paid


@pytest.mark.parametrize("first", ["deny", "close"])
def test_a_no_that_was_said_in_the_ledger_counts_in_the_next_run(first: str) -> None:
    with paying([LINES[0], "done", LINES[1], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        if first == "close":
            close(saver)
            with pytest.raises(RunIsClosed, match="the answer is recorded"):
                saver.ledger.deny(asked.value["approval"], by=KIM, actor=HUMAN)
        else:
            saver.ledger.deny(asked.value["approval"], by=KIM, actor=HUMAN)
            close(saver)
        (told,) = answers(agent.invoke(None, on("t")))
        assert "approval_denied" in told.text
        (again,) = agent.invoke(ask("I want it paid after all"), on("t"))["__interrupt__"]
        agent.invoke(Command(resume={again.id: YES}), on("t"))
    assert bank.paid == [(17, "1")]


def test_what_a_node_was_denied_in_an_earlier_run_it_does_not_do() -> None:
    bank = Bank()

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        run = ledger_run(config)
        kept: Any = {"recovery": "at_most_once", "needs_approval": run.id == "t#1"}
        for occurrence in (None, "second"):
            try:
                run.perform(
                    "pay", {"order": 1, "amount": "1"}, bank.pay, step="s", occurrence=occurrence, **kept
                )
            except (ApprovalDenied, ApprovalRequired) as error:
                said.append((run.id, occurrence, type(error)))
        return {}

    said: list[Any] = []
    with saving() as saver:
        graph = chain(saver, {"node": node})
        graph.invoke(ask(), on("t"))
        first = next(one for one in saver.ledger.contract("t#1").approvals)
        saver.ledger.deny(first.id, by=KIM, actor=HUMAN)
        close(saver)
        graph.invoke(ask(), on("t"))
    assert said == [
        ("t#1", None, ApprovalRequired),
        ("t#1", "second", ApprovalRequired),
        ("t#2", None, ApprovalDenied),
    ]
    assert bank.paid == [(1, "1")]


@pytest.mark.parametrize("needs", [ASKS, ONCE], ids=["it needs a person", "it needs none by now"])
def test_a_no_on_a_copy_is_one_to_its_own_call_and_to_nothing_of_the_original(needs: Any) -> None:
    bank = Bank()
    with saving() as saver:
        agent_of(saver, [*LINES, "done"], [bank.pay], ASKS).invoke(ask(), on("t"))
        saver.copy_thread("t", "u")
        copy = agent_of(saver, [*LINES, "done"], [bank.pay], needs)
        told = copy.invoke(Command(resume=NO), on("u"))
        assert ["approval_denied" in one.text for one in answers(told)] == [True] * 3
        assert not bank.paid
        assert [one.answered for one in saver.ledger.contract("t#1").approvals] == [None]
        agent_of(saver, ["done"], [bank.pay], ASKS).invoke(Command(resume=YES), on("t"))
    assert len(bank.paid) == 1


def test_a_no_after_a_yes_in_a_run_that_has_ended_is_one_to_the_call_here() -> None:
    bank = Bank()
    with saving() as saver:
        agent_of(saver, [*LINES, "done"], [bank.pay], ASKS).invoke(ask(), on("t"))
        (waits,) = saver.ledger.contract("t#1").approvals
        saver.ledger.approve(waits.id, by=KIM)
        close(saver)
        told = agent_of(saver, ["done"], [bank.pay], ONCE).invoke(Command(resume=NO), on("t"))
        assert "approval_denied" in answers(told)[0].text
        assert "NotOpen" not in repr(told)
    assert not bank.paid
