"""What a person denied is told to the model where it asks again, and nobody is asked again for its sake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.types import Command

from ledger import Actor, Rule, Source, open_ledger
from ledger.adapters.langgraph import LedgerSaver, ThreadIsHeld
from ledger.errors import InvalidInput
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    ASKS,
    KIM,
    NO,
    ONCE,
    YES,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    call,
    chain,
    graph_of_calls,
    names,
    on,
    paying,
    saving,
)

LINES = [[call("pay", f"c{at}", order=17, amount="1")] for at in range(3)]


def test_who_said_no_is_not_asked_again_in_the_same_turn() -> None:
    with paying([*LINES, "done"], ASKS) as (saver, bank, agent):
        agent.invoke(ask(), on("t"))
        told = agent.invoke(Command(resume=NO), on("t"))
        assert ["approval_denied" in str(one.content) for one in answers(told)] == [True] * 3
        assert "__interrupt__" not in told
        assert names(saver.ledger).count("approval.requested") == 1
    assert not bank.paid


@pytest.mark.anyio
async def test_in_an_event_loop_who_said_no_is_not_asked_again_either() -> None:
    with saving() as saver:
        agent = agent_of(saver, [*LINES, "done"], [Bank().pay], ASKS)
        await agent.ainvoke(ask(), on("t"))
        told = await agent.ainvoke(Command(resume=NO), on("t"))
        assert len(answers(told)) == 3
        assert names(saver.ledger).count("approval.requested") == 1
        saver.faces.close()


def test_another_act_is_asked_about_and_so_is_the_same_once_a_person_speaks() -> None:
    bank = Bank()
    lines: list[Any] = [LINES[0], [call("pay", "o", order=18, amount="1")], "well", LINES[1], "done"]
    with saving() as saver:
        agent = agent_of(saver, lines, [bank.pay], ASKS)
        agent.invoke(ask(), on("t"))
        (other,) = agent.invoke(Command(resume=NO), on("t"))["__interrupt__"]
        assert other.value["args"]["order"] == 18
        agent.invoke(Command(resume=NO), on("t"))
        (again,) = agent.invoke(ask("I want it paid after all"), on("t"))["__interrupt__"]
        assert again.value["args"]["order"] == 17
        agent.invoke(Command(resume={again.id: {"approve": True, "by": KIM}}), on("t"))
    assert bank.paid == [(17, "1")]


def test_a_denial_stands_until_what_was_asked_under_is_changed() -> None:
    with paying([*LINES[:2], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        kim = saver.ledger.run("t#1", actor=Actor("human:kim"))
        kim.deny(asked.value["approval"], by=KIM)
        kim.revise_goal("Pay order 17", reason="it is right", by=KIM)
        (again,) = agent.invoke(None, on("t"))["__interrupt__"]
        assert again.value["approval"] != asked.value["approval"]
    assert not bank.paid


# --- what binds no more -------------------------------------------------------------------------------


def revise(saver: LedgerSaver) -> None:
    saver.ledger.run("t#1", actor=Actor(KIM)).revise_goal("Pay nobody", reason="changed my mind", by=KIM)


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("by_id", [False, True])
def test_a_no_to_what_is_void_is_heard_where_it_is_said(elsewhere: bool, by_id: bool) -> None:
    with paying([*LINES, "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        other = agent_of(beside(saver), [*LINES, "done"], [bank.pay], ASKS) if elsewhere else agent
        told = other.invoke(Command(resume={asked.id: NO} if by_id else NO), on("t"))
        assert ["approval_denied" in str(one.content) for one in answers(told)] == [True] * 3
        assert "not this one" in answers(told)[0].text
        assert "__interrupt__" not in told
        (approval,) = saver.ledger.contract("t#1").approvals
        assert approval.answered is not None
        assert (approval.answered.answer, approval.answered.by) == ("denied", KIM)
        assert approval.id != asked.value["approval"], "what was asked anew"
    assert not bank.paid


@pytest.mark.parametrize("answer", [NO, YES])
def test_who_runs_the_graph_that_asks_anew_may_answer_it(answer: dict[str, Any]) -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        console = agent_of(beside(saver, actor=Actor(KIM)), [LINES[0], "done"], [bank.pay], ASKS)
        told = console.invoke(Command(resume={asked.id: answer}), on("t"))
        (approval,) = saver.ledger.contract("t#1").approvals
        assert (approval.requested_by, approval.requesters) == ("service:langgraph", ())
        if answer is YES:
            (again,) = told["__interrupt__"]
            told = console.invoke(Command(resume={again.id: YES}), on("t"))
        (said,) = answers(told)
        assert said.status == ("success" if answer is YES else "error")
    assert bank.paid == ([(17, "1")] if answer is YES else [])


@pytest.mark.anyio
async def test_a_no_to_what_is_void_is_heard_in_an_event_loop_too() -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        await agent.ainvoke(ask(), on("t"))
        revise(saver)
        told = await agent.ainvoke(Command(resume=NO), on("t"))
        assert ["approval_denied" in str(one.content) for one in answers(told)] == [True]
        saver.faces.close()
    assert not bank.paid


def test_a_yes_to_what_is_void_is_no_yes_to_what_is_asked_anew() -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        (again,) = agent.invoke(Command(resume={asked.id: YES}), on("t"))["__interrupt__"]
        assert again.value["approval"] != asked.value["approval"]
        assert again.value["goal"] == "Pay nobody"
        assert not bank.paid
        agent.invoke(Command(resume={again.id: YES}), on("t"))
    assert bank.paid == [(17, "1")]


def test_a_yes_that_was_given_before_something_changed_is_asked_for_anew() -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        saver.ledger.approve(asked.value["approval"], by=KIM, actor=Actor(KIM))
        revise(saver)
        (again,) = agent.invoke(None, on("t"))["__interrupt__"]
        assert again.value["approval"] != asked.value["approval"]
    assert not bank.paid


def test_who_speaks_of_something_else_while_what_waits_is_void_is_answered_and_it_is_asked_anew() -> None:
    bank = Bank()
    lines: list[Any] = [LINES[0], "nothing new", LINES[1], "done"]
    with saving() as saver:
        agent = agent_of(saver, lines, [bank.pay], ASKS)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        told = agent.invoke(ask("what else is new?"), on("t"))
        assert told["messages"][-1].text == "nothing new"
        (waits,) = saver.ledger.contract("t#1").approvals
        assert (waits.answered, waits.id != asked.value["approval"]) == (None, True)
        (again,) = agent.invoke(ask("pay it"), on("t"))["__interrupt__"]
        assert again.value["approval"] == waits.id
        assert "run.resume_refused" not in names(saver.ledger)
    assert not bank.paid


def test_what_ran_out_is_asked_anew_for_as_long_as_before() -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    bank = Bank()
    declared = {"pay": {"recovery": "at_most_once", "needs_approval": True, "approval_seconds": 60}}
    with open_ledger(":memory:", clock=lambda: clock[0]) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT), [LINES[0], "done"], [bank.pay], declared)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        clock[0] += timedelta(seconds=61)
        (again,) = agent.invoke(Command(resume={asked.id: YES}), on("t"))["__interrupt__"]
        assert datetime.fromisoformat(again.value["expires_at"]) == clock[0] + timedelta(seconds=60)
        agent.invoke(Command(resume={again.id: YES}), on("t"))
    assert bank.paid == [(17, "1")]


def test_a_no_is_heard_although_a_rule_forbids_the_act_by_now() -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        saver.ledger.run("t#1", actor=Actor(KIM)).accept(
            "none", "Pay nothing", source=Source("human", "kim"), asserted_by=KIM, rule=Rule(deny=("pay",))
        )
        (told,) = answers(agent.invoke(Command(resume={asked.id: NO}), on("t")))
        assert (told.status, "constraint_violated" in told.text) == ("error", True)
        (approval,) = saver.ledger.contract("t#1").approvals
        assert approval.answered is not None
        assert approval.answered.answer == "denied"
    assert not bank.paid


def test_a_no_is_heard_although_the_rule_that_asked_is_withdrawn_by_now() -> None:
    bank = Bank()
    with saving() as saver:
        run = saver.threads.open("t").run
        rule, source = Rule(tools=("pay",), needs_approval=True), Source("human", "kim")
        run.accept("ask-kim", "Ask before you pay", source=source, asserted_by=KIM, rule=rule)
        agent = agent_of(saver, [LINES[0], "done"], [bank.pay], ONCE)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        saver.ledger.run("t#1", actor=Actor(KIM)).withdraw("ask-kim", reason="no need to", by=KIM)
        (told,) = answers(agent.invoke(Command(resume={asked.id: NO}), on("t")))
        assert (told.status, "approval_denied" in told.text) == ("error", True)
    assert not bank.paid


@pytest.mark.parametrize(
    ("told", "path"),
    [
        (False, "resume"),
        ({"approve": False}, "resume.by"),
        ({"approve": False, "by": "kim"}, "resume.by"),
        (NO | {"note": "too much"}, "resume.note"),
        (NO | {"reason": 5}, "resume.reason"),
    ],
)
@pytest.mark.parametrize("by_id", [False, True])
def test_what_is_no_answer_is_told_although_nobody_need_be_asked_by_now(
    told: Any, path: str, by_id: bool
) -> None:
    bank = Bank()
    with saving() as saver:
        run = saver.threads.open("t").run
        rule, source = Rule(tools=("pay",), needs_approval=True), Source("human", "kim")
        run.accept("ask-kim", "Ask before you pay", source=source, asserted_by=KIM, rule=rule)
        agent = agent_of(saver, [LINES[0], "done"], [bank.pay], ONCE)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        saver.ledger.run("t#1", actor=Actor(KIM)).withdraw("ask-kim", reason="no need to", by=KIM)
        for _ in range(2):
            with pytest.raises(InvalidInput) as error:
                agent.invoke(Command(resume={asked.id: told} if by_id else told), on("t"))
            assert error.value.path == path
        (answer,) = answers(agent.invoke(Command(resume={asked.id: NO} if by_id else NO), on("t")))
        assert "approval_denied" in answer.text
    assert not bank.paid


def test_a_no_to_what_an_earlier_message_asked_for_and_is_void_is_heard_too() -> None:
    with paying([*LINES, "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        (again,) = agent.invoke(ask("is it paid?"), on("t"))["__interrupt__"]
        assert again.id == asked.id
        revise(saver)
        told = agent.invoke(Command(resume={again.id: NO}), on("t"))
        assert ["approval_denied" in one.text for one in answers(told)][:1] == [True]
    assert not bank.paid


def test_what_is_asked_anew_is_worded_by_the_rules_that_hold_then() -> None:
    def rule(text: str, **more: Any) -> None:
        run = saver.ledger.run("t#1", actor=Actor(KIM))
        asks = Rule(tools=("pay",), needs_approval=True)
        run.accept("q", text, source=Source("human", "kim"), asserted_by=KIM, rule=asks, **more)

    with saving() as saver:
        saver.threads.open("t")
        rule("Kim looks at it")
        agent = agent_of(saver, [LINES[0], "done"], [Bank().pay], ONCE)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        rule("Two people look at it", change="reworded")
        (again,) = agent.invoke(Command(resume={asked.id: YES}), on("t"))["__interrupt__"]
        assert "Kim looks at it" in asked.value["question"]
        assert "Kim looks at it" not in again.value["question"]
        assert "Two people look at it" in again.value["question"]


def test_a_no_to_one_of_several_calls_of_a_node_that_are_void_is_to_that_one() -> None:
    bank = Bank()
    calls = [call("pay", f"c{at}", order=at, amount="1") for at in (17, 18)]
    with saving() as saver:
        graph = graph_of_calls(saver, calls, [bank.pay], ASKS)
        (first,) = graph.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        (other,) = graph.invoke(Command(resume={first.id: NO}), on("t"))["__interrupt__"]
        assert other.value["args"]["order"] != first.value["args"]["order"]
        told = graph.invoke(Command(resume={other.id: YES}), on("t"))
        assert sorted(one.status for one in answers(told)) == ["error", "success"]
    assert bank.paid == [(other.value["args"]["order"], "1")]


def test_a_no_is_heard_although_the_tool_is_another_by_now() -> None:
    paid: list[int] = []

    def pay(order: int, amount: str, method: str = "card") -> str:
        """Pay an order."""
        paid.append(order)
        return "paid"

    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        other = agent_of(beside(saver), [LINES[0], "done"], [pay], ASKS)
        (told,) = answers(other.invoke(Command(resume={asked.id: NO}), on("t")))
        assert "approval_denied" in told.text
    assert (bank.paid, paid) == ([], [])


def test_a_no_to_what_is_void_in_a_graph_inside_of_another_is_heard_too() -> None:
    bank = Bank()
    with saving() as saver:
        inner = graph_of_calls(saver, LINES[0], [bank.pay], ASKS)
        graph = chain(saver, {"inner": inner})
        (asked,) = graph.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        (told,) = answers(graph.invoke(Command(resume={asked.id: NO}), on("t")))
        assert "approval_denied" in told.text
    assert not bank.paid


def test_what_else_holds_a_thread_holds_it_and_nobody_is_asked_anew() -> None:
    with paying([LINES[0], "done"], ASKS) as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        kim = saver.ledger.run("t#1", actor=Actor(KIM))
        kim.grant("till-friday", principal=AGENT.id, scopes=["pay"], granted_by=KIM)
        kim.revoke("till-friday", reason="looking into it", by=KIM)
        revise(saver)
        with pytest.raises(ThreadIsHeld) as held:
            agent.invoke(Command(resume={asked.id: NO}), on("t"))
        assert {"approval_void", "authority_revoked"} <= {one["kind"] for one in held.value.reasons}
        assert names(saver.ledger).count("approval.requested") == 1
        kim.grant("monday", principal=AGENT.id, scopes=["pay"], granted_by=KIM)
        (told,) = answers(agent.invoke(Command(resume={asked.id: NO}), on("t")))
        assert "approval_denied" in told.text
    assert not bank.paid


def test_where_the_gate_is_off_a_no_to_what_is_void_is_heard_too() -> None:
    with paying([LINES[0], "done"], ASKS, gate="off") as (saver, bank, agent):
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        revise(saver)
        (told,) = answers(agent.invoke(Command(resume={asked.id: NO}), on("t")))
        assert told.status == "error"
        assert [one.answered is not None for one in saver.ledger.contract("t#1").approvals] == [True]
    assert not bank.paid
