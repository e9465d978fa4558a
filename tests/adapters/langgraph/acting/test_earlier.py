"""A run of a thread that was closed is followed by another, which finds what was done before it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from ledger import Rule, Run, Source, current_effect, open_ledger, tool
from ledger.adapters.langgraph import LedgerSaver, aledger_run, ledger_run
from ledger.errors import AlreadyDone, KeyConflict, OutcomeUnknown, PossibleRepeat
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    HUMAN,
    KIM,
    ONCE,
    PAY,
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


def close(saver: LedgerSaver, outcome: Any = "completed") -> None:
    saver.ledger.run("t#1", actor=HUMAN).close(outcome)


def before_the_tools(agent: Any) -> Any:
    return next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",)).config


def test_a_node_that_runs_again_finds_what_it_did_in_an_earlier_run() -> None:
    with paying([[PAY], "done"], ONCE) as (saver, bank, agent):
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
        agent = agent_of(saver, [*lines, "done"], [bank.pay], ONCE)
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
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], ONCE)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        close(saver, "abandoned")
        for _ in range(2):
            with pytest.raises(OutcomeUnknown, match=f"intent-ledger effect {bank.keys[0]}"):
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
    with paying([[PAY], "done"], ONCE, custodian=HUMAN) as (saver, bank, agent):
        agent.invoke(ask(), on("t"))
        saver.delete_thread("t")
        (told,) = answers(agent.invoke(ask(), on("t")))
        assert told.content == '{"id": "ch_2"}'
    assert len(bank.paid) == 2


@pytest.mark.anyio
async def test_in_an_event_loop_what_an_earlier_run_did_is_found_too() -> None:
    with paying([[PAY], "done"], ONCE) as (saver, bank, agent):
        await agent.ainvoke(ask(), on("t"))
        before = before_the_tools(agent)
        close(saver)
        (told,) = answers(await agent.ainvoke(None, before))
        assert (told.content, told.status) == ('{"id": "ch_1"}', "success")
        saver.faces.close()
    assert bank.paid == [(17, "10.00")]


# --- acts of nodes -------------------------------------------------------------------------------------


def acting(saver: LedgerSaver, node: Callable[[Run], Any]) -> Any:
    """Make a graph of one node that acts through the run of its thread, and return how it is gone on with."""

    def act(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(node(ledger_run(config)))
        return {}

    def go_on() -> Any:
        graph.invoke(ask(), on("t"))
        return seen.pop()

    seen: list[Any] = []
    graph = chain(saver, {"node": act})
    return go_on


def test_what_a_node_did_in_an_earlier_run_is_not_done_again() -> None:
    bank = Bank()
    order = {"order": 17, "amount": "1"}

    def node(run: Run) -> Any:
        paid: Any = run.perform("pay", order, bank.pay, step="pay")
        assert run.may("pay", order, bank.pay, step="pay").done
        with pytest.raises(AlreadyDone) as done, run.effect("pay", order, step="pay"):
            bank.paid.append((17, "again"))
        assert done.value.result == paid
        if run.id != "t#1":
            again = run.may("pay", order, bank.pay, step="other")
            assert (again.allowed, again.objections[0].rule) == (False, "possible_repeat")
            with pytest.raises(PossibleRepeat):
                run.perform("pay", order, bank.pay, step="other")
            with pytest.raises(PossibleRepeat), run.effect("pay", order, step="other"):
                bank.paid.append((17, "again"))
        return paid

    with saving() as saver:
        go_on = acting(saver, node)
        paid = [go_on()]
        for generation in (1, 2):
            saver.ledger.run(f"t#{generation}", actor=HUMAN).close("completed")
            paid.append(go_on())
        assert paid == [{"id": "ch_1"}] * 3
        assert saver.ledger.contract("t#3").tally.effects == 0
    assert bank.paid == [(17, "1")]


def test_another_act_is_done_and_so_is_one_that_is_meant_to_be_a_second() -> None:
    bank = Bank()

    def node(run: Run) -> Any:
        for step, options in (("pay", {}), (run.id, {"repeat": True, "reason": "a second"})):
            run.perform("pay", {"order": 17, "amount": "1"}, bank.pay, step=step, **options)  # type: ignore[arg-type]
        with run.effect("post", {"to": run.id}, step="post") as block:
            block.succeed("posted")
        looked: Any = run.perform("look", {}, lambda: run.id, recovery="read_only", fresh_for=None)
        return looked

    with saving() as saver:
        go_on = acting(saver, node)
        assert go_on() == "t#1"
        close(saver)
        assert go_on() == "t#2", "what is seen is looked at again"
        assert saver.ledger.contract("t#2").tally.effects == 2
    assert bank.paid == [(17, "1")] * 3


def test_an_act_that_its_program_named_keeps_its_name_in_the_next_run() -> None:
    bank = Bank()
    amounts = ["1", "1", "2"]

    def node(run: Run) -> Any:
        return run.perform("pay", {"order": 17, "amount": amounts.pop(0)}, bank.pay, key="order-17")

    with saving() as saver:
        go_on = acting(saver, node)
        first = go_on()
        close(saver)
        assert go_on() == first
        with pytest.raises(KeyConflict):
            go_on()
    assert bank.paid == [(17, "1")]


def test_what_nobody_knows_of_a_nodes_act_stops_it_in_the_next_run_too() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")

    def node(run: Run) -> Any:
        return run.perform("pay", {"order": 17, "amount": "1"}, bank.pay, step="pay")

    with saving() as saver:
        go_on = acting(saver, node)
        with pytest.raises(OutcomeUnknown):
            go_on()
        close(saver, "abandoned")
        with pytest.raises(OutcomeUnknown):
            go_on()
        saver.ledger.settle(bank.keys[0], happened=True, evidence="seen", by=KIM, result="paid")
        assert go_on() == "paid"
    assert len(bank.paid) == 1


def test_what_was_done_before_a_restart_of_a_later_run_is_found_too() -> None:
    bank = Bank()

    def node(run: Run) -> Any:
        for order in (17, int(run.id[-1])):
            run.perform("pay", {"order": order, "amount": "1"}, bank.pay, step=f"pay-{order}")

    with saving() as saver:
        go_on = acting(saver, node)
        go_on()
        close(saver)
        go_on()
        saver.restart("t", reason="anew", by=KIM, actor=HUMAN)
        go_on()
    assert [order for order, _ in bank.paid] == [17, 1, 2, 3]


def test_what_comes_back_is_of_the_type_that_the_tool_returns() -> None:
    @tool(recovery="at_most_once")
    def pay(order: int) -> Decimal:
        return Decimal("10.00")

    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        go_on = acting(saver, lambda run: run.perform(pay, {"order": 17}, step="pay"))
        first = go_on()
        close(saver)
        assert (go_on(), type(first)) == (Decimal("10.00"), Decimal)
        assert ledger.contract("t#2").tally.effects == 0


@pytest.mark.anyio
async def test_in_an_event_loop_a_nodes_act_is_found_too() -> None:
    bank = Bank()
    order = {"order": 17, "amount": "1"}

    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        run = await aledger_run(config)
        assert await aledger_run(config) is run
        await run.perform("pay", order, bank.pay_later, step="pay")
        assert (await run.may("pay", order, bank.pay_later, step="pay")).done
        with pytest.raises(AlreadyDone) as done:
            async with run.effect("pay", order, step="pay"):
                bank.paid.append((17, "again"))
        assert done.value.result == {"id": "ch_1"}
        if run.id != "t#1":
            with pytest.raises(PossibleRepeat):
                await run.perform("pay", order, bank.pay_later, step="other")
        async with run.effect("post", {"to": run.id}, step="post") as block:
            block.succeed("posted")
        return {}

    with saving() as saver:
        graph = chain(saver, {"node": node})
        await graph.ainvoke(ask(), on("t"))
        close(saver)
        await graph.ainvoke(ask(), on("t"))
        assert saver.ledger.contract("t#2").tally.effects == 1
        saver.faces.close()
    assert bank.paid == [(17, "1")]


# --- what nobody knows of a run before -----------------------------------------------------------------


class Deduping(Bank):
    """An outside that knows its keys: what comes again under one of them is done once."""

    def pay(self, order: int, amount: str, currency: str = "EUR") -> dict[str, Any]:
        """Pay an order."""
        key = current_effect().key
        if key not in self.keys:
            return super().pay(order, amount, currency)
        return {"id": f"ch_{self.keys.index(key) + 1}"}


IDEMPOTENT: Any = {"recovery": "idempotent", "dedupes_for": 86_400}


def test_what_a_call_sends_again_is_so_under_the_key_that_the_outside_knows() -> None:
    bank = Deduping()
    bank.failing = ConnectionResetError("gone")
    lines = [[PAY], "done", [call("pay", "2", order=17, amount="10.00")], "done"]
    with saving() as saver:
        agent = agent_of(saver, lines, [bank.pay], {"pay": IDEMPOTENT})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        close(saver, "abandoned")
        (told,) = answers(agent.invoke(None, on("t")))
        assert (told.content, told.status) == ('{"id": "ch_1"}', "success")
        assert saver.ledger.effect(bank.keys[0]).status == "succeeded"
        assert "effect.started" not in names(saver.ledger, "t#2")
    assert bank.paid == [(17, "10.00")]


@pytest.mark.anyio
async def test_in_an_event_loop_it_is_sent_again_under_that_key_too() -> None:
    bank = Deduping()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        calls = [call("pay_later", order=17, amount="10.00")]
        agent = agent_of(saver, [calls, "done"], [bank.pay_later], {"pay_later": IDEMPOTENT})
        with pytest.raises(OutcomeUnknown):
            await agent.ainvoke(ask(), on("t"))
        close(saver, "abandoned")
        (told,) = answers(await agent.ainvoke(None, on("t")))
        assert (told.content, told.status) == ('{"id": "ch_1"}', "success")
        saver.faces.close()
    assert bank.paid == [(17, "10.00")]


def test_what_a_call_of_a_node_made_is_sent_by_nobody_under_another_key() -> None:
    bank = Deduping()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        order = {"order": 1, "amount": "1"}
        go = acting(saver, lambda run: run.perform("pay", order, bank.pay, step="pay", **IDEMPOTENT))
        with pytest.raises(OutcomeUnknown):
            go()
        close(saver, "abandoned")
        for _ in range(2):
            with pytest.raises(OutcomeUnknown, match="intent-ledger reconcile --run 't#1' --tools MODULE"):
                go()
        saver.ledger.settle(bank.keys[0], happened=True, evidence="seen", by=KIM, result="paid")
        assert go() == "paid"
    assert bank.paid == [(1, "1")]


def test_nothing_is_sent_again_for_an_earlier_run_that_the_present_one_may_not_do() -> None:
    bank = Deduping()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": IDEMPOTENT})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        close(saver, "abandoned")
        rule, source = Rule(deny=("pay",)), Source("human", "kim")
        kim = saver.ledger.open_run("t#2", goal="Pay nobody", thread="t", actor=HUMAN)
        kim.accept("none", "Pay nothing", source=source, asserted_by=KIM, rule=rule)
        with pytest.raises(OutcomeUnknown):
            agent.invoke(None, on("t"))
        assert not saver.ledger.effect(bank.keys[0]).findings
    assert bank.paid == [(17, "10.00")]


@pytest.mark.parametrize("happened", [True, False])
def test_the_outside_is_asked_about_an_act_of_an_earlier_run(happened: bool) -> None:
    bank = Bank()
    setattr(bank, "failing" if happened else "refusing", ConnectionResetError("gone"))
    down = [True]

    def find(key: str, args: dict[str, Any]) -> Any:
        return None if down[0] else bank.find(key, args)

    queryable: Any = {"recovery": "queryable", "probe": find, "settle_seconds": 0}
    with saving() as saver:
        order = {"order": 1, "amount": "1"}
        go = acting(saver, lambda run: run.perform("pay", order, bank.pay, step="pay", **queryable))
        with pytest.raises(OutcomeUnknown):
            go()
        close(saver, "abandoned")
        with pytest.raises(OutcomeUnknown, match="intent-ledger reconcile --run 't#1' --tools MODULE"):
            go()
        down[0] = False
        assert go() == ({"content": "found 1"} if happened else {"id": "ch_1"})
    assert bank.paid == [(1, "1")]
