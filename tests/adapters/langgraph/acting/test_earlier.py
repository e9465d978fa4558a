"""A run of a thread that was closed is followed by another, which finds what was done before it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor
from ledger.adapters.langgraph import LedgerSaver
from ledger.errors import OutcomeUnknown
from tests.adapters.langgraph.acting.agents import KIM, Bank, agent_of, answers, ask, call, names, on, saving

PAY = call("pay", order=17, amount="10.00")
HUMAN = Actor("human:kim")


def close(saver: LedgerSaver, outcome: Any = "completed") -> None:
    saver.ledger.run("t#1", actor=HUMAN).close(outcome)


def before_the_tools(agent: Any) -> Any:
    return next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",)).config


def test_a_node_that_runs_again_finds_what_it_did_in_an_earlier_run() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        before = before_the_tools(agent)
        close(saver)
        (told,) = answers(agent.invoke(None, before))
        assert (told.content, told.status) == ('{"id": "ch_1"}', "success")
        assert saver.ledger.contract("t#2").tally.effects == 0
    assert bank.paid == [(17, "10.00")]


def test_what_a_model_asks_for_again_after_its_run_was_closed_is_told_to_be_done() -> None:
    bank = Bank()
    lines = [
        [PAY],
        "done",
        [call("pay", "2", order=17, amount="10.00"), call("pay", "3", order=18, amount="1")],
    ]
    with saving() as saver:
        agent = agent_of(saver, [*lines, "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        close(saver)
        again, other = answers(agent.invoke(ask(), on("t")))
        assert (again.status, other.status) == ("error", "success")
        assert '{"id": "ch_1"}' in str(again.content)
    assert bank.paid == [(17, "10.00"), (18, "1")]


def test_what_nobody_knows_of_an_earlier_run_stops_the_graph_until_somebody_found_out() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        close(saver, "abandoned")
        for _ in range(2):
            with pytest.raises(OutcomeUnknown):
                agent.invoke(None, on("t"))
        saver.ledger.settle(bank.keys[0], happened=True, evidence="seen", by=KIM, result="paid")
        (told,) = answers(agent.invoke(None, on("t")))
        assert told.content == "paid"
    assert len(bank.paid) == 1


def test_what_did_not_happen_in_an_earlier_run_is_done() -> None:
    bank = Bank()
    bank.refusing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(
            saver, [[PAY], "done"], [bank.pay], {"pay": {"recovery": "at_most_once", "lease_seconds": 1}}
        )
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        (effect,) = saver.ledger.contract("t#1").effects
        saver.ledger.settle(effect.key, happened=False, evidence="never sent", by=KIM)
        close(saver, "abandoned")
        (told,) = answers(agent.invoke(None, on("t")))
        assert told.content == '{"id": "ch_1"}'
        assert "effect.started" in names(saver.ledger, "t#2")


def test_a_thread_whose_states_were_given_up_begins_anew_and_may_do_all_of_it() -> None:
    bank = Bank()
    with saving(custodian=HUMAN) as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        saver.delete_thread("t")
        (told,) = answers(agent.invoke(ask(), on("t")))
        assert told.content == '{"id": "ch_2"}'
    assert len(bank.paid) == 2


@pytest.mark.anyio
async def test_in_an_event_loop_what_an_earlier_run_did_is_found_too() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        await agent.ainvoke(ask(), on("t"))
        before = before_the_tools(agent)
        close(saver)
        (told,) = answers(await agent.ainvoke(None, before))
        assert (told.content, told.status) == ('{"id": "ch_1"}', "success")
        saver.faces.close()
    assert bank.paid == [(17, "10.00")]
