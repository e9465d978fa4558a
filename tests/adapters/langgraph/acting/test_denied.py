"""What a person denied is told to the model where it asks again, and nobody is asked again for its sake."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from ledger import Actor
from ledger.adapters.langgraph import ThreadIsHeld
from tests.adapters.langgraph.acting.agents import KIM, Bank, agent_of, answers, ask, call, names, on, saving

ASKS = {"pay": {"recovery": "at_most_once", "needs_approval": True}}
NO = {"approve": False, "by": KIM, "reason": "not this one"}
LINES = [[call("pay", f"c{at}", order=17, amount="1")] for at in range(3)]


def test_who_said_no_is_not_asked_again_in_the_same_turn() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [*LINES, "done"], [bank.pay], ASKS)
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
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [*LINES[:2], "done"], [bank.pay], ASKS)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        kim = saver.ledger.run("t#1", actor=Actor("human:kim"))
        kim.deny(asked.value["approval"], by=KIM)
        kim.revise_goal("Pay order 17", reason="it is right", by=KIM)
        (again,) = agent.invoke(None, on("t"))["__interrupt__"]
        assert again.value["approval"] != asked.value["approval"]
    assert not bank.paid


def test_a_thread_that_a_void_approval_holds_says_how_it_goes_on() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [LINES[0], LINES[1], "done"], [bank.pay], ASKS)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
        kim = saver.ledger.run("t#1", actor=Actor("human:kim"))
        kim.revise_goal("Pay nobody", reason="changed my mind", by=KIM)
        said: Any
        for said in (ask("what else is new?"), Command(resume={asked.id: NO})):
            with pytest.raises(ThreadIsHeld, match=r"ledger\.deny\(ID, by=…\)") as held:
                agent.invoke(said, on("t"))
            assert [one["kind"] for one in held.value.reasons] == ["approval_void"]
        saver.ledger.deny(asked.value["approval"], by=KIM, actor=Actor("human:kim"))
        (again,) = agent.invoke(ask("what else is new?"), on("t"))["__interrupt__"]
        assert again.value["approval"] != asked.value["approval"]
    assert not bank.paid
